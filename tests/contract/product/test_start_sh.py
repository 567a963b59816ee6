"""`start.sh` in images without a Python: in the shells that they bring, and without some of the tools."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hf_train import jobside
from support.job_side import MORE_TOOLS, SHELL_TOOLS, image, lay, lives, wait_until

SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}
FILES = {"train.sh": b"#!/bin/sh\necho trained in $PWD with $1\n", "-dash": b"d", "dir/a b.txt": b"x", "empty": b""}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A snapshot as it lies in the mount."""
    links = b"../train.sh\tdir/up\n-dash\tlinks/made\n"
    changed = {"sleep 10 ": "sleep 1 "}  # ten seconds of grace are too long for a test
    return lay(tmp_path / "code", FILES, executables=b"train.sh\n-dash\n", links=links, changed=changed)


def without_python(folder: Path) -> str:
    """The PATH of a usual image without it."""
    return image(folder / "tools", *SHELL_TOOLS, *MORE_TOOLS)


def start(
    shell: list[str],
    code: Path,
    scratch: Path,
    *command: str,
    path: str = "",
    lease: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run it as the Job does."""
    temp = scratch / "tmp"
    temp.mkdir(exist_ok=True)
    return subprocess.run(
        [shutil.which(shell[0]) or shell[0], *shell[1:], str(code / ".hf-train" / "start.sh"), *command],
        env={
            "PATH": path or without_python(scratch),
            "TMPDIR": str(temp),
            **({"HF_TRAIN_LEASE": lease} if lease else {}),
        },
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_runs_in_a_writable_copy(shell: str, code: Path, tmp_path: Path) -> None:
    script = "echo x > dir/new; ./train.sh 'a b'; test -x ./-dash; dir/up up; readlink links/made; exit 7"
    done = start(SHELLS[shell], code, tmp_path, "sh", "-ec", script)
    assert (done.returncode, done.stderr) == (7, "")
    first, second, third = done.stdout.splitlines()
    assert first.startswith(f"trained in {tmp_path}/tmp/hf-train.")
    assert first.endswith("with a b")
    assert second.endswith("with up")
    assert third == "-dash"
    assert not (code / "dir" / "new").exists()


@pytest.mark.case(105)
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("what", ["changed", "removed", "added", "list-cut"])
def test_other_files_than_the_manifest_names_stop_it(shell: str, what: str, code: Path, tmp_path: Path) -> None:
    sums = code / ".hf-train" / jobside.SUMS
    if what == "changed":
        (code / "empty").write_text("no")
    elif what == "removed":
        (code / "dir" / "a b.txt").unlink()
    elif what == "added":
        (code / "dir" / "numpy.py").write_text("")
    else:
        sums.write_text("".join(sums.read_text().splitlines(keepends=True)[1:]))
    done = start(SHELLS[shell], code, tmp_path, "echo", "it ran")
    assert (done.returncode, done.stdout) == (78, "")
    assert "nothing was run" in done.stderr


@pytest.mark.case(120)
@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_an_image_without_sha256sum_says_so_and_runs(shell: str, code: Path, tmp_path: Path) -> None:
    tools = image(tmp_path / "bin", *SHELL_TOOLS)
    # busybox answers for its applets by itself unless it is told to look in PATH; hide what is missing by a broken one.
    done = start(["dash"] if shell == "dash" else SHELLS[shell], code, tmp_path, "cat", "dir/a b.txt", path=tools)
    assert (done.returncode, done.stdout) == (0, "x")
    if shell == "dash":
        assert "no sha256sum in this image" in done.stderr


def test_the_exit_code_and_the_signals_are_the_commands_own(code: Path, tmp_path: Path) -> None:
    done = start(["dash"], code, tmp_path, "sh", "-c", "kill -TERM $$")
    assert done.returncode == -15


def test_a_missing_command_is_127(code: Path, tmp_path: Path) -> None:
    assert start(["dash"], code, tmp_path, "no-such-command").returncode == 127


# ---- the lease ----


@pytest.fixture
def renewed(tmp_path: Path) -> Path:
    """The file that the watching step writes to."""
    path = tmp_path / "lease" / "renewed"
    path.parent.mkdir()
    path.write_text("0")
    return path


@pytest.mark.case(57)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_lease_that_is_not_renewed_ends_the_training_and_what_it_started(
    shell: str, code: Path, tmp_path: Path, renewed: Path
) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 300 & echo $! $$ > {pids}; wait"
    began = time.monotonic()
    done = start(SHELLS[shell], code, tmp_path, "sh", "-c", script, lease=f"2:{renewed}")
    assert done.returncode == 79
    assert 2 <= time.monotonic() - began < 8
    assert "was not heard of for 2 s (lease): stopping the training" in done.stderr
    wait_until(lambda: not any(lives(int(pid)) for pid in pids.read_text().split()), 5)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_renewed_lease_lets_it_run(shell: str, code: Path, tmp_path: Path, renewed: Path) -> None:
    script = f"for i in 1 2 3 4 5 6; do sleep 0.7; echo $i > {renewed}; done; echo ${{HF_TRAIN_LEASE:-unset}}; exit 7"
    done = start(SHELLS[shell], code, tmp_path, "sh", "-c", script, lease=f"2:{renewed}")
    assert (done.returncode, done.stdout, done.stderr) == (7, "unset\n", "")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("what", ["no file", "ignores TERM"])
def test_a_lease_ends_also_what_does_not_want_to(
    shell: str, what: str, code: Path, tmp_path: Path, renewed: Path
) -> None:
    if what == "no file":
        renewed.unlink()
        done = start(SHELLS[shell], code, tmp_path, "sleep", "60", lease=f"1:{renewed}")
    else:
        stubborn = "trap '' TERM; while :; do sleep 1; done"
        done = start(SHELLS[shell], code, tmp_path, "sh", "-c", stubborn, lease=f"1:{renewed}")
    assert done.returncode == 79


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_with_a_lease_the_hubs_signals_still_reach_the_command(
    shell: str, signum: signal.Signals, code: Path, tmp_path: Path, renewed: Path
) -> None:
    """The command gets TERM, may end in its own time and with its own exit code."""
    path, ready = without_python(tmp_path), tmp_path / "ready"
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [shutil.which(SHELLS[shell][0]) or "", *SHELLS[shell][1:], str(code / ".hf-train" / "start.sh"), "sh", "-c",
         f"trap 'sleep 0.3; echo saved; exit 5' TERM; echo > {ready}; while :; do sleep 0.1; done"],
        env={"PATH": path, "TMPDIR": str(tmp_path / "tmp"), "HF_TRAIN_LEASE": f"60:{renewed}"},
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        wait_until(ready.exists)
        process.send_signal(signum)
        out, _ = process.communicate(timeout=10)
    finally:
        process.kill()
    assert (process.returncode, out) == (5, "saved\n")


def test_a_training_that_ends_by_itself_leaves_nobody_behind(code: Path, tmp_path: Path, renewed: Path) -> None:
    began = time.monotonic()
    done = start(["dash"], code, tmp_path, "true", lease=f"600:{renewed}")
    assert (done.returncode, time.monotonic() - began < 5) == (0, True)

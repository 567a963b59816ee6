"""`start.sh` in the shells that images bring: dash, busybox, bash; and where tools are missing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hf_train import jobside

SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}
FILES = {"train.sh": b"#!/bin/sh\necho trained in $PWD with $1\n", "-dash": b"d", "dir/a b.txt": b"x", "empty": b""}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A snapshot as it lies in the mount."""
    folder = tmp_path / "code"
    house = folder / ".hf-train"
    house.mkdir(parents=True)
    contents = {
        **FILES,
        ".hf-train/start.sh": jobside.start_script(),
        f".hf-train/{jobside.EXECUTABLES}": b"train.sh\n-dash\n",
        f".hf-train/{jobside.LINKS}": b"../train.sh\tdir/up\n-dash\tlinks/made\n",
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    (house / jobside.SUMS).write_text(sums)
    (house / "manifest.json").write_text("{}")
    return folder


def start(
    shell: list[str], code: Path, scratch: Path, *command: str, path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run it as the Job does."""
    temp = scratch / "tmp"
    temp.mkdir(exist_ok=True)
    return subprocess.run(
        [shutil.which(shell[0]) or shell[0], *shell[1:], str(code / ".hf-train" / "start.sh"), *command],
        env={"PATH": path or os.environ["PATH"], "TMPDIR": str(temp)},
        cwd="/",
        capture_output=True,
        text=True,
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


@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_an_image_without_sha256sum_says_so_and_runs(shell: str, code: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "mktemp", "cp", "chmod", "rm", "mkdir", "ln", "cat", "env"):
        (tools / name).symlink_to(shutil.which(name) or "")
    # busybox answers for its applets by itself unless it is told to look in PATH; hide what is missing by a broken one.
    done = start(["dash"] if shell == "dash" else SHELLS[shell], code, tmp_path, "cat", "dir/a b.txt", path=str(tools))
    assert (done.returncode, done.stdout) == (0, "x")
    if shell == "dash":
        assert "no sha256sum in this image" in done.stderr


def test_the_exit_code_and_the_signals_are_the_commands_own(code: Path, tmp_path: Path) -> None:
    done = start(["dash"], code, tmp_path, "sh", "-c", "kill -TERM $$")
    assert done.returncode == -15


def test_a_missing_command_is_127(code: Path, tmp_path: Path) -> None:
    assert start(["dash"], code, tmp_path, "no-such-command").returncode == 127

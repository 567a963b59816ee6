"""The launcher as a parent: exit codes, signals, what is left behind, leases, and images of all kinds."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.job_side import MORE_TOOLS, SHELL_TOOLS, Job, image, lay, lives, wait_until

SHORT = {"GRACE_S = 10.0": "GRACE_S = 0.7"}
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """A Job of an image with a Python and without bash."""
    code = lay(tmp_path / "code", {"train.sh": b"echo $0 $1\n", "plain": b"echo ran as a shell script $1\n"},
               executables=b"plain\n", changed=SHORT)  # fmt: skip
    made = Job(code=code, scratch=tmp_path, path=image(tmp_path / "bin", *SHELL_TOOLS, *MORE_TOOLS, python=True))
    yield made
    made.end_all()


def pids(path: Path) -> list[int]:
    """Process ids that a command wrote."""
    return [int(word) for word in path.read_text().split()]


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)],
)
def test_the_exit_code_is_what_a_shell_would_say(job: Job, script: str, code: int) -> None:
    done = job.run("sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_what_cannot_be_started_is_said(job: Job) -> None:
    missing, no_program = job.run("no-such-command"), job.run("./train.sh")
    assert (missing.returncode, missing.stderr) == (127, "hf-train: no-such-command: No such file or directory\n")
    assert (no_program.returncode, no_program.stderr) == (126, "hf-train: ./train.sh: Permission denied\n")


def test_a_file_without_an_interpreter_line_is_a_shell_script(job: Job) -> None:
    assert job.run("./plain", "x").stdout == "ran as a shell script x\n"


def test_the_command_is_as_it_would_be_without_us(job: Job) -> None:
    """Its own session, default signals (SIGPIPE too, which Python ignores), arguments word by word."""
    text = """
import os, signal, sys
print(os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(open("/proc/self/status").read().split("SigBlk:")[1].split()[0].strip("0") or "none", sys.argv[1:])
print({name: value for name, value in os.environ.items() if name.startswith(("HF_", "PYTHON", "XDG"))})
"""
    done = job.python(text, "a b", "", "*")
    assert done.stdout.splitlines() == [
        "True True",
        "none ['a b', '', '*']",
        "{'PYTHONUNBUFFERED': '1', 'PYTHONFAULTHANDLER': '1'}",
    ]
    assert job.run("sh", "-c", "env echo a | true; while :; do echo y; done | true; echo over").stdout == "over\n"


@pytest.mark.parametrize("signum", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
def test_a_signal_reaches_the_command_which_ends_as_it_wants(job: Job, signum: str) -> None:
    ready = job.scratch / "ready"
    trap = f"trap 'echo {signum}; sleep 0.2; echo saved; exit 5' {signum}; echo > {ready}; while :; do sleep 0.05; done"
    process = job.start("sh", "-c", trap)
    wait_until(ready.exists)
    process.send_signal(signal.Signals[f"SIG{signum}"])
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (5, f"{signum}\nsaved\n", "")


def test_a_signal_is_for_the_command_alone_until_it_has_ended(job: Job) -> None:
    """Workers that load data must live while the training saves."""
    ready, out = job.scratch / "ready", job.scratch / "out"
    worker = f"trap 'echo worker >> {out}; exit' TERM; echo >> {ready}; while :; do sleep 0.05; done"
    main = f"trap 'sleep 0.3; echo saved >> {out}; exit 0' TERM; sh -c \"{worker}\" & echo >> {ready}; wait; wait"
    process = job.start("sh", "-c", main)
    wait_until(lambda: ready.exists() and ready.read_text() == "\n\n")
    process.terminate()
    assert process.wait(10) == 0
    assert out.read_text() == "saved\nworker\n"


def test_what_ignores_sigterm_is_killed_after_the_second_one(job: Job) -> None:
    ready = job.scratch / "ready"
    stubborn = f"trap '' TERM; echo $$ > {ready}; while :; do sleep 0.05; done"
    process = job.start("sh", "-c", stubborn)
    wait_until(lambda: ready.exists() and ready.read_text())
    process.terminate()
    time.sleep(1.2)  # longer than the grace: one signal is the Hub's own affair
    assert process.poll() is None
    process.terminate()
    assert process.wait(10) == 137
    assert not lives(*pids(ready))


@pytest.mark.parametrize("child", ["sleep 300", "trap '' TERM; while :; do sleep 0.05; done"])
def test_nothing_of_the_group_is_left_behind(job: Job, child: str) -> None:
    wrote = job.scratch / "pids"
    began = time.monotonic()
    done = job.run(
        "sh", "-c", f'sh -c "{child}" & sh -c "sleep 301 & echo \\$! >> {wrote}"; echo $! >> {wrote}; exit 3'
    )
    assert done.returncode == 3
    assert time.monotonic() - began < 4
    assert not any(lives(pid) for pid in pids(wrote))


def test_orphans_are_reaped(job: Job) -> None:
    """As the first process of a container does; here it is made the reaper by prctl(2)."""
    text = """
import os, time
parent = os.getppid()
for _ in range(20):  # each forks twice and leaves the group
    if (child := os.fork()) == 0:
        os.setsid()
        os._exit(0 if os.fork() else (time.sleep(0.1), 0)[1])
    os.waitpid(child, 0)
time.sleep(1.5)
def parent_of(name):
    try:
        return int(open(f"/proc/{name}/stat").read().rpartition(")")[2].split()[1])
    except OSError:  # it ended meanwhile
        return 0
children = [name for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == parent]
print(len(children))
"""
    libc = ctypes.CDLL(None)
    process = job.start("python3", "-c", text, preexec_fn=lambda: libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "1\n")


@pytest.mark.parametrize("answer", ["exit 1", "exit 127", "kill -SEGV $$"])
def test_a_python_that_is_too_old_or_broken_is_none(job: Job, answer: str) -> None:
    """The probe fails, and the shell goes on alone."""
    tools = Path(job.path)
    for name in ("python3", "python"):
        (tools / name).unlink()
        (tools / name).write_text(f"#!/bin/sh\n{answer}\n")
        (tools / name).chmod(0o755)
    job.env |= {"HF_TRAIN_OUTPUT": "/output", "HF_TRAIN_RESUME_FLAG": "--resume"}
    script = "echo $0 $1; env | while read x; do case $x in HF_TRAIN*) echo $x;; esac; done; kill -TERM $$"
    done = job.run("sh", "-c", script, "a", "b")
    assert (done.returncode, done.stdout) == (-15, "a b\nHF_TRAIN_OUTPUT_DIR=/output\n")


# ---- what an image lacks ----


@pytest.mark.parametrize(
    ("command", "module", "words"),
    [
        (["accelerate", "launch", "--cpu", "x.py"], "accelerate.commands.launch", "--cpu x.py"),
        (["torchrun", "--nproc_per_node", "2", "x.py"], "torch.distributed.run", "--nproc_per_node 2 x.py"),
    ],
)  # fmt: skip
def test_a_launcher_that_is_not_on_path_is_started_as_a_module(
    job: Job, command: list[str], module: str, words: str
) -> None:
    library = job.scratch / "library"
    place = library.joinpath(*module.split("."))
    place.parent.mkdir(parents=True)
    place.with_suffix(".py").write_text("import sys; print(*sys.argv[1:])\n")
    job.env["PYTHONPATH"] = str(library)
    done = job.run(*command)
    assert done.stdout == f"{words}\n", done.stderr
    assert done.stderr == f"hf-train: {command[0]} is not on PATH; {job.path}/python -m {module} is started instead\n"
    own = Path(job.path, command[0])
    own.write_text("#!/bin/sh\necho own $*\n")
    own.chmod(0o755)
    done = job.run(*command)
    assert (done.stdout, done.stderr) == (f"own {' '.join(command[1:])}\n", "")


def test_an_image_that_calls_it_python3_only(job: Job) -> None:
    Path(job.path, "python").unlink()
    assert job.run("python", "-c", "print(1)").stdout == "1\n"


@pytest.mark.parametrize("home", ["/proc", "", None])
def test_without_a_home_to_write_to_there_are_caches(job: Job, home: str | None) -> None:
    job.env |= {"HOME": home or ""}
    job.env |= {"HF_HOME": "/data/hf"} if home is None else {}
    text = """
import os, pathlib
for name in ("XDG_CACHE_HOME", "HF_HOME", "XDG_DATA_HOME", "TRITON_CACHE_DIR", "MPLCONFIGDIR"):
    print(name, os.environ[name].replace(os.getcwd(), "WORK"))
pathlib.Path(os.environ["XDG_CACHE_HOME"], "x").mkdir(parents=True)
"""
    done = job.python(text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "XDG_CACHE_HOME WORK.cache",
        f"HF_HOME {'/data/hf' if home is None else 'WORK.cache/huggingface'}",
        "XDG_DATA_HOME WORK.cache/data",
        "TRITON_CACHE_DIR WORK.cache/triton",
        "MPLCONFIGDIR WORK.cache/mpl",
    ]


# ---- the lease ----


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    """The file that the watching step writes to."""
    path = tmp_path / "renewed"
    path.write_text("0")
    return path


@pytest.mark.case(57)
@pytest.mark.parametrize("what", ["ends", "ignores SIGTERM", "no file", "a file that hangs"])
def test_a_lease_that_is_not_renewed_ends_all(job: Job, lease: Path, what: str) -> None:
    wrote = job.scratch / "pids"
    job.env["HF_TRAIN_LEASE"] = f"2:{lease}"
    if what in ("no file", "a file that hangs"):
        lease.unlink()
    if what == "a file that hangs":
        os.mkfifo(lease)
    trap = "trap '' TERM;" if what == "ignores SIGTERM" else ""
    began = time.monotonic()
    done = job.run("sh", "-c", f"{trap} sleep 300 & echo $! $$ > {wrote}; while :; do sleep 0.1; done")
    assert done.returncode == 79
    assert 2 <= time.monotonic() - began < 7
    words = "the step that follows this Job was not heard of for 2 s (lease): stopping the training"
    assert done.stderr == f"hf-train: {words}\n"
    assert not any(lives(pid) for pid in pids(wrote))


def test_a_renewed_lease_lets_it_run(job: Job, lease: Path) -> None:
    job.env["HF_TRAIN_LEASE"] = f"2:{lease}"
    script = f"for i in 1 2 3 4 5 6; do sleep 0.7; echo $i > {lease}; done; echo ${{HF_TRAIN_LEASE:-unset}}; exit 7"
    done = job.run("sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (7, "unset\n", "")


def test_the_launcher_is_isolated_from_the_code(tmp_path: Path) -> None:
    """A file of the repository may be called as a module that the launcher imports."""
    code = lay(tmp_path / "code", {"json.py": b"raise SystemExit(9)\n", "sitecustomize.py": b"raise SystemExit(9)\n"})
    path = image(tmp_path / "bin", *SHELL_TOOLS, *MORE_TOOLS, python=True)
    job = Job(code=code, scratch=tmp_path, path=path, env={"PYTHONPATH": str(code), "PYTHONSTARTUP": "x"})
    done = job.run("sh", "-c", "exit 4")
    assert (done.returncode, done.stderr) == (4, "")
    assert sys.version_info >= (3, 8)

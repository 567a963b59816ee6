"""Executor `process`: the command in a fresh folder, its volumes at their very mount paths, no Docker needed.

The private mounts are made by `sandbox.py`. Where the system allows none (an unprivileged container without user
namespaces), the stated fallback: the volumes lie in the Job's folder and their mount paths are rewritten in command and
environment; the Job's first log line says so. `--executor docker` needs neither.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from hf_train.local_hub.executors.base import Ended, Mount, Task
from hf_train.local_hub.executors.sandbox import FAILED

GRACE_S = 2.0
READ = 1 << 16
_SANDBOX = Path(__file__).with_name("sandbox.py")
_PASSED = re.compile(
    r"(SSL_|PIP_|UV_|HF_XET_|OMP_|MKL_|OPENBLAS_)\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:https?_proxy|no_proxy|all_proxy)|TZ"
)
NOTICE = (
    "hf-train local Hub: this system allows no private mounts; volumes lie in the Job's folder and their mount paths "
    "were rewritten in command and environment. Use --executor docker for mounts at their own paths.\n"
)


class ProcessExecutor:
    """Runs Jobs as processes of this machine."""

    def __init__(self) -> None:
        self._has_mounts: bool | None = None
        self._lock = threading.Lock()

    def run(self, task: Task, emit: Callable[[bytes], None], stop: threading.Event) -> Ended:
        """Run one attempt to its end."""
        home, scratch, cwd = (task.folder / name for name in ("home", "tmp", "cwd"))
        for folder in (home, scratch, cwd):
            folder.mkdir()
        env = {**_base_environment(home, scratch), **task.env}
        if self._mounts_work(task.folder):
            return self._supervise(self._sandboxed(task, cwd, env), emit, stop)
        if task.mounts:
            emit(NOTICE.encode())
        command, env = _rewritten(task, env)
        return self._supervise(self._bare(command, cwd, env), emit, stop)

    def _mounts_work(self, scratch: Path) -> bool:
        with self._lock:
            if self._has_mounts is None:
                probe = self._start(scratch / "probe", ("true",), scratch, dict(os.environ), ())
                output, _ = probe.communicate(timeout=30)
                self._has_mounts = probe.returncode == 0 and not output
            return self._has_mounts

    def _sandboxed(self, task: Task, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return self._start(task.folder / "root", task.command, cwd, env, task.mounts)

    def _start(
        self,
        root: Path,
        command: tuple[str, ...],
        cwd: Path,
        env: Mapping[str, str],
        mounts: tuple[Mount, ...],
    ) -> subprocess.Popen[bytes]:
        root.mkdir()
        plan = {
            "root": str(root.resolve()),
            "cwd": str(cwd.resolve()),
            "command": list(command),
            "env": dict(env),
            "mounts": [
                {"source": str(one.source.resolve()), "target": one.target, "read_only": one.read_only}
                for one in mounts
            ],
        }
        process = subprocess.Popen(
            [sys.executable, "-I", str(_SANDBOX)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        if process.stdin is not None:
            process.stdin.write(json.dumps(plan).encode())  # not in argv: the environment holds secrets
            process.stdin.close()
            process.stdin = None
        return process

    def _bare(self, command: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        shell = shutil.which(command[0], path=env.get("PATH"))
        words = [shell or command[0], *command[1:]]
        if shell is None:
            words = ["/bin/sh", "-c", 'echo "exec: $0: not found"; exit 127', command[0]]
        return subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _supervise(
        self, process: subprocess.Popen[bytes], emit: Callable[[bytes], None], stop: threading.Event
    ) -> Ended:
        assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
        reader = threading.Thread(target=_pump, args=(process.stdout, emit), daemon=True)
        reader.start()
        while process.poll() is None:
            if stop.wait(0.05):
                _end(process)
        # A daemon of the bare fallback may hold the pipe open; a PID namespace has none left.
        reader.join(timeout=1.0 if stop.is_set() else 5.0)
        if reader.is_alive():
            _kill_group(process.pid, signal.SIGKILL)
            reader.join(timeout=1.0)
        code = process.returncode
        if code == FAILED:
            return Ended(exit_code=FAILED, message="The Job could not be started: no private mounts on this system")
        return Ended(exit_code=code if code >= 0 else 128 - code, oom=False)


def _pump(stream: IO[bytes], emit: Callable[[bytes], None]) -> None:
    descriptor = stream.fileno()
    while chunk := os.read(descriptor, READ):
        emit(chunk)
    stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the command, some time to end, then SIGKILL to all."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    _kill_group(process.pid, signal.SIGKILL)
    process.wait()


def _kill_group(group: int, signum: int) -> None:
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return


def _base_environment(home: Path, scratch: Path) -> dict[str, str]:
    """A clean environment: nothing of the host but what reaches a package index behind its certificates."""
    passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    own = str(Path(sys.executable).parent)
    return {
        **passed,
        "PATH": f"{own}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
    }


def _rewritten(task: Task, env: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The fallback's command and environment: each mount path as a word becomes the folder that it stands for."""
    places: dict[str, str] = {}
    for number, mount in enumerate(task.mounts):
        place = task.folder / "mnt" / str(number)
        place.parent.mkdir(exist_ok=True)
        if mount.read_only:
            shutil.copytree(mount.source, place)
            for folder, _, names in os.walk(place):
                for name in names:
                    Path(folder, name).chmod(0o444)
        else:
            place.symlink_to(mount.source)
        places[mount.target] = str(place)
    if not places:
        return task.command, dict(env)
    longest_first = sorted(places, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])")

    def replace(text: str) -> str:
        return pattern.sub(lambda match: places[match[1]], text)

    kept = {name: replace(value) if name in task.env else value for name, value in env.items()}
    return tuple(replace(word) for word in task.command), kept

"""Executor `process`: the command in a fresh folder, its volumes at their very mount paths, no Docker needed.

The private mounts are made by `sandbox.py`. Where the system allows none (an unprivileged container without user
namespaces), the stated fallback: the volumes lie in the Job's folder and their mount paths are rewritten in command and
environment; the Job's first log line says so. `--executor docker` needs neither.

It is no security boundary: the command runs as the user of the Hub, on the files of that user.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from hf_train.local_hub.executors import rewrite
from hf_train.local_hub.executors.base import Ended, Mount, Stop, Task, Usage
from hf_train.local_hub.executors.hosts import ALONE, NO_NAMES_NOTICE, Hosts
from hf_train.local_hub.executors.sandbox import ERROR, descendants

READ = 1 << 16
TICK_S = 0.05
MEASURE_S = 0.5
KILLED = 128 + signal.SIGKILL
SCRATCH = "/hf-tmp"
"""A Job's short name for its TMPDIR, a link: a socket's path has at most 108 bytes (unix(7)), our folders lie deep."""
_SANDBOX = Path(__file__).with_name("sandbox.py")
_PASSED = re.compile(
    r"(SSL_|PIP_|UV_|HF_XET_|OMP_|MKL_|OPENBLAS_)\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:https?_proxy|no_proxy|all_proxy)|TZ"
)


class ProcessExecutor:
    """Runs Jobs as processes of this machine.

    Args:
        cache: Folder for what Jobs may share (uv's cache of packages), made when needed.
        private: Whether to use private mounts; None finds out what the system allows.
    """

    def __init__(self, cache: Path, private: bool | None = None) -> None:
        self._cache = cache
        self._private = private
        self._hosts = Hosts(cache / "hosts")
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}

    def run(self, task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
        """Run one attempt to its end."""
        home, scratch, cwd = (task.folder / name for name in ("home", "tmp", "cwd"))
        for folder in (home, scratch, cwd):
            folder.mkdir()
        env = {**self._environment(home, scratch), **task.env}
        try:
            if self._mounts_work(task.folder):
                env = {**env, "TMPDIR": task.env.get("TMPDIR", SCRATCH)}
                process = _start(
                    task.folder, task.command, cwd, env, (*task.mounts, *self._hosts.mounts(task)), private=True
                )
            else:
                if task.mounts:
                    emit(rewrite.NOTICE.encode())
                if task.network:
                    emit(NO_NAMES_NOTICE.encode())
                    env |= ALONE
                command, env = rewrite.rewritten(task, env)
                process = _start(task.folder, command, cwd, env, (), private=False)
            self._running[task.job_id] = process.pid
            return _supervise(process, task, emit, stop)
        finally:
            self._running.pop(task.job_id, None)
            rewrite.make_removable(task.folder / "mnt")

    def usage(self, job_id: str) -> Usage:
        """CPU time and memory of everything below the Job's first process."""
        pid = self._running.get(job_id)
        return Usage() if pid is None else tree_usage(pid)

    def _mounts_work(self, scratch: Path) -> bool:
        with self._lock:
            if self._private is None:
                folder = scratch / "probe"
                folder.mkdir()
                probe = _start(folder, ("true",), scratch, dict(os.environ), (), private=True)
                probe.communicate(timeout=30)
                self._private = probe.returncode == 0
            return self._private

    def _environment(self, home: Path, scratch: Path) -> dict[str, str]:
        """A clean environment: nothing of the host but what reaches a package index behind its certificates."""
        passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
        own = str(Path(sys.executable).parent)
        direct = ",".join(
            filter(None, [os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "127.0.0.1,localhost"])
        )
        return {
            "UV_CACHE_DIR": str(self._cache.resolve() / "uv"),
            **passed,
            "NO_PROXY": direct,  # the way to this Hub
            "no_proxy": direct,
            "PATH": f"{own}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home.resolve()),
            "TMPDIR": str(scratch.resolve()),
            "LANG": "C.UTF-8",
        }


def _start(
    folder: Path,
    command: tuple[str, ...],
    cwd: Path,
    env: Mapping[str, str],
    mounts: tuple[Mount, ...],
    *,
    private: bool,
) -> subprocess.Popen[bytes]:
    root = folder / "root"
    root.mkdir()
    plan = {
        "private": private,
        "root": str(root.resolve()),
        "links": {SCRATCH: str((folder / "tmp").resolve())},
        "cwd": str(cwd.resolve()),
        "command": list(command),
        "env": dict(env),
        "mounts": [
            {"source": str(one.source.resolve()), "target": one.target, "read_only": one.read_only} for one in mounts
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
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(plan).encode())  # not in argv: the environment holds secrets
            process.stdin.close()
        process.stdin = None
    return process


def _supervise(process: subprocess.Popen[bytes], task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
    assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
    reader = threading.Thread(target=_pump, args=(process.stdout, emit), daemon=True)
    reader.start()
    measured = time.monotonic()
    oom = False
    while process.poll() is None:
        if stop.wait(TICK_S):
            _end(process, stop)
        elif time.monotonic() - measured >= MEASURE_S:
            measured = time.monotonic()
            if tree_usage(process.pid).memory_bytes > task.memory_bytes:
                oom = True
                _kill(process)
    reader.join(timeout=5.0)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if oom:
        return Ended(exit_code=KILLED, oom=True)
    problem = task.folder / f"root{ERROR}"
    if problem.exists():
        return Ended(exit_code=code, message=f"The Job could not be started: {problem.read_text()}")
    # Killed, and not by us: on a machine without a limit per Job that is the kernel's own OOM killer.
    return Ended(exit_code=code, oom=code == KILLED and not stop.is_set())


def _pump(stream: IO[bytes], emit: Callable[[bytes], None]) -> None:
    with stream:
        descriptor = stream.fileno()
        while chunk := os.read(descriptor, READ):
            emit(chunk)


def _end(process: subprocess.Popen[bytes], stop: Stop) -> None:
    """SIGTERM to the command, some time to end, then the end of all."""
    process.terminate()
    until = time.monotonic()
    while process.poll() is None and time.monotonic() - until < stop.grace_s:
        time.sleep(TICK_S / 5)
    _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The sandbox kills everything at a second SIGTERM (or at SIGUSR1); SIGKILL if it is stuck itself."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGUSR1)
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tree_usage(pid: int) -> Usage:
    """CPU time and memory of the processes below one; pages that they share are not counted."""
    page, ticks = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    cpu = pages = 0
    for one in descendants(pid):
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{one}/stat").read_text(errors="replace").rpartition(")")[2].split()
            cpu += sum(int(field) for field in fields[11:15])  # with that of children that were waited for
            resident, shared = Path(f"/proc/{one}/statm").read_text().split()[1:3]
            pages += int(resident) - int(shared)
    return Usage(cpu_s=cpu / ticks, memory_bytes=pages * page)

"""Makes sure that a container engine runs, and stops it again when it was started here.

As a command: `python -m support.dockerd -- COMMAND…` runs the command with an engine and ends with its code. When no
engine can be had it says why and runs the command all the same: each test that needs one then fails for itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support import cache

START_S = 40.0
STOP_S = 30.0
# From what is usual to what runs nearly everywhere (a container without overlayfs, a kernel without netfilter).
ATTEMPTS: tuple[tuple[str, ...], ...] = (
    (),
    ("--data-root=CACHE/docker",),
    ("--data-root=CACHE/docker-vfs", "--storage-driver=vfs"),
    ("--data-root=CACHE/docker-vfs", "--storage-driver=vfs", "--iptables=false", "--ip6tables=false", "--bridge=none"),
)


class NoEngineError(RuntimeError):
    """No container engine runs and none can be started; the text says why."""


def answers() -> bool:
    """Whether an engine answers now."""
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"], capture_output=True, timeout=30, check=False
    )
    return asked.returncode == 0


@contextmanager
def running() -> Iterator[None]:
    """Have an engine for the time of a `with` block.

    Raises:
        NoEngineError: There is none and none can be started.
    """
    if answers():
        yield
        return
    process = _start()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start() -> subprocess.Popen[bytes]:
    dockerd = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/sbin")
    if dockerd is None:
        raise NoEngineError("dockerd is not installed (Debian, Ubuntu: apt-get install docker.io)")
    if os.geteuid() != 0:
        raise NoEngineError("no container engine runs, and only root can start one")
    log = cache.folder() / "dockerd.log"
    log.unlink(missing_ok=True)
    for attempt in ATTEMPTS:
        process = _try(dockerd, attempt, log)
        if process is not None:
            return process
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
    raise NoEngineError(f"dockerd does not start; the end of {log}:\n{tail}")


def _try(dockerd: str, attempt: Sequence[str], log: Path) -> subprocess.Popen[bytes] | None:
    """Start dockerd with these options; None when it ends or does not answer in time."""
    options = [option.replace("CACHE", str(cache.folder())) for option in attempt]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    with log.open("ab") as stream:
        stream.write(f"== dockerd {' '.join(options)}\n".encode())
        stream.flush()
        process = subprocess.Popen(
            [*_root_as_mount(), dockerd, *options],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if answers():
            return process
        time.sleep(0.3)
    if process.poll() is None:
        process.kill()
        process.wait()
    return None


def _root_as_mount() -> list[str]:
    """In a chroot `/` is no mount point: dockerd cannot unpack an image, and `docker exec` would leave the chroot."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    if any(line.split()[4] == "/" for line in mounts):
        return []
    view = cache.folder() / "root"
    view.mkdir(exist_ok=True)
    return ["unshare", "--mount", "--propagation=unchanged", sys.executable, "-m", "support.own_root", str(view)]


def main(arguments: Sequence[str]) -> int:
    """Run a command with an engine."""
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    try:
        with running():
            return _run(command)
    except NoEngineError as error:
        print(f"hf-train: no container engine, so the tests that need one will fail: {error}", file=sys.stderr)
        return _run(command)


def _run(command: Sequence[str]) -> int:
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the command got it as well; the engine is stopped after it ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The server: bind, say where, serve, and stop with everything that was started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from hf_train.local_hub.app import LocalHub
from hf_train.local_hub.executors.base import Executor
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.settings import HubSettings
from hf_train.local_hub.transport import Protocol

STOP_S = 1
"""How long requests may take to end after SIGTERM, seconds; Jobs are killed meanwhile."""


class DataInUseError(OSError):
    """Another local Hub works on this data folder."""


def make_executor(settings: HubSettings) -> Executor:
    """The executor of the settings; the Docker SDK is imported only when it is wanted."""
    if settings.executor == "docker":
        from hf_train.local_hub.executors.docker import DockerExecutor

        return DockerExecutor(settings.data)
    from hf_train.local_hub.executors.process import ProcessExecutor

    return ProcessExecutor(cache=settings.data / "cache")


def serve(settings: HubSettings, ready: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: How to run.
        ready: Called with the endpoint once requests are answered.

    Returns:
        Exit code: 0.

    Raises:
        DataInUseError: Another one works on the same data folder.
        OSError: The port is taken.
    """
    settings.data.mkdir(parents=True, exist_ok=True)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with _only_one(settings.data), socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(512)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        endpoint = f"http://{host}:{listening.getsockname()[1]}"
        hub = LocalHub(HubContext(settings=settings, endpoint=endpoint, data=settings.data), make_executor(settings))
        config = uvicorn.Config(
            hub.app,
            http=Protocol,
            log_level="critical",
            access_log=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=STOP_S,
            timeout_keep_alive=30,
        )
        server = _Server(config, ready=lambda: ready(endpoint), ending=hub.begin_close)
        try:
            server.run(sockets=[listening])
        finally:
            hub.close()
    return 0


class _Server(uvicorn.Server):
    """Says when it is ready, and lets Jobs and streams end before it waits for requests."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets=sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Log streams would stay open as long as their Jobs run: those go first."""
        self._ending()
        await super().shutdown(sockets=sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT end it in good order, with exit code 0; uvicorn would raise them again at the end."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


@contextlib.contextmanager
def _only_one(data: Path) -> Iterator[None]:
    """Hold the data folder; the kernel lets go of it when this process ends, whichever way."""
    descriptor = os.open(data / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataInUseError(error.errno, f"another local Hub works on {data}") from error
        yield
    finally:
        os.close(descriptor)


def announce(endpoint: str) -> None:
    """The one line on stdout that callers wait for."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(f"HF_ENDPOINT={endpoint}\n")
        sys.stdout.flush()

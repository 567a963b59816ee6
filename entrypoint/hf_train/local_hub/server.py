"""The server: bind, say where, serve, and stop with everything that was started."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable

import uvicorn

from hf_train.local_hub.app import LocalHub
from hf_train.local_hub.executors.base import Executor
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.settings import HubSettings

STOP_S = 1


def make_executor(settings: HubSettings) -> Executor:
    """The executor of the settings; the Docker SDK is imported only when it is wanted."""
    if settings.executor == "docker":
        from hf_train.local_hub.executors.docker import DockerExecutor

        return DockerExecutor()
    from hf_train.local_hub.executors.process import ProcessExecutor

    return ProcessExecutor()


def serve(settings: HubSettings, ready: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: How to run.
        ready: Called with the endpoint once requests are answered.

    Returns:
        Exit code: 0.

    Raises:
        OSError: The port is taken.
    """
    settings.data.mkdir(parents=True, exist_ok=True)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(512)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        endpoint = f"http://{host}:{listening.getsockname()[1]}"
        hub = LocalHub(HubContext(settings=settings, endpoint=endpoint, data=settings.data), make_executor(settings))
        config = uvicorn.Config(
            hub.app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=STOP_S,
            timeout_keep_alive=30,
        )
        server = _Server(config, lambda: ready(endpoint))
        try:
            server.run(sockets=[listening])
        finally:
            hub.close()
    return 0


class _Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets=sockets)
        self._ready()


def announce(endpoint: str) -> None:
    """The one line on stdout that callers wait for."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(f"HF_ENDPOINT={endpoint}\n")
        sys.stdout.flush()

"""Closing a connection without an answer, which ASGI has no word for.

The protocol class remembers each connection's transport by the address of its peer, which is also in the ASGI scope
(`client`). Source: uvicorn 0.54 `protocols/http/h11_impl.py`.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_open: dict[tuple[str, int], asyncio.Transport] = {}


class Protocol(H11Protocol):
    """HTTP/1.1 with connections that can be found again."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember it."""
        super().connection_made(transport)
        if self.client:
            _open[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        if self.client:
            _open.pop(self.client, None)
        super().connection_lost(exc)


async def close(scope: Mapping[str, Any], *, reset: bool) -> None:
    """Close the connection of a request now, and give the server a moment to see it.

    Args:
        scope: ASGI scope of the request.
        reset: By a TCP reset instead of an orderly end.
    """
    host, port = (scope.get("client") or ("", 0))[:2]
    transport = _open.get((str(host), int(port)))
    if transport is None:
        return
    if reset:
        # Linger with time 0 makes close() send RST (socket(7)).
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    else:
        transport.close()
    for _ in range(100):
        if (str(host), int(port)) not in _open:
            return
        await asyncio.sleep(0.01)

"""Around every route: the request log, faults, and one word for a bug of ours."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
from collections import deque
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hf_train.local_hub import transport
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.http import error, iso, now

MAX_REQUESTS = 20_000
MAX_BODY = 1 << 16
NEVER_S = 86_400.0


class Around:
    """Notes each request, and lets faults strike before or after the route has done its work.

    Args:
        inner: The routes.
        faults: What goes wrong on purpose.
        requests: Takes one entry per request.
    """

    def __init__(self, inner: ASGIApp, faults: Faults, requests: deque[dict[str, Any]]) -> None:
        self._inner = inner
        self._faults = faults
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"].startswith("/__admin/"):
            await self._inner(scope, receive, send)
            return
        entry = _entry(scope)
        self._requests.append(entry)
        noted, watched = _noting(receive, entry, scope), _watching(send, entry)
        fault = self._faults.route(scope["method"], scope["path"])
        start = time.monotonic()
        try:
            if fault is None:
                await self._inner(scope, noted, watched)
            else:
                await self._strike(fault, scope, noted, watched)
        except Exception:  # noqa: BLE001  (a bug of ours: say so on stderr, and answer as the Hub does)
            print(f"{scope['method']} {scope['path']}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            if entry["status"] is None:
                await error(500, "Internal Error - We're working hard to fix this as soon as possible!")(
                    scope, receive, watched
                )
        finally:
            entry["seconds"] = round(time.monotonic() - start, 4)

    async def _strike(self, fault: Mapping[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        after = "after" in {fault.get("drop"), fault.get("rst")} or "after-effect" in fault
        delay = NEVER_S if "hang" in fault else float(fault.get("delay", "0"))
        if not after:
            await asyncio.sleep(delay)
            delay = 0.0
        kept: list[Message] = []
        if after or _changes(fault):
            await self._inner(scope, receive, _keeping(kept))
        await asyncio.sleep(delay)
        if "drop" in fault or "rst" in fault:
            if not after:
                await _read(receive)  # or the client may notice while it writes, in one of several ways
            await transport.close(scope, reset="rst" in fault)
        elif "status" in fault:
            await _fault_answer(fault)(scope, receive, send)
        elif kept:
            await _changed(kept, _changes(fault), send)
        else:
            await self._inner(scope, receive, send)


async def _read(receive: Receive) -> None:
    while (message := await receive())["type"] == "http.request":
        if not message.get("more_body"):
            return


def _fault_answer(fault: Mapping[str, str]) -> Response:
    status = int(fault["status"])
    headers = {key.removeprefix("header."): value for key, value in fault.items() if key.startswith("header.")}
    if "body" in fault:
        return Response(fault["body"], status_code=status, headers=headers, media_type="application/json")
    message = fault.get("message", "A fault of the local Hub, on purpose")
    return error(status, message, code=fault.get("code"), headers=headers)


def _changes(fault: Mapping[str, str]) -> dict[tuple[str, ...], str | None]:
    """Keys of the answer that are changed: path to JSON text, or to None for one that is dropped."""
    found: dict[tuple[str, ...], str | None] = {}
    for key, value in fault.items():
        word, _, path = key.partition(".")
        if word in {"set", "unset"} and path:
            found[tuple(path.split("."))] = value if word == "set" else None
    return found


async def _changed(kept: list[Message], changes: Mapping[tuple[str, ...], str | None], send: Send) -> None:
    """Send the route's own answer on, changed."""
    start, body = kept[0], b"".join(message.get("body", b"") for message in kept[1:])
    if changes:
        answer = json.loads(body)
        for item in answer if isinstance(answer, list) else [answer]:
            for path, value in changes.items():
                _change(item, path, value)
        body = json.dumps(answer).encode()
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def _change(item: Any, path: tuple[str, ...], value: str | None) -> None:
    for name in path[:-1]:
        item = item.get(name) if isinstance(item, dict) else None
    if not isinstance(item, dict):
        return
    if value is None:
        item.pop(path[-1], None)
    else:
        item[path[-1]] = json.loads(value)


def _entry(scope: Scope) -> dict[str, Any]:
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    return {
        "at": iso(now()),
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "authorized": "authorization" in headers,
        "user-agent": headers.get("user-agent", ""),
        "body": "",
        "status": None,
        "seconds": None,
    }


def _noting(receive: Receive, entry: dict[str, Any], scope: Scope) -> Receive:
    """Keep JSON bodies up to some size, with the values of secrets taken out; of others only the size."""
    kept = bytearray()
    size = 0
    texts = b"json" in dict(scope["headers"]).get(b"content-type", b"")

    async def noted() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            body = message.get("body", b"")
            size += len(body)
            if texts and size <= MAX_BODY:
                kept.extend(body)
            if not message.get("more_body") and size:
                fits = texts and size <= MAX_BODY
                entry["body"] = without_secrets(bytes(kept)) if fits else f"<{size} bytes>"
        return message

    return noted


def without_secrets(body: bytes) -> str:
    """A JSON body as text, each value under a `secrets` key as `***`; JSON lines pass as they are."""
    try:
        value = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
    return json.dumps(_hidden(value))


def _hidden(value: Any) -> Any:
    if isinstance(value, list):
        return [_hidden(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: dict.fromkeys(one, "***") if key == "secrets" and isinstance(one, dict) else _hidden(one)
        for key, one in value.items()
    }


def _watching(send: Send, entry: dict[str, Any]) -> Send:
    """Note the status, and date the answer to the second.

    uvicorn's own date is up to a second old, more under load, and a client that does not follow a log leaves out what
    came later than the date (huggingface_hub 2.4.0 `_stream_sse_events`).
    """

    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            entry["status"] = message["status"]
            headers = [*message.get("headers", [])]
            if not any(name.lower() == b"date" for name, _ in headers):
                headers.append((b"date", formatdate(usegmt=True).encode()))
            message = {**message, "headers": headers}
        await send(message)

    return watched


def _keeping(kept: list[Message]) -> Send:
    async def keep(message: Message) -> None:
        kept.append(message)

    return keep

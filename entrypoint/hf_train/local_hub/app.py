"""The application: storage and Jobs joined, faults and the request log around them."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.executors.base import Executor
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.http import error
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs.machine import JobMachine
from hf_train.local_hub.jobs.routes import JobRoutes
from hf_train.local_hub.storage import open_storage

MAX_REQUESTS = 20_000
MAX_BODY = 1 << 16


class LocalHub:
    """One Hub as an ASGI application.

    Args:
        hub: Settings, endpoint and data folder.
        executor: What runs Jobs.
    """

    def __init__(self, hub: HubContext, executor: Executor) -> None:
        self.faults = Faults(hub.settings.faults)
        self.requests: deque[dict[str, Any]] = deque(maxlen=MAX_REQUESTS)
        self.storage = open_storage(hub)
        self.machine = JobMachine(hub, self.storage, executor, self.faults)
        jobs = JobRoutes(hub, self.storage.accounts, self.machine, self.faults)
        admin = self._admin_routes() if hub.settings.host in {"127.0.0.1", "::1", "localhost"} else []
        routes = [*admin, *jobs.routes(), *self.storage.routes()]
        self.app: ASGIApp = _Around(Starlette(routes=routes), self.faults, self.requests)

    def close(self) -> None:
        """Stop every Job."""
        self.machine.close()

    def _admin_routes(self) -> list[BaseRoute]:
        """For tests, on loopback only: faults while it runs, and what was asked so far."""
        return [
            CallRoute(["GET", "POST", "DELETE"], r"/__admin/faults", self._admin_faults),
            CallRoute(["GET", "DELETE"], r"/__admin/requests", self._admin_requests),
        ]

    def _admin_faults(self, call: Call) -> Response:
        if call.request.method == "DELETE":
            self.faults.clear()
        elif call.request.method == "POST":
            try:
                self.faults.add(str(call.json().get("fault", "")))
            except ValueError as problem:
                raise HubError(400, str(problem)) from problem
        return JSONResponse({"ok": True})

    def _admin_requests(self, call: Call) -> Response:
        if call.request.method == "DELETE":
            self.requests.clear()
        return JSONResponse(list(self.requests))


class _Around:
    """Notes each request, and lets faults strike before or after the route has done its work."""

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
        fault = self._faults.route(scope["method"], scope["path"])
        if fault is None:
            await self._inner(scope, _noting(receive, entry), _watching(send, entry))
            return
        await self._strike(fault, scope, _noting(receive, entry), _watching(send, entry))

    async def _strike(self, fault: Mapping[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        if "delay" in fault:
            await asyncio.sleep(float(fault["delay"]))
        works = "after-effect" in fault or fault.get("drop") == "after"
        if works:
            await self._inner(scope, receive, _nowhere)
        if "drop" in fault:
            raise ConnectionAbortedError  # uvicorn closes the connection without an answer
        if "status" in fault:
            await _fault_answer(fault)(scope, receive, send)
        elif not works:
            await self._inner(scope, receive, send)


def _fault_answer(fault: Mapping[str, str]) -> Response:
    status = int(fault["status"])
    headers = {key.removeprefix("header."): value for key, value in fault.items() if key.startswith("header.")}
    if "body" in fault:
        return Response(fault["body"], status_code=status, headers=headers, media_type="application/json")
    message = fault.get("message", "A fault of the local Hub, on purpose")
    return error(status, message, code=fault.get("code"), headers=headers)


def _entry(scope: Scope) -> dict[str, Any]:
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    return {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "authorized": "authorization" in headers,
        "user-agent": headers.get("user-agent", ""),
        "body": "",
        "status": None,
    }


def _noting(receive: Receive, entry: dict[str, Any]) -> Receive:
    """Keep the beginning of JSON bodies, with the values of secrets taken out."""
    kept = bytearray()

    async def noted() -> Message:
        message = await receive()
        if message["type"] == "http.request" and len(kept) < MAX_BODY:
            kept.extend(message.get("body", b""))
            if not message.get("more_body"):
                entry["body"] = _without_secrets(bytes(kept[:MAX_BODY]))
        return message

    return noted


def _without_secrets(body: bytes) -> str:
    try:
        value = json.loads(body)
    except ValueError:
        text = body.decode("utf-8", "replace")
        return text if text.isprintable() or "\n" in text[:4096] else f"<{len(body)} bytes>"
    if isinstance(value, dict) and isinstance(value.get("secrets"), dict):
        value["secrets"] = dict.fromkeys(value["secrets"], "***")
    return json.dumps(value)


def _watching(send: Send, entry: dict[str, Any]) -> Send:
    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            entry["status"] = message["status"]
        await send(message)

    return watched


async def _nowhere(message: Message) -> None:
    del message

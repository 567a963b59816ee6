"""Routes over the raw path, with plain functions as handlers.

Why not `starlette.routing.Route`: it matches the decoded path, so that a revision like `refs%2Fpr%2F1` or a file
`a%2Fb` would fall apart at its slashes. The clients quote those (huggingface_hub 2.4.0 `quote(revision, safe="")`),
so the raw path is what says where a revision ends.

Handlers are plain functions that run in a worker thread: they do file I/O, sqlite and git.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from hf_train.local_hub.http import error
from hf_train.local_hub.state import PathEscapesError


class HubError(Exception):
    """An error answer of the Hub, raised where the reason is known.

    Args:
        status: HTTP status.
        message: What the user reads.
        code: `X-Error-Code`.
        headers: More headers.
        body: More keys of the JSON body.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        **body: object,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = headers
        self.body = body

    def response(self) -> Response:
        """The HTTP answer."""
        return error(self.status, self.message, code=self.code, headers=self.headers, **self.body)


@dataclass(kw_only=True, slots=True)
class Call:
    """One request, its body read.

    Attributes:
        request: The request (headers, query).
        params: Named groups of the route's pattern, unquoted.
        body: The whole body; empty for routes that stream it.
    """

    request: Request
    params: dict[str, str]
    body: bytes = field(default=b"", repr=False)

    @property
    def authorization(self) -> str | None:
        """The `Authorization` header."""
        return self.request.headers.get("authorization")

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; `{}` for an empty body.

        Raises:
            HubError: 400 when it is none.
        """
        try:
            value = json.loads(self.body or b"{}")
        except ValueError as problem:
            raise HubError(400, f"Invalid JSON body: {problem}") from problem
        if not isinstance(value, dict):
            raise HubError(400, "Invalid JSON body: an object is expected")
        return value

    def ndjson(self) -> list[dict[str, Any]]:
        """The body as one JSON object per line.

        Raises:
            HubError: 400 when it is none.
        """
        try:
            lines = [json.loads(line) for line in self.body.split(b"\n") if line.strip()]
        except ValueError as problem:
            raise HubError(400, f"Invalid NDJSON body: {problem}") from problem
        if not all(isinstance(line, dict) for line in lines):
            raise HubError(400, "Invalid NDJSON body: each line must be an object")
        return lines

    def form(self) -> dict[str, list[str]]:
        """The body's fields, be it JSON or a form."""
        if "json" in self.request.headers.get("content-type", ""):
            fields = self.json()
            return {
                key: [str(one) for one in (value if isinstance(value, list) else [value])]
                for key, value in fields.items()
            }
        return parse_qs(self.body.decode(errors="replace"), keep_blank_values=True)

    def flag(self, name: str) -> bool:
        """A query parameter as a flag: `1`, `true`, `True`."""
        return self.request.query_params.get(name, "").lower() in {"1", "true"}

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        """A query parameter as a number, held between `low` and `high`."""
        text = self.request.query_params.get(name, "")
        return min(max(int(text), low), high) if text.isdecimal() else default

    def next_link(self, endpoint: str, **changed: object) -> dict[str, str]:
        """The `Link` header to the next page: this request with some query parameters changed."""
        query = urlencode([*_kept(self.request, changed), *((key, str(value)) for key, value in changed.items())])
        raw: bytes = self.request.scope.get("raw_path") or quote(self.request.url.path).encode()
        path = raw.partition(b"?")[0].decode("latin-1")
        return {"Link": f'<{endpoint}{path}?{query}>; rel="next"'}


def _kept(request: Request, changed: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(key, value) for key, value in request.query_params.multi_items() if key not in changed]


Handler = Callable[[Call], Response]
StreamHandler = Callable[[Call, AsyncIterator[bytes]], Awaitable[Response]]


class _RawRoute(BaseRoute):
    """A route whose pattern matches the raw (still quoted) path."""

    def __init__(self, methods: Iterable[str], pattern: str, name: str) -> None:
        self.methods = frozenset(methods)
        self.pattern = re.compile(pattern)
        self.name = name

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        found = self.pattern.fullmatch(raw.partition(b"?")[0].decode("latin-1"))
        if found is None:
            return Match.NONE, {}
        params = {key: unquote(value) for key, value in found.groupdict().items() if value is not None}
        child: Scope = {"endpoint": self.handle, "path_params": params}
        return (Match.FULL if scope["method"] in self.methods else Match.PARTIAL), child

    async def answer(self, request: Request, call: Call) -> Response:
        raise NotImplementedError

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if scope["method"] not in self.methods:
                raise HubError(405, "Method Not Allowed")
            response = await self.answer(request, Call(request=request, params=scope["path_params"]))
        except HubError as problem:
            response = problem.response()
        except PathEscapesError as problem:
            response = error(400, f"Invalid path: {problem}")
        await response(scope, receive, send)


class CallRoute(_RawRoute):
    """Reads the body, then runs a plain function in a worker thread."""

    def __init__(self, methods: Iterable[str], pattern: str, handler: Handler) -> None:
        super().__init__(methods, pattern, getattr(handler, "__name__", "handler"))
        self.handler = handler

    async def answer(self, request: Request, call: Call) -> Response:
        """Run the handler."""
        call.body = await request.body()
        return await run_in_threadpool(self.handler, call)


class StreamRoute(_RawRoute):
    """Gives the body to an async handler as it comes, for uploads that need not fit in memory."""

    def __init__(self, methods: Iterable[str], pattern: str, handler: StreamHandler) -> None:
        super().__init__(methods, pattern, getattr(handler, "__name__", "handler"))
        self.handler = handler

    async def answer(self, request: Request, call: Call) -> Response:
        """Run the handler."""
        return await self.handler(call, request.stream())

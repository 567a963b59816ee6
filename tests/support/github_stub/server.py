"""The stub's server: reads a request, applies faults, authenticates, pages, records."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from support.github_stub.routes import Answer, Refusal, Request, answer
from support.github_stub.state import Comment, Fault, State, Token

ENTERPRISE = "/api/v3"
DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """One request that came in, and the status that it got (0: the connection was dropped)."""

    method: str
    path: str
    query: dict[str, str]
    authorization: str
    user_agent: str
    body: Any
    status: int


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base names it)
        """Say nothing: the requests are recorded."""

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        split = urlsplit(self.path)
        prefix = ENTERPRISE if split.path.startswith(ENTERPRISE + "/") else ""
        path, query = split.path.removeprefix(prefix), dict(parse_qsl(split.query))
        body = json.loads(raw) if raw else {}
        state = self.server.stub.state
        with state.lock:
            fault = state.fault_for(self.command, path)
            result = (
                Answer(status=fault.status, body=_error(fault.message), headers=fault.headers)
                if fault and not fault.after
                else self._answer(state, path, query, body, prefix)
            )
            if fault and fault.after:
                result = Answer(status=fault.status, body=_error(fault.message), headers=fault.headers)
            self.server.stub.requests.append(
                Recorded(
                    method=self.command,
                    path=path,
                    query=query,
                    authorization=self.headers.get("Authorization", ""),
                    user_agent=self.headers.get("User-Agent", ""),
                    body=body,
                    status=result.status,
                )
            )
        if fault and fault.delay_s:
            time.sleep(fault.delay_s)
        if result.status == 0:
            self.close_connection = True
            self.connection.close()
            return
        self._send(result, split.path, query)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815  (the base calls them so)

    def _answer(self, state: State, path: str, query: dict[str, str], body: Any, prefix: str) -> Answer:
        base = f"http://{self.headers.get('Host', self.server.stub.host)}"
        try:
            request = Request(
                method=self.command,
                path=path,
                query=query,
                body=body if isinstance(body, dict) else {},
                token=self._token(state),
                api=base + prefix,
                web=base,
            )
            return answer(state, request)
        except Refusal as refusal:
            return Answer(status=refusal.status, body=_error(refusal.message))

    def _token(self, state: State) -> Token:
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() not in {"bearer", "token"} or not value.strip():
            raise Refusal(401, "Requires authentication")
        if not state.tokens:
            return Token()
        token = state.tokens.get(value.strip())
        if token is None:
            raise Refusal(401, "Bad credentials")
        return token

    def _send(self, result: Answer, path: str, query: dict[str, str]) -> None:
        headers = {
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Remaining": str(max(0, 5000 - len(self.server.stub.requests))),
            "X-RateLimit-Reset": str(int(time.time()) + 3600),
            "X-GitHub-Request-Id": f"STUB:{len(self.server.stub.requests)}",
            **result.headers,
        }
        body = result.body
        if result.pages is not None:
            body, link = self._page(result, path, query)
            if link:
                headers["Link"] = link
        data = b"" if result.status == 204 else json.dumps(body).encode()
        self.send_response(result.status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _page(self, result: Answer, path: str, query: dict[str, str]) -> tuple[Any, str]:
        rows = result.pages or []
        size = min(100, max(1, int(query.get("per_page", "30"))))
        page = max(1, int(query.get("page", "1")))
        last = max(1, -(-len(rows) // size))
        base = f"http://{self.headers.get('Host', self.server.stub.host)}{path}"
        wanted = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        shown = {name: number for name, number in wanted.items() if 1 <= number <= last and number != page}
        link = ", ".join(
            f'<{base}?{urlencode({**query, "page": str(number)})}>; rel="{name}"' for name, number in shown.items()
        )
        part = rows[(page - 1) * size : page * size]
        return ({"total_count": len(rows), result.wrap: part} if result.wrap else part), link


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: GitHubStub


class GitHubStub:
    """The server.

    Args:
        repository: `owner/name` of the repository that exists from the start.
        host: Address to bind. Containers on a bridge need another one than loopback.

    Attributes:
        state: What it knows; change it while it runs, under `state.lock` when a client is at work.
        requests: What came in, in order.
    """

    def __init__(self, repository: str = "octo/proj", host: str = "127.0.0.1") -> None:
        self.state = State(repository)
        self.repository = repository
        self.requests: list[Recorded] = []
        self._server = _Server((host, 0), _Handler)
        self._server.stub = self
        self.host = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Base address as of api.github.com (`GITHUB_API_URL`)."""
        return f"http://{self.host}"

    @property
    def enterprise_url(self) -> str:
        """Base address as of a GitHub Enterprise Server."""
        return self.url + ENTERPRISE

    def fail(self, path: str, status: int, **more: Any) -> Fault:
        """Let requests fail; see `Fault`."""
        fault = replace(Fault(path=path, status=status), **more)
        self.state.faults.append(fault)
        return fault

    def comments(self, number: int = 7, repository: str | None = None) -> list[Comment]:
        """The comments of a pull request, oldest first."""
        with self.state.lock:
            values = self.state.repos[repository or self.repository].comments
            return [value for _, value in sorted(values.items()) if value.number == number]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _error(message: str) -> dict[str, str]:
    return {"message": message, "documentation_url": DOCS}

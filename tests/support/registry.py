"""Container registries of the tests: Debian's docker-registry on loopback, and one that answers what a test wants.

No engine is needed to fill the first: images are put together here and sent over the OCI distribution API.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

READY_S = 20.0
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = """\
version: 0.1
log: {{level: {level}, accesslog: {{disabled: false}}}}
storage: {{filesystem: {{rootdirectory: {data}}}, delete: {{enabled: true}}}}
http: {{addr: 127.0.0.1:{port}}}
{auth}
"""


def sha256(content: bytes) -> str:
    """The digest of a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(frozen=True)
class Registry:
    """A running docker-registry.

    Attributes:
        host: `127.0.0.1:PORT`.
        data: Its folder.
        log: Its log; a line per request.
        auth: User and password that it asks for, if any.
    """

    host: str
    data: Path
    log: Path
    auth: tuple[str, str] | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}/v2"

    def requests(self, method: str) -> list[str]:
        """Requests of one method since the start, as its log has them."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if f'"{method} /v2/' in line]

    def blob(self, name: str, content: bytes) -> str:
        """Send a blob; returns its digest."""
        started = httpx2.post(f"{self.url}/{name}/blobs/uploads/", auth=self.auth)
        assert started.status_code == 202, started.text
        place = started.headers["Location"]
        sign = "&" if "?" in place else "?"
        done = httpx2.put(f"{place}{sign}digest={sha256(content)}", content=content, auth=self.auth)
        assert done.status_code == 201, done.text
        return sha256(content)

    def manifest(self, name: str, tag: str, document: Mapping[str, Any]) -> str:
        """Send a manifest or an index; returns its digest."""
        content = json.dumps(document).encode()
        headers = {"Content-Type": str(document["mediaType"])}
        done = httpx2.put(f"{self.url}/{name}/manifests/{tag}", content=content, headers=headers, auth=self.auth)
        assert done.status_code == 201, done.text
        return sha256(content)

    def image(self, name: str, tag: str, *, architecture: str = "amd64", env: tuple[str, ...] = ()) -> str:
        """Send an image of one made-up layer; returns the digest of its manifest."""
        config = {
            "os": "linux",
            "architecture": architecture,
            "created": "2026-11-30T10:11:12Z",
            "config": {"Env": env},
        }
        content = json.dumps(config).encode()
        layer = f"{name}:{tag}:{architecture}".encode()
        document = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {"mediaType": OCI_CONFIG, "digest": self.blob(name, content), "size": len(content)},
            "layers": [{"mediaType": OCI_LAYER, "digest": self.blob(name, layer), "size": len(layer)}],
        }
        return self.manifest(name, tag, document)

    def index(self, name: str, tag: str, architectures: tuple[str, ...]) -> str:
        """Send an index of images, one per architecture; returns its digest."""
        rows = []
        for one in architectures:
            digest = self.image(name, f"{tag}-{one}", architecture=one)
            size = len(httpx2.get(f"{self.url}/{name}/manifests/{digest}", headers={"Accept": OCI_MANIFEST}).content)
            row = {"mediaType": OCI_MANIFEST, "digest": digest, "size": size}
            rows.append({**row, "platform": {"os": "linux", "architecture": one}})
        return self.manifest(name, tag, {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows})


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(folder: Path, auth: str = "", credentials: tuple[str, str] | None = None) -> Iterator[Registry]:
    """Run Debian's docker-registry on loopback.

    Args:
        folder: Where it keeps its data.
        auth: A section `auth:` of its configuration.
        credentials: User and password that the tests themselves fill it with.
    """
    program = shutil.which("docker-registry")
    if program is None:
        pytest.fail("docker-registry is not installed (Debian, Ubuntu: apt-get install docker-registry)")
    folder.mkdir(parents=True, exist_ok=True)
    port, log = _free_port(), folder / "log"
    config = folder / "config.yml"
    config.write_text(CONFIG.format(level="warn", data=folder / "data", port=port, auth=auth), encoding="utf-8")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [program, "serve", str(config)], stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
    try:
        until = time.monotonic() + READY_S
        while True:
            with contextlib.suppress(httpx2.HTTPError):
                if httpx2.get(f"http://127.0.0.1:{port}/v2/").status_code in (200, 401):
                    break
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < until, "docker-registry did not get ready"
            time.sleep(0.05)
        yield Registry(host=f"127.0.0.1:{port}", data=folder / "data", log=log, auth=credentials)
    finally:
        process.terminate()
        process.wait(10)


@dataclass
class Seen:
    """One request that a stub got."""

    path: str
    headers: dict[str, str]


@dataclass
class StubRegistry:
    """A registry whose answers a test writes.

    Attributes:
        answers: Path (of a GET, `POST /path` of others; a prefix with `*` at its end) to a function of the request that
            gives status, headers and body.
        seen: What was asked.
    """

    host: str = ""
    answers: dict[str, Callable[[Seen], tuple[int, dict[str, str], bytes]]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    def always(self, path: str, status: int, body: bytes = b"", **headers: str) -> None:
        """The same answer each time."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = lambda _: (status, names, body)


@contextlib.contextmanager
def stub() -> Iterator[StubRegistry]:
    """Run a stub on loopback."""
    state = StubRegistry()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("")

        def do_HEAD(self) -> None:
            self._answer("HEAD ")

        def do_POST(self) -> None:
            self._answer("POST ")

        def _answer(self, method: str) -> None:
            seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()})
            state.seen.append(seen)
            found = next((f for p, f in state.answers.items() if _matches(p, method + self.path)), None)
            status, headers, body = found(seen) if found else (404, {}, b"")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    state.host = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path.split("?")[0] == pattern


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that anybody may read and write."""
    with running(tmp_path_factory.mktemp("registry")) as one:
        yield one

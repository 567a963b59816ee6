"""Scripts by URL: from known hosts, over https, at a public address, small, without a redirect."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import pytest

from hf_train.errors import BadInput, LostSight
from hf_train.script import MAX_BYTES, ScriptFetcher

RAW = f"https://raw.githubusercontent.com/octo/proj/{'a' * 40}/train.py"
Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def hub() -> ScriptFetcher:
    """A fetcher of the real Hub."""
    return ScriptFetcher("https://huggingface.co")


def _serve(monkeypatch: pytest.MonkeyPatch, answer: Answer, address: str = "140.82.112.3") -> list[str]:
    """Answer every request here; returns the addresses that were asked."""
    asked: list[str] = []

    @contextmanager
    def stream(method: str, url: str, *, follow_redirects: bool, timeout: float) -> Iterator[httpx2.Response]:
        assert not follow_redirects
        assert timeout <= 30

        def handle(request: httpx2.Request) -> httpx2.Response:
            asked.append(str(request.url))
            return answer(request)

        with (
            httpx2.Client(transport=httpx2.MockTransport(handle)) as client,
            client.stream(method, url, follow_redirects=follow_redirects, timeout=timeout) as response,
        ):
            yield response

    def resolve(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(httpx2, "stream", stream)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def _refused(fetcher: ScriptFetcher, url: str) -> str:
    with pytest.raises(BadInput) as caught:
        fetcher.fetch(url)
    (problem,) = caught.value.problems
    assert problem.startswith("script: ")
    return problem


def test_a_script_is_fetched_to_the_byte(hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "# /// script\n# ///\nprint('é')\r\n".encode()
    asked = _serve(monkeypatch, lambda _: httpx2.Response(200, content=content))
    assert hub.fetch(RAW) == content
    assert asked == [RAW]


@pytest.mark.case(23)
@pytest.mark.parametrize(
    ("url", "says"),
    [
        (RAW.replace("https", "http"), "is not https"),
        ("file:///etc/passwd", "is not https"),
        ("ftp://raw.githubusercontent.com/x.py", "is not https"),
        ("https://user@raw.githubusercontent.com/a/b/c/x.py", "user name"),
        ("https://raw.githubusercontent.com@evil.test/x.py", "user name"),
        ("https://raw.githubusercontent.com:8443/x.py", "port 8443"),
        ("https://evil.test/x.py", "evil.test is not a host"),
        ("https://169.254.169.254/latest/meta-data/", "169.254.169.254 is not a host"),
        ("https://[::ffff:169.254.169.254]/x", "is not a host"),
        ("https://2852039166/x", "2852039166 is not a host"),
        ("https://localhost/x.py", "localhost is not a host"),
        ("https://127.0.0.1:8000/x.py", "127.0.0.1 is not a host"),
    ],
)
def test_an_address_that_is_not_asked(url: str, says: str, hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, lambda _: httpx2.Response(200, content=b"print(1)"))
    assert says in _refused(hub, url)
    assert asked == []


@pytest.mark.case(23)
@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("huggingface.co.evil.test", "huggingface.co"),
        ("huggingface.github.io", "huggingface.co"),
        ("hugging-face.pages.dev", "huggingface.co"),
        ("huggingface.com", "huggingface.co"),
        ("hugginqface.co", "huggingface.co"),
        ("huggingfaces.co", "huggingface.co"),
        ("raw.githubusercontent.com.evil.test", "raw.githubusercontent.com"),
        ("raw.github-usercontent.com", "raw.githubusercontent.com"),
        ("raw.githubusercontent.co", "raw.githubusercontent.com"),
        ("raw.qithubusercontent.com", "raw.githubusercontent.com"),
    ],
)
def test_a_look_alike_is_refused_by_its_name(
    host: str, known: str, hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _serve(monkeypatch, lambda _: httpx2.Response(200, content=b"print(1)"))
    assert f"{host} is not {known}, it only looks like it" in _refused(hub, f"https://{host}/x.py")
    assert asked == []


@pytest.mark.case(23)
@pytest.mark.parametrize(
    "address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "::1", "fe80::1%eth0", "0.0.0.0"]
)
def test_a_known_name_at_a_private_address_is_not_asked(
    address: str, hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _serve(monkeypatch, lambda _: httpx2.Response(200, content=b"print(1)"), address)
    assert "private address" in _refused(hub, RAW)
    assert asked == []


@pytest.mark.case(23)
def test_a_redirect_is_not_followed(hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    target = "http://169.254.169.254/"
    asked = _serve(monkeypatch, lambda _: httpx2.Response(302, headers={"Location": target}))
    assert f"redirects to {target}" in _refused(hub, RAW)
    assert asked == [RAW]


@pytest.mark.case(23)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x" * (MAX_BYTES + 1), "larger than 1 MiB"),
        (b"\x00\x01", "not a Python script"),
        (b" <!doctype html>", "not a"),
    ],
)
def test_what_is_no_script(content: bytes, says: str, hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, lambda _: httpx2.Response(200, content=content))
    assert says in _refused(hub, RAW)


def test_an_answer_that_is_none(hub: ScriptFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, lambda _: httpx2.Response(404))
    assert "answers 404" in _refused(hub, RAW)

    def fails(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectTimeout("x", request=request)

    _serve(monkeypatch, fails)
    with pytest.raises(LostSight, match=r"raw\.githubusercontent\.com: ConnectTimeout"):
        hub.fetch(RAW)


def test_a_hub_on_this_machine_may_serve_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    local = ScriptFetcher("http://127.0.0.1:9999")
    asked = _serve(monkeypatch, lambda _: httpx2.Response(200, content=b"print(1)"))
    for url in ("http://127.0.0.1:9999/a/b/resolve/main/x.py", "http://localhost:1/x.py"):
        assert local.fetch(url) == b"print(1)"
    assert "is not https" in _refused(local, "http://evil.test/x.py")
    assert len(asked) == 2


def test_a_hub_of_your_own_may_serve_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, lambda _: httpx2.Response(200, content=b"print(1)"))
    own = ScriptFetcher("https://hub.corp.test")
    assert own.fetch("https://hub.corp.test/a/b/resolve/main/x.py") == b"print(1)"
    assert "user name" in _refused(own, "https://me@hub.corp.test/x.py")

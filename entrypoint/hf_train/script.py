"""Adapter: a uv script by URL. Fetched here, looked at, sent with the snapshot: the Job runs these very bytes."""

from __future__ import annotations

import ipaddress
import re
import socket
from difflib import SequenceMatcher
from urllib.parse import urlsplit

import httpx2

from hf_train.errors import BadInput, LostSight

MAX_BYTES = 1 << 20
TIMEOUT_S = 20.0
HOSTS = frozenset({"huggingface.co", "raw.githubusercontent.com", "gist.githubusercontent.com"})
"""Hosts whose files are what their URL says. A look-alike (a mirror on a pages host) would run with the Job's token."""


class ScriptFetcher:
    """The `ports.Scripts` of a real run.

    Args:
        endpoint: The Hub's address; its host is allowed too, also on loopback, so that the local Hub can serve scripts.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = urlsplit(endpoint)

    def fetch(self, url: str) -> bytes:
        """Content of the script.

        Raises:
            BadInput: The URL is not allowed, or what it gives is no Python source of at most 1 MiB.
            LostSight: The host does not answer.
        """
        parts = urlsplit(url)
        if problem := self._problem(url):
            raise BadInput([f"script: {problem}"])
        try:
            with httpx2.stream("GET", url, timeout=TIMEOUT_S, follow_redirects=False) as answer:
                if answer.is_redirect:
                    target = answer.headers.get("Location", "")
                    raise BadInput([f"script: {url} redirects to {target}; give that address if you trust it"])
                if answer.is_error:
                    raise BadInput([f"script: {url} answers {answer.status_code}"])
                content = bytearray()
                for chunk in answer.iter_bytes():
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise BadInput([f"script: {url} is larger than {MAX_BYTES >> 20} MiB"])
        except httpx2.HTTPError as error:
            raise LostSight(
                "Script not reached", f"{parts.hostname}: {type(error).__name__} for {url}.", "Nothing was started."
            ) from error
        if b"\0" in content or content.lstrip()[:1] == b"<":
            raise BadInput([f"script: {url} is not a Python script (an HTML page, or binary); use its raw address"])
        return bytes(content)

    def _problem(self, url: str) -> str:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        own = (parts.scheme, host, parts.port) == (self._endpoint.scheme, self._endpoint.hostname, self._endpoint.port)
        if own and not parts.username:
            return ""
        if self._is_loopback(host) and self._is_loopback(self._endpoint.hostname or ""):
            return ""  # with a Hub on this machine, scripts on this machine are fine
        if parts.scheme != "https":
            return f"{url} is not https"
        if parts.username or parts.password:
            return f"{host}: a URL with a user name in it is not fetched"
        if host not in HOSTS:
            if known := _looks_like(host):
                return f"{host} is not {known}, it only looks like it; a script from there would be a stranger's"
            return f"{host} is not a host that scripts are fetched from ({', '.join(sorted(HOSTS))}); check in a copy"
        if parts.port not in (None, 443):
            return f"{host}: port {parts.port} is not the one of https"
        if self._is_private(host):
            return f"{host} resolves to a private address"
        return ""

    @staticmethod
    def _is_loopback(host: str) -> bool:
        return host == "localhost" or bool(re.fullmatch(r"127(\.\d{1,3}){3}|::1", host))

    @staticmethod
    def _is_private(host: str) -> bool:
        try:
            found = {str(row[4][0]) for row in socket.getaddrinfo(host, 443)}
        except OSError:
            return False  # the fetch itself will say so
        return any(not ipaddress.ip_address(address.partition("%")[0]).is_global for address in found)


def _looks_like(host: str) -> str:
    """The host that this one imitates: its name inside of another's, or but for a few letters; empty for none."""
    plain = re.sub(r"[^a-z]", "", host)
    alike = {known: SequenceMatcher(None, host, known).ratio() for known in HOSTS}
    found = [known for known, ratio in alike.items() if ratio > 0.8 or known.split(".")[-2] in plain]
    return max(found, key=lambda known: (alike[known], known), default="")

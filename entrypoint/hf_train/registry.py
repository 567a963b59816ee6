"""Adapter: container registries, over the OCI distribution API. They are asked as Jobs ask them: without a password.

Source: OCI distribution spec 1.1 and the token flow of distribution (`docs/spec/auth/token.md`), which Docker Hub and
GHCR follow. Every request has a limit, every answer a size; nothing on a private address is asked.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import re
import socket
import time
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx2

from hf_train.images.manifest import ACCEPT, Config, Manifest, ManifestError, choose, read_config
from hf_train.images.model import Image, Login
from hf_train.images.problems import BadImage, ImageRefused, NoSuchImage, RegistryNotReached
from hf_train.images.reference import Reference

LIMITS = httpx2.Timeout(15.0, connect=6.0)
MAX_MANIFEST = 4 << 20
"""Registries take manifests of at most 4 MiB (OCI distribution spec)."""
MAX_CONFIG = 8 << 20
MAX_REDIRECTS = 3
TRIES = 3
LONGEST_PAUSE_S = 10.0
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    headers: httpx2.Headers


class OciRegistry:
    """Looks images up.

    Args:
        loopback: Whether registries on this machine may be asked (plain http); a Job of the real Hub cannot see them.
        elsewhere: Whether any other registry may be asked.
    """

    def __init__(self, *, loopback: bool, elsewhere: bool = True) -> None:
        self._loopback = loopback
        self._elsewhere = elsewhere

    def look(self, reference: Reference, login: Login | None = None) -> Image | None:
        """Look an image up for linux/amd64.

        Args:
            reference: The image.
            login: Who asks; nobody by default, as when a Job starts.

        Returns:
            What is known; None when this registry is not asked (all but those on this machine, with an embedded Hub).

        Raises:
            NoSuchImage: There is no such tag.
            BadImage: It is no image for linux/amd64, or no Job can reach the registry.
            ImageRefused: It is private or not there (401, 403), or the registry has had enough of us (429).
            RegistryNotReached: No answer that says anything.
        """
        if not reference.on_loopback and not self._elsewhere:
            return None
        with httpx2.Client(timeout=LIMITS, follow_redirects=False) as client:
            asking = _Asking(client, reference, login, loopback=self._loopback)
            try:
                return asking.image()
            except ManifestError as error:
                raise BadImage("Wrong image", f"{reference} {error}.", _HINTS["platform"]) from error
            except httpx2.HTTPError as error:
                raise RegistryNotReached(f"{reference.api_host}: {type(error).__name__}") from error


_HINTS = {
    "platform": "Build with --platform linux/amd64, or choose a tag that has it. Nothing was started.",
    "missing": "Check the name and the tag; a registry forgets tags that were deleted. Nothing was started.",
    "private": (
        "Jobs pull without credentials: make the image public (GHCR: package settings, change visibility), or build "
        "it in a Space (build-repository: hf.co/spaces/OWNER/NAME). Nothing was started."
    ),
    "limit": (
        "Wait, or give the image by digest (name@sha256:...): then nothing has to be looked up. Nothing was started."
    ),
    "reach": "Push it to a public registry (GHCR, Docker Hub), or run with --local. Nothing was started.",
}


@dataclass(slots=True)
class _Asking:
    """One look-up: one client, one token."""

    client: httpx2.Client
    reference: Reference
    login: Login | None
    loopback: bool
    _token: str = ""

    def image(self) -> Image:
        """The image, its manifest and its config."""
        wanted = self.reference.wanted
        top = self._manifest(wanted)
        digest = _sha256(top)
        if self.reference.digest and digest != self.reference.digest:
            raise ManifestError("is not what its digest says: the registry's answer has another hash")
        chosen = choose(top)
        if isinstance(chosen, str):
            inner = self._manifest(chosen)
            if _sha256(inner) != chosen:
                raise ManifestError("has a manifest for linux/amd64 with another hash than its index says")
            chosen = choose(inner)
        if not isinstance(chosen, Manifest):
            raise ManifestError("has an index inside its index, which engines do not pull")
        config = self._config(chosen)
        return Image(
            reference=self.reference,
            digest=digest,
            size=chosen.size,
            layers=len(chosen.layers),
            created=config.created,
            python=config.python,
            cuda=config.cuda,
        )

    def _manifest(self, wanted: str) -> bytes:
        return self._get(f"manifests/{wanted}", MAX_MANIFEST, {"Accept": ACCEPT})

    def _config(self, manifest: Manifest) -> Config:
        document = self._get(f"blobs/{manifest.config}", MAX_CONFIG, {})
        if _sha256(document) != manifest.config:
            raise ManifestError("has a config with another hash than its manifest says")
        return read_config(document)

    def _get(self, path: str, most: int, headers: dict[str, str]) -> bytes:
        scheme = "http" if self.reference.on_loopback else "https"
        url = f"{scheme}://{self.reference.api_host}/v2/{self.reference.repository}/{path}"
        answer = self._patiently(url, most, headers)
        if answer.status == 401 and not self._token:
            self._token = self._log_in(answer.headers.get("WWW-Authenticate", ""))
            if self._token:
                answer = self._patiently(url, most, headers)
        if answer.status == 200:
            return answer.body
        raise self._no(answer)

    def _no(self, answer: _Answer) -> Exception:
        host, status = self.reference.api_host, answer.status
        if status == 404:
            return NoSuchImage("No such image", f"{host} has no {self.reference} (404).", _HINTS["missing"])
        if status in (401, 403):
            who = f"for {self.login.user}" if self.login else "without a password"
            text = f"{host} does not give {self.reference} {who} ({status}): it is private, or it does not exist."
            return ImageRefused("Image cannot be pulled", text, _HINTS["private"])
        if status == 429:
            pause = answer.headers.get("Retry-After", "")
            again = f" Retry-After: {pause} s." if re.fullmatch(r"\d{1,6}", pause) else ""
            text = f"{host} answered 429 (too many requests) for {self.reference}.{again}"
            return ImageRefused("Registry limit", text, _HINTS["limit"])
        if 300 <= status < 500:
            return BadImage("No such image", f"{host} answered {status} for {self.reference}.", _HINTS["missing"])
        return RegistryNotReached(f"{host} answered {status}")

    def _patiently(self, url: str, most: int, headers: dict[str, str]) -> _Answer:
        """Ask again when the registry says that later is better, for some seconds in all."""
        for left in reversed(range(TRIES)):
            answer = self._follow(url, most, headers)
            pause = answer.headers.get("Retry-After", "1")
            wait = float(pause) if re.fullmatch(r"\d{1,6}", pause) else 1.0
            if answer.status not in (429, 502, 503, 504) or not left or wait > LONGEST_PAUSE_S:
                return answer
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _follow(self, url: str, most: int, headers: dict[str, str]) -> _Answer:
        """Follow redirects by hand: blobs lie on other hosts, which are checked too and see no token of ours."""
        home = urlsplit(url).netloc
        for _ in range(MAX_REDIRECTS + 1):
            own = urlsplit(url).netloc == home
            answer = self._one(url, most, {**headers, "Authorization": self._token} if self._token and own else headers)
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            url = urljoin(url, answer.headers.get("Location", ""))
        raise RegistryNotReached(f"{self.reference.api_host} redirects in a circle")

    def _one(self, url: str, most: int, headers: dict[str, str]) -> _Answer:
        self._check(url)
        with self.client.stream("GET", url, headers=headers) as answer:
            body = bytearray()
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > most:
                    message = f"has a manifest or config of more than {most >> 20} MiB"
                    raise ManifestError(message)
            return _Answer(answer.status_code, bytes(body), answer.headers)

    def _log_in(self, challenge: str) -> str:
        """The value of `Authorization` that the registry asks for; empty when there is none to be had."""
        kind, _, rest = challenge.partition(" ")
        basic = ""
        if self.login and self.login.host == self.reference.host:
            basic = _basic(self.login)
        if kind.lower() == "basic":
            return basic
        fields = dict(_CHALLENGE.findall(rest))
        realm = fields.get("realm", "")
        if kind.lower() != "bearer" or not realm:
            return ""
        query = {"service": fields.get("service", ""), "scope": f"repository:{self.reference.repository}:pull"}
        url = str(httpx2.URL(realm).copy_merge_params({name: value for name, value in query.items() if value}))
        answer = self._one(url, MAX_MANIFEST, {"Authorization": basic} if basic else {})
        if answer.status in (401, 403):
            return ""
        if answer.status == 429:
            raise self._no(answer)
        try:
            whole = json.loads(answer.body) if answer.status == 200 else None
        except (ValueError, RecursionError):
            whole = None
        if not isinstance(whole, dict):
            message = f"{urlsplit(realm).hostname} gave no token ({answer.status})"
            raise RegistryNotReached(message)
        token = str(whole.get("token") or whole.get("access_token") or "")
        return f"Bearer {token}" if token.isascii() and token.isprintable() and token else ""

    def _check(self, url: str) -> None:
        """Only public https addresses; those of this machine when the registry is one of this machine."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if _LOOPBACK.fullmatch(host) and self.reference.on_loopback:
            if self.loopback:
                return
            text = f"{self.reference.host} is on this machine, where no Job can reach it."
            raise BadImage("Image cannot be pulled", text, _HINTS["reach"])
        if parts.scheme != "https" or parts.username or parts.password or not host:
            text = f"{self.reference.host} leads to {parts.scheme}://{host}, which is not a plain https address."
            raise BadImage("Image cannot be pulled", text, _HINTS["reach"])
        if _is_private(host, parts.port or 443):
            text = f"{self.reference.host} leads to {host}, a private address, where no Job can reach it."
            raise BadImage("Image cannot be pulled", text, _HINTS["reach"])


def _basic(login: Login) -> str:
    words = f"{login.user}:{login.password.reveal()}"
    return f"Basic {base64.b64encode(words.encode()).decode()}"


def _sha256(document: bytes) -> str:
    return f"sha256:{hashlib.sha256(document).hexdigest()}"


def _is_private(host: str, port: int) -> bool:
    try:
        found = {str(row[4][0]) for row in socket.getaddrinfo(host, port)}
    except OSError:
        return False  # the request itself will say so; behind a proxy only the proxy knows names
    return any(not ipaddress.ip_address(address.partition("%")[0]).is_global for address in found)

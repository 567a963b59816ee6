"""Image references, in the grammar of the OCI distribution spec and with Docker's short forms. Pure.

`python:3.12` is `docker.io/library/python:3.12` (distribution/reference `normalize.go`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

DOCKER_HUB = "docker.io"
DOCKER_HUB_API = "registry-1.docker.io"
SPACES = ("hf.co/spaces/", "huggingface.co/spaces/")
"""Images that the Hub builds itself (huggingface_hub 2.4.0 `_jobs_api.py`)."""
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?")
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """One image in a registry.

    Attributes:
        host: Host of the registry, with its port when one was given.
        repository: Name in the registry, `library/python` for instance.
        tag: The tag; empty when only a digest was given.
        digest: `sha256:` and 64 hex digits; empty when only a tag was given.
    """

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """The image without tag and digest, as short as Docker writes it."""
        if self.host != DOCKER_HUB:
            return f"{self.host}/{self.repository}"
        return self.repository.removeprefix("library/") if self.repository.count("/") == 1 else self.repository

    @property
    def on_loopback(self) -> bool:
        """Whether the registry is one on this machine."""
        return bool(_LOOPBACK.fullmatch(self.host))

    @property
    def api_host(self) -> str:
        """Where the registry's API answers."""
        return DOCKER_HUB_API if self.host == DOCKER_HUB else self.host

    @property
    def wanted(self) -> str:
        """What to ask the registry for: the digest where there is one, else the tag."""
        return self.digest or self.tag

    def pinned(self, digest: str) -> str:
        """`name@sha256:...`: these bytes and no others. The tag is left out, for some clients refuse both."""
        return f"{self.name}@{digest}"

    def tagged(self, tag: str) -> Reference:
        """The same image under another tag."""
        return replace(self, tag=tag, digest="")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}{'@' + self.digest if self.digest else ''}"


def parse_reference(text: str) -> Reference:
    """Read a reference.

    Args:
        text: `[HOST/]NAME[:TAG][@sha256:DIGEST]`; the tag is `latest` when neither is given.

    Raises:
        ValueError: It is not one; the text says what is wrong with it.
    """
    rest, at, digest = text.strip().partition("@")
    if at and not _DIGEST.fullmatch(digest):
        message = f"{text!r} has a digest that is not sha256: and 64 hex digits"
        raise ValueError(message)
    head, slash, tail = rest.partition("/")
    if slash and ("." in head or ":" in head or head == "localhost") and _HOST.fullmatch(head):
        host, rest = head, tail
    else:
        host = DOCKER_HUB
    repository, colon, tag = rest.partition(":")
    if colon and not _TAG.fullmatch(tag):
        message = f"{text!r} has a tag that no registry takes"
        raise ValueError(message)
    if host in ("index.docker.io", DOCKER_HUB_API):
        host = DOCKER_HUB
    if host == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    if not _REPOSITORY.fullmatch(repository):
        upper = " (names are lower case)" if _REPOSITORY.fullmatch(repository.lower()) else ""
        message = f"{text!r} is not an image reference{upper}"
        raise ValueError(message)
    return Reference(host=host, repository=repository, tag=tag or ("" if digest else "latest"), digest=digest)


def space_of(text: str) -> str:
    """`owner/name` of a Space that is named as an image; empty when it is none."""
    plain = text.removeprefix("https://")
    for start in SPACES:
        if plain.startswith(start):
            return plain.removeprefix(start).strip("/")
    return ""

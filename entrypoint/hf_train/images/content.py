"""The content hash of a build: the same hash, the same image, so nothing is built twice. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hf_train.images.dockerfile import EVERYTHING
from hf_train.images.ignore import glob

SCHEME = "hf-train image 1"
TAG_DIGITS = 32
SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|PRIVATE_?KEY|CREDENTIAL", re.IGNORECASE)
SECRET_VALUE = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|sk-[A-Za-z0-9_-]{20,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextFile:
    """One file of a build context.

    Attributes:
        path: POSIX path below the context.
        sha256: Hash of its bytes; of its target for a link.
        size: Bytes.
        source: Where its bytes lie on this machine; None for a link.
        executable: Whether it has the execute bit.
        target: Where it points to when it is a symbolic link; else empty.
    """

    path: str
    sha256: str
    size: int = 0
    source: Path | None = None
    executable: bool = False
    target: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """Everything that makes one image, ready to be built.

    Attributes:
        dockerfile: Its path, for people.
        text: Its text, each base by digest.
        files: Files that the build can see.
        target: Stage to build; the last when empty.
        args: Build arguments.
        secrets: Names of build secrets; their values are not part of what is built.
        bases: External images, each with what it was pinned to.
        base_size: Bytes of the bases as they are sent; 0 when it is not known.
        hash: Content hash, 64 hex digits.
    """

    dockerfile: str
    text: str
    files: tuple[ContextFile, ...]
    target: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    bases: tuple[tuple[str, str], ...] = ()
    base_size: int = 0
    hash: str = ""

    @property
    def tag(self) -> str:
        """Tag of the image in its registry."""
        return f"hft-{self.hash[:TAG_DIGITS]}"


def seen(files: Iterable[ContextFile], sources: Sequence[str]) -> tuple[ContextFile, ...]:
    """The files that the Dockerfile's sources name, by path."""
    ordered = sorted(files, key=lambda file: file.path)
    if EVERYTHING in sources:
        return tuple(ordered)
    rules = [glob(source) for source in sources]
    # A link may be a folder that a source walks through, and where it leads is not looked at: it is always seen.
    return tuple(file for file in ordered if file.target or any(rule(file.path) for rule in rules))


def content_hash(recipe: Recipe) -> str:
    """Hash over the Dockerfile, the files that it can see, the bases' digests and the arguments.

    Time, machine, commit and the values of secrets are not in it.
    """
    rows = [
        [file.path, "l" if file.target else "x" if file.executable else "-", file.target or file.sha256]
        for file in sorted(recipe.files, key=lambda file: file.path)
    ]
    what = [
        SCHEME,
        recipe.text,
        recipe.target,
        sorted(recipe.args.items()),
        sorted(recipe.secrets),
        sorted(recipe.bases),
        rows,
    ]
    return hashlib.sha256(json.dumps(what).encode("utf-8", "surrogatepass")).hexdigest()


def secret_args(args: Mapping[str, str]) -> list[str]:
    """A sentence for each build argument that looks like a secret: arguments stay readable in the image's history."""
    return [
        f"build-args: {name} looks like a secret, and build arguments can be read in the image; use build-secrets"
        for name, value in args.items()
        if SECRET_NAME.search(name) or SECRET_VALUE.search(value)
    ]


def secret_text(text: str) -> bool:
    """Whether a text has something in it that looks like a token or a private key."""
    return bool(SECRET_VALUE.search(text))

"""What a registry says about an image: indexes, manifests and configs. Pure.

Source of the formats: OCI image spec 1.1 (`image-index.md`, `manifest.md`, `config.md`) and Docker's older schema 2,
which has the same fields under its own media types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT = ", ".join((*INDEX_TYPES, *MANIFEST_TYPES))
PLATFORM = ("linux", "amd64")
"""What Jobs run on."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = re.compile(r"\d+(?:\.\d+){0,3}")
_PYTHON = ("PYTHON_VERSION",)
_CUDA = ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION")


class ManifestError(ValueError):
    """What the registry gave is no image that Jobs can run; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The manifest of one platform.

    Attributes:
        config: Digest of its config.
        size: Bytes of its layers as they are sent.
        layers: Digests of the layers.
    """

    config: str
    size: int
    layers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The config of one platform.

    Attributes:
        platform: `os/architecture`.
        created: When it was built; None when it does not say (or says the year 1, as reproducible builds do).
        python: Version of Python by the image's own environment or labels; empty when it does not say.
        cuda: The same for CUDA.
        labels: Its labels.
        user: The user that it runs as; empty for root.
        entrypoint: Its entrypoint, which Jobs do not use.
    """

    platform: str
    created: datetime | None = None
    python: str = ""
    cuda: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: tuple[str, ...] = ()


def choose(document: bytes) -> str | Manifest:
    """Read an index or a manifest.

    Args:
        document: The body of `GET /v2/NAME/manifests/REFERENCE`.

    Returns:
        The digest of the manifest for linux/amd64 when it was an index, else the manifest itself.

    Raises:
        ManifestError: It is neither, or has nothing for linux/amd64.
    """
    whole = _object(document, "manifest")
    if isinstance(whole.get("manifests"), list):
        return _of_index(whole["manifests"])
    if whole.get("schemaVersion") == 1:
        message = "is in the manifest format of 2015 (schema 1), which engines no longer pull"
        raise ManifestError(message)
    config, layers = whole.get("config"), whole.get("layers")
    if not isinstance(config, dict) or not isinstance(layers, list) or not all(isinstance(one, dict) for one in layers):
        message = "is not an image (an artifact of another kind, by its manifest)"
        raise ManifestError(message)
    size = sum(one["size"] for one in layers if isinstance(one.get("size"), int) and one["size"] > 0)
    return Manifest(config=_digest(config), size=size, layers=tuple(_digest(one) for one in layers))


def read_config(document: bytes) -> Config:
    """Read the config of an image.

    Raises:
        ManifestError: It is no config, or one for another platform than linux/amd64.
    """
    whole = _object(document, "config")
    platform = (str(whole.get("os") or ""), str(whole.get("architecture") or ""))
    if platform != PLATFORM:
        message = f"is for {_words('/'.join(platform))}, and Jobs run {'/'.join(PLATFORM)}"
        raise ManifestError(message)
    inner = whole.get("config")
    inner = inner if isinstance(inner, dict) else {}
    environ = _environ(inner.get("Env"))
    labels = inner.get("Labels")
    labels = {str(name): str(value) for name, value in labels.items()} if isinstance(labels, dict) else {}
    entrypoint = inner.get("Entrypoint")
    return Config(
        platform="/".join(platform),
        created=_date(whole.get("created")),
        python=_version(environ, labels, _PYTHON, "python"),
        cuda=_version(environ, labels, _CUDA, "cuda"),
        labels=labels,
        user=str(inner.get("User") or ""),
        entrypoint=tuple(str(word) for word in entrypoint) if isinstance(entrypoint, list) else (),
    )


def _of_index(rows: Sequence[object]) -> str:
    found: list[str] = []
    for row in rows:
        platform = row.get("platform") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(platform, dict):
            continue
        name = (str(platform.get("os") or ""), str(platform.get("architecture") or ""))
        if name == PLATFORM:
            return _digest(row)
        if name != ("unknown", "unknown"):  # attestations stand in an index under this name
            found.append("/".join(name))
    there = f"; it has {_words(', '.join(found))}" if found else ""
    message = f"has nothing for {'/'.join(PLATFORM)}, which Jobs run{there}"
    raise ManifestError(message)


def _object(document: bytes, what: str) -> dict[str, Any]:
    try:
        whole = json.loads(document)
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        message = f"has a {what} that is no JSON object"
        raise ManifestError(message)
    return whole


def _digest(row: Mapping[str, Any]) -> str:
    digest = row.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        message = "has a manifest without a sha256 digest where one belongs"
        raise ManifestError(message)
    return digest


def _environ(rows: object) -> dict[str, str]:
    pairs = [str(row).partition("=") for row in rows] if isinstance(rows, list) else []
    return {name: value for name, _, value in pairs}


def _version(environ: Mapping[str, str], labels: Mapping[str, str], names: Sequence[str], label: str) -> str:
    candidates = [labels.get(f"hf-train.{label}", ""), *(environ.get(name, "") for name in names)]
    found = [match[0] for text in candidates if (match := _VERSION.match(text))]
    return found[0] if found else ""


def _date(value: object) -> datetime | None:
    # Docker writes nanoseconds, which `fromisoformat` of Python 3.11 takes (it cuts them).
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return date if date.tzinfo and date.year > 1980 else None


def _words(text: str) -> str:
    """What a registry says, cut: it is a stranger's text in a message of ours."""
    return re.sub(r"[^A-Za-z0-9/,. _-]", "?", text)[:200]

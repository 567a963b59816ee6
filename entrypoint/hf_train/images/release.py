"""Where an image is pushed, under which name, with which labels and cache. Pure."""

from __future__ import annotations

import re

from hf_train.context import Context
from hf_train.images.reference import Reference, parse_reference

GHCR = "ghcr.io"


def is_release(context: Context) -> bool:
    """Whether this run makes something that others will use: a release, or the push of a tag."""
    return context.event == "release" or context.ref.startswith("refs/tags/")


def repository_for(named: str | None, context: Context) -> Reference | None:
    """Where a built image is pushed.

    Args:
        named: The input `build-repository`.
        context: Where the run stands.

    Returns:
        The image without a tag of ours yet; None when nothing says where.

    Raises:
        ValueError: The name is not one.
    """
    if named:
        reference = parse_reference(named)
        if reference.digest or not named.endswith(reference.repository.rpartition("/")[2]):
            message = f"{named!r} has a tag or a digest; the tag is the hash of what is built"
            raise ValueError(message)
        return reference
    if not context.repository:
        return None
    return parse_reference(f"{GHCR}/{context.repository.lower()}/train")


def labels_for(context: Context, hash_: str) -> dict[str, str]:
    """OCI annotations (OCI image spec, `annotations.md`): which repository, commit and run made the image."""
    source = f"{context.server_url}/{context.repository}" if context.repository else ""
    labels = {
        "org.opencontainers.image.source": source,
        "org.opencontainers.image.revision": context.head_sha,
        "hf-train.run": context.run_url,
        "hf-train.content": hash_,
    }
    return {name: value for name, value in labels.items() if value}


def caches_for(context: Context) -> tuple[str, tuple[str, ...]]:
    """Tag of the build cache to write, and tags to read: one per pull request or branch, none at all for a release.

    What a pull request writes is read by that pull request only, so it cannot reach a release (reference case 47).
    """
    if is_release(context) or not context.on_github:
        return "", ()
    own = f"pr-{context.pull.number}" if context.pull else context.ref.removeprefix("refs/heads/")
    base = context.pull.base_ref if context.pull else ""
    write = _cache(own)
    return write, tuple(dict.fromkeys([write, *([_cache(base)] if base else [])]))


def _cache(scope: str) -> str:
    return "hft-cache-" + (re.sub(r"[^A-Za-z0-9._-]", "-", scope)[:80] or "none")

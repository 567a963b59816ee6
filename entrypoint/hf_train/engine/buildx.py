"""The words of one build: `docker buildx build` where BuildKit is, Docker's classic builder where it is not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hf_train.images.content import Recipe
from hf_train.images.ports import Order
from hf_train.images.reference import Reference

PLATFORM = "linux/amd64"
EXPORTS = frozenset({"docker-container", "kubernetes", "remote"})
"""Drivers that write a registry cache and attestations; `docker` does neither (docs.docker.com, build drivers)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one build finds its things.

    Attributes:
        dockerfile: The Dockerfile, with its bases by digest.
        context: The folder with the context.
        metadata: Where buildx writes the digest.
    """

    dockerfile: Path
    context: Path
    metadata: Path


def buildx_words(recipe: Recipe, target: Reference, order: Order, place: Place, driver: str) -> list[str]:
    """Build and push with BuildKit. Secrets are named, their values stand in the environment of the command."""
    words = ["buildx", "build", *_common(recipe, target, order, place), "--progress", "plain"]
    words += ["--metadata-file", str(place.metadata), "--push"]
    for name in recipe.secrets:
        words += ["--secret", f"id={name},env={name}"]
    if driver in EXPORTS:
        # mode=min leaves build arguments out of the provenance (docs.docker.com, SLSA provenance).
        words += ["--sbom", "true", "--provenance", "mode=min"]
        for tag in order.cache_from:
            words += ["--cache-from", f"type=registry,ref={target.tagged(tag)}"]
        if order.cache_to:
            words += ["--cache-to", f"type=registry,ref={target.tagged(order.cache_to)},mode=max,ignore-error=true"]
    else:
        words += ["--provenance", "false"]
    return [*words, str(place.context)]


def classic_words(recipe: Recipe, target: Reference, order: Order, place: Place) -> list[str]:
    """Build with the classic builder, which pushes nothing by itself."""
    return ["build", *_common(recipe, target, order, place), str(place.context)]


def _common(recipe: Recipe, target: Reference, order: Order, place: Place) -> list[str]:
    words = ["--platform", PLATFORM, "--file", str(place.dockerfile), "--tag", str(target)]
    if recipe.target:
        words += ["--target", recipe.target]
    words += _pairs("--build-arg", recipe.args)
    return [*words, *_pairs("--label", order.labels)]


def _pairs(option: str, values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]

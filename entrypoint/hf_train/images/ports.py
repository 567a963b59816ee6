"""What the flow asks of registries and of the container engine. Adapters fulfil these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hf_train.images.content import ContextFile, Recipe
from hf_train.images.model import Image, Login
from hf_train.images.pins import Pin
from hf_train.images.reference import Reference
from hf_train.values import Secret

Emit = Callable[[Sequence[str]], None]
"""Takes lines that a build printed. They are hostile."""


class Registry(Protocol):
    """Registries, asked as Jobs ask them."""

    def look(self, reference: Reference, login: Login | None = None) -> Image | None:
        """Look an image up for linux/amd64.

        Returns:
            What is known; None when this registry is not asked (all but those on this machine, with an embedded Hub).

        Raises:
            NoSuchImage: There is no such tag.
            BadImage: It is no image for linux/amd64, or no Job can reach the registry.
            ImageRefused: It is private or not there, or the registry has had enough of us.
            RegistryNotReached: No answer that says anything.
        """
        ...


class Context(Protocol):
    """The folder that an image is built from."""

    def read(self, path: str) -> str | None:
        """A text file of the repository, None when there is none or it lies outside."""
        ...

    def files(self, folder: str, exclude: Sequence[str]) -> Sequence[ContextFile]:
        """What git lists below a folder. Raises `BadInput` when the folder cannot be sent."""
        ...


class Builder(Protocol):
    """The container engine."""

    def missing(self) -> str:
        """Why nothing can be built here, in words; empty when it can."""
        ...

    def image_id(self, image: str) -> str:
        """The engine's own id of an image that it holds; empty when it holds none of that name."""
        ...

    def build(
        self, recipe: Recipe, target: Reference, login: Login | None, secrets: Mapping[str, Secret], order: Order
    ) -> str:
        """Build and push. Returns the digest that the registry has it by.

        Raises:
            BuildFailed: It could not be built or pushed; nothing else was started.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """How to build.

    Attributes:
        emit: Takes the lines that the build prints.
        labels: OCI annotations of the image, by name.
        cache_to: Tag of the registry cache to write; empty for none (a release is built without any).
        cache_from: Tags of the registry caches to read.
    """

    emit: Emit
    labels: Mapping[str, str]
    cache_to: str = ""
    cache_from: tuple[str, ...] = ()


class SpaceBuilder(Protocol):
    """Docker Spaces that build images."""

    def holds(self, space: str, recipe: Recipe) -> bool:
        """Whether the Space was built from this very recipe."""
        ...

    def build(self, space: str, recipe: Recipe, emit: Emit) -> None:
        """Push the context and wait for the build. Raises `BuildFailed` when the Space does not build it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Images:
    """All of them, and the names that we know."""

    registry: Registry
    context: Context
    builder: Builder
    spaces: SpaceBuilder
    pins: tuple[Pin, ...] = ()

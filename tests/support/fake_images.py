"""Fakes of registries, of the checkout and of the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from hf_train.images.content import ContextFile, Recipe
from hf_train.images.model import Image, Login
from hf_train.images.pins import Pin
from hf_train.images.ports import Emit, Images, Order
from hf_train.images.problems import BuildFailed, ImageRefused, NoSuchImage
from hf_train.images.reference import Reference
from hf_train.values import Secret


def digest(text: str) -> str:
    """A digest made of any text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass
class FakeRegistry:
    """Registries with these images: `name:tag` to digest, or to what is raised."""

    images: dict[str, str | Exception] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    asks: bool = True
    asked: list[str] = field(default_factory=list)

    def look(self, reference: Reference, login: Login | None = None) -> Image | None:
        self.asked.append(str(reference))
        if not self.asks:
            return None
        found = self.images.get(str(reference))
        if found is None and reference.digest:
            found = reference.digest if reference.digest in self.images.values() else None
        if isinstance(found, Exception):
            raise found
        if str(reference) in self.private and login is None:
            raise ImageRefused("Image cannot be pulled", f"{reference} is private.", "Make it public.")
        if found is None:
            raise NoSuchImage("No such image", f"there is no {reference}.", "Check.")
        return Image(reference=reference, digest=found, size=1000)


@dataclass
class FakeContext:
    """A checkout with these files."""

    texts: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return self.texts.get(path.removeprefix("./"))

    def files(self, folder: str, exclude: Sequence[str]) -> Sequence[ContextFile]:
        del exclude
        start = "" if folder == "." else f"{folder}/"
        return [
            ContextFile(path=path.removeprefix(start), sha256=digest(text)[7:], size=len(text))
            for path, text in self.texts.items()
            if path.startswith(start)
        ]


@dataclass
class FakeBuilder:
    """An engine that pushes into a fake registry."""

    registry: FakeRegistry
    fails: Exception | None = None
    lines: tuple[str, ...] = ("Step 1/2", "Step 2/2")
    held: dict[str, str] = field(default_factory=dict)
    built: list[tuple[Recipe, Reference, Login | None, dict[str, str], Order]] = field(default_factory=list)

    def missing(self) -> str:
        return ""

    def image_id(self, image: str) -> str:
        return self.held.get(image, "")

    def build(
        self, recipe: Recipe, target: Reference, login: Login | None, secrets: Mapping[str, Secret], order: Order
    ) -> str:
        self.built.append((recipe, target, login, {name: one.reveal() for name, one in secrets.items()}, order))
        order.emit(self.lines)
        if self.fails:
            raise self.fails
        self.registry.images[str(target)] = digest(recipe.hash)
        return digest(recipe.hash)


@dataclass
class FakeSpaces:
    """Docker Spaces that build at once."""

    held: dict[str, str] = field(default_factory=dict)
    fails: Exception | None = None

    def holds(self, space: str, recipe: Recipe) -> bool:
        return self.held.get(space) == recipe.hash

    def build(self, space: str, recipe: Recipe, emit: Emit) -> None:
        emit(["building"])
        if self.fails:
            raise self.fails
        self.held[space] = recipe.hash


@dataclass
class FakeImages:
    """All of them."""

    registry: FakeRegistry = field(default_factory=FakeRegistry)
    context: FakeContext = field(default_factory=FakeContext)
    builder: FakeBuilder = field(init=False)
    spaces: FakeSpaces = field(default_factory=FakeSpaces)
    pins: tuple[Pin, ...] = (
        Pin(name="trl", reference="huggingface/trl:latest", digest=digest("trl"), date=date(2026, 12, 1)),
    )

    def __post_init__(self) -> None:
        self.builder = FakeBuilder(self.registry)

    @property
    def ports(self) -> Images:
        """As the flow takes them."""
        return Images(
            registry=self.registry, context=self.context, builder=self.builder, spaces=self.spaces, pins=self.pins
        )


def build_failed(count: int) -> BuildFailed:
    """A build that failed after so many lines."""
    lines = [f"line {number}" for number in range(1, count + 1)]
    return BuildFailed("Build failed", "docker ended with 1.", "No Job was started.", lines)

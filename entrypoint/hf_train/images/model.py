"""What is known about an image in a registry. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hf_train.images.content import Recipe
from hf_train.images.reference import Reference
from hf_train.values import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """An image, looked up.

    Attributes:
        reference: As it was asked for.
        digest: `sha256:...` of what the registry gave: of the index when there is one.
        size: Bytes of the layers for linux/amd64 as they are sent.
        layers: Number of layers.
        created: When it was built, by its own word; None when it does not say.
        python: Version of Python by its own word; empty when it does not say.
        cuda: The same for CUDA.
    """

    reference: Reference
    digest: str
    size: int = 0
    layers: int = 0
    created: datetime | None = None
    python: str = ""
    cuda: str = ""

    @property
    def pinned(self) -> str:
        """What a Job is given: `name@sha256:...`."""
        return self.reference.pinned(self.digest)


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """Who speaks to a registry.

    Attributes:
        host: Host of the one registry that it is for.
        user: User name.
        password: Password or token.
    """

    host: str
    user: str
    password: Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """The image that a Job gets.

    Attributes:
        asked: As the user named it; the Dockerfile when it is built.
        image: What the Job is given.
        digest: `sha256:...` of it; empty when it is not known, or not yet.
        size: Bytes of its layers as they are sent; 0 when it is not known.
        notes: What is worth knowing, in words.
        recipe: What has to be built and pushed before the launch; None when it is there.
    """

    asked: str
    image: str
    digest: str = ""
    size: int = 0
    notes: tuple[str, ...] = ()
    recipe: Recipe | None = None

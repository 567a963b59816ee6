"""`images/pins.toml`: names of images, each with the bytes that it stands for. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from hf_train.images.reference import parse_reference

HEADER = """\
# Names for `image:`, and the bytes that each stands for. Written by `hf-train image pin --update`, once a week by
# .github/workflows/pins.yml; the tag of `reference` is what is followed, the digest is what runs.
"""
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_FIELDS = {"reference": str, "digest": str, "date": date, "size": int, "python": str, "cuda": str}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One known name.

    Attributes:
        name: What `image:` takes.
        reference: The image with the tag that is followed.
        digest: `sha256:...` of the image, or of its index.
        date: The day on which the digest was read.
        size: Bytes of the layers as they are sent; 0 when it is not known.
        python: Version of Python in it; empty when it is not known.
        cuda: Version of CUDA in it; empty for none, or when it is not known.
    """

    name: str
    reference: str
    digest: str
    date: date
    size: int = 0
    python: str = ""
    cuda: str = ""

    @property
    def image(self) -> str:
        """What a Job is given: `name@sha256:...`."""
        return parse_reference(self.reference).pinned(self.digest)


def read_pins(text: str) -> tuple[Pin, ...]:
    """Read the file.

    Raises:
        ValueError: It is not TOML, or an entry is not a pin; the text names it.
    """
    pins = []
    for name, row in tomllib.loads(text).items():
        if not NAME.fullmatch(name) or not isinstance(row, dict):
            message = f"pins.toml: {name!r} is not the name of an image"
            raise ValueError(message)
        for key, value in row.items():
            if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
                message = f"pins.toml: {name}: {key} is not what a pin has"
                raise ValueError(message)
        missing = {"reference", "digest", "date"} - row.keys()
        if missing:
            message = f"pins.toml: {name}: {', '.join(sorted(missing))} missing"
            raise ValueError(message)
        pinned = parse_reference(f"{row['reference']}@{row['digest']}")
        if not pinned.tag:
            message = f"pins.toml: {name}: the reference has no tag to follow"
            raise ValueError(message)
        pins.append(Pin(name=name, **row))
    return tuple(pins)


def write_pins(pins: Sequence[Pin]) -> str:
    """The file's text; `read_pins` gives the same pins back."""
    parts = [HEADER]
    for pin in pins:
        rows = [
            f"[{pin.name}]",
            f'reference = "{pin.reference}"',
            f'digest = "{pin.digest}"',
            f"date = {pin.date.isoformat()}",
        ]
        if pin.size:
            rows.append(f"size = {pin.size}")
        rows += [f'{key} = "{value}"' for key, value in (("python", pin.python), ("cuda", pin.cuda)) if value]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)

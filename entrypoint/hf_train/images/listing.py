"""The known images as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from hf_train.images.pins import Pin
from hf_train.values import Flavor

COLUMNS = ("name", "image", "age", "size", "python", "CUDA", "flavors")


def flavors_for(pin: Pin, flavors: Sequence[Flavor]) -> list[str]:
    """Flavors that an image makes sense on: one with CUDA wants an NVIDIA GPU, any other runs everywhere."""
    return [one.name for one in flavors if not pin.cuda or (one.gpus and "neuron" not in one.accelerator.lower())]


def table(pins: Sequence[Pin], flavors: Sequence[Flavor], today: date) -> str:
    """One row for each name, columns aligned."""
    rows = [COLUMNS, *(_row(pin, flavors, today) for pin in pins)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def as_data(pins: Sequence[Pin], flavors: Sequence[Flavor], today: date) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "name": pin.name,
            "image": pin.image,
            "reference": pin.reference,
            "digest": pin.digest,
            "date": pin.date.isoformat(),
            "age-days": (today - pin.date).days,
            "size": pin.size or None,
            "python": pin.python or None,
            "cuda": pin.cuda or None,
            "flavors": flavors_for(pin, flavors),
        }
        for pin in pins
    ]


def _row(pin: Pin, flavors: Sequence[Flavor], today: date) -> tuple[str, ...]:
    age = (today - pin.date).days
    found = flavors_for(pin, flavors)
    where = f"{'with a GPU' if pin.cuda else 'all'}{f' ({len(found)})' if flavors else ''}"
    size = f"{pin.size / 1e9:.2f} GB" if pin.size else "-"
    return (pin.name, pin.image, f"{age} d", size, pin.python or "-", pin.cuda or "-", where)

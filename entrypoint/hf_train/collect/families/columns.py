"""Tables of plain columns: a header of names, then rows of numbers, as fastai and skorch print them, or with commas."""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import is_result, may_be_result, to_number

_FIRST = ("epoch", "step", "iter")
_SPLIT = re.compile(r"[\s|,]+")
_TIMES = frozenset({"time", "dur", "duration"})
_MAX_COLUMNS = 24


def _cells(text: str) -> list[str]:
    return [cell for cell in _SPLIT.split(text.strip()) if cell]


class _Columns:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names: list[str] = []

    def read(self, text: str) -> bool:
        cells = _cells(payload(text))
        if not 2 < len(cells) <= _MAX_COLUMNS:
            return False
        if cells[0].lower() in _FIRST:
            if not any(map(is_result, cells)) or any(":" in cell or "=" in cell or cell[0].isdigit() for cell in cells):
                return False
            self._names = cells
            return True
        if len(cells) != len(self._names):
            return False
        numbers = [to_number(cell) for cell in cells]
        place = numbers[0]
        if place is None or not place.is_integer():
            return False
        values: dict[str, float | None] = {
            name: value
            for name, value in zip(self._names[1:], numbers[1:], strict=True)
            if value is not None and name not in _TIMES and not name.endswith("_time")
        }
        if not any(is_result(name) for name in values):
            return False
        if self._names[0].lower() == "epoch":
            self._ledger.tracker.at_epoch(place)
            self._ledger.record(values, text, STRUCTURED, epoch=place)
        else:
            self._ledger.tracker.steps(place)
            self._ledger.record(values, text, STRUCTURED, step=place)
        return True


def _make(ledger: Ledger) -> Read:
    return _Columns(ledger).read


def _wants(bare: str) -> bool:
    """A row is nothing but digits (taken out here) and their marks; a header begins with its counter."""
    body = bare[bare.rfind("]") + 1 :].lstrip(" |:-.,TZ")
    if body[:5].lower().startswith(_FIRST):
        return ":" not in body and "=" not in body and any(map(may_be_result, _cells(body)))
    return not body.strip(" .,:-+|\teEnaifNI")


FAMILY = Family("column tables (fastai, skorch, CSV)", (" ", "\t", ","), _make, wants=_wants)

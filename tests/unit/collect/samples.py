"""The logs under `tests/fixtures/logs` with their right reading."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "logs"


@dataclass(frozen=True)
class Sample:
    """One log and what it says."""

    file: str
    library: str
    status: tuple[str, ...]
    metrics: dict[str, float | str]
    model_urls: frozenset[str]
    also_urls: frozenset[str]
    causes: tuple[str | None, ...]
    cause_line: str | None
    warnings: tuple[str, ...] = field(default=())

    @property
    def data(self) -> bytes:
        return (LOGS / self.file).read_bytes()


def _sample(row: dict[str, Any]) -> Sample:
    return Sample(
        file=row["file"],
        library=row["library"],
        status=(row["status"], *row.get("status_also_right", [])),
        metrics=row["metrics"],
        model_urls=frozenset(row["model_urls"]),
        also_urls=frozenset(row["model_urls_also_right"]),
        causes=(row["cause"], *row["cause_also_right"]),
        cause_line=row.get("cause_line"),
        warnings=tuple(row["warnings"]),
    )


SAMPLES = tuple(_sample(row) for row in json.loads((LOGS / "expected.json").read_text(encoding="utf-8")))


def printed_as(expected: float | str, value: float | None) -> bool:
    """Whether a value is the expected one to the digits that the log prints."""
    if value is None:
        return False
    if isinstance(expected, str):
        return str(value) == expected
    if math.isclose(expected, value, rel_tol=1e-12, abs_tol=1e-15):
        return True
    digits = len(repr(float(expected)).partition(".")[2])
    return round(value, digits) == expected


_NUMBERS = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)*|[.,]\d+)(?:[eE][-+]?\d+)?")
_CLOCKS = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")


def numbers_in(text: str) -> set[float]:
    """Every number that a text prints, under any reading of its commas, and its clocks in seconds."""
    found: set[float] = set()
    for token in _NUMBERS.findall(text):
        token = token.rstrip(",")
        for spelled in {token, token.replace(",", "."), token.replace(",", "")}:
            for part in {spelled, spelled.lstrip("+-")}:
                try:
                    found.add(float(part))
                except ValueError:
                    continue
    for days, hours, minutes, seconds in _CLOCKS.findall(text):
        found.add(round(int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(seconds), 6))
    return found


def invented(metrics: dict[str, float | None], text: str) -> dict[str, float]:
    """Metrics whose value the text does not print."""
    numbers = numbers_in(text)
    lower = text.lower()
    bad = {}
    for name, value in metrics.items():
        if value is None:
            continue
        shown = ("nan" if math.isnan(value) else "inf") in lower if not math.isfinite(value) else value in numbers
        if not shown:
            bad[name] = value
    return bad

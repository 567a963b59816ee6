"""A stored `report.json`, read as a baseline. Pure: it takes text and gives numbers, or a reason why not.

What is trusted: nothing but the shape. Whoever may write the bucket `jobs-artifacts` may write such a file: the
launch token's owner and the members of its organisation; a Job that was handed the launch token; a Job that mounts the
bucket for writing (`volumes: hf://buckets/OWNER/jobs-artifacts:/out:rw`). A fork's pull request can do none of it: it
gets no token. So a baseline is as good as the people who may push to the repository and start Jobs, which are those
who could change the gate as well. The text is bounded, parsed as JSON only, and every name in it is printed as
untrusted text, like any name that a log holds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hf_train.collect.values import json_float, nesting
from hf_train.report.schema import VERSION

MAX_CHARS = 4 << 20
MAX_NAMES = 2000
MAX_NAME = 200
MAX_CURVES = 100
MAX_POINTS = 500

Curve = Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """One earlier run.

    Attributes:
        metrics: Its finite numbers.
        curve: Its curves, name -> (step, value) points.
        job: Id of its Job, empty when it has none.
        run: Id of its workflow run, 0 outside GitHub.
        pull: Number of its pull request, None outside one.
        key: Key of its comment: workflow / job / matrix leg.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    curve: Curve = field(default_factory=dict)
    job: str = ""
    run: int = 0
    pull: int | None = None
    key: str = ""


def read_stored(text: str) -> Stored | str:
    """Read one.

    Returns:
        The run, or in words why this is no report that can be read.
    """
    document = _document(text)
    if isinstance(document, str):
        return document
    version = document.get("schema")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        return f"its schema is {str(version)[:40]!r}, and not one that this version reads (1 to {VERSION})"
    metrics = document.get("metrics")
    if not isinstance(metrics, dict):
        return "it has no metrics"
    finite = dict(_numbers(metrics))
    run = re.search(r"/actions/runs/(\d{1,18})$", _text(document.get("run-url")))
    pull = document.get("pull")
    return Stored(
        metrics=finite,
        curve=dict(_curves(document.get("curve"))),
        job=_text(document.get("job-id")),
        run=int(run[1]) if run else 0,
        pull=pull if isinstance(pull, int) else None,
        key=_text(document.get("comment-key")),
    )


def looks_stored(text: str) -> bool:
    """Whether this is a report of ours, and not a flat file of metrics."""
    document = _document(text)
    return isinstance(document, dict) and "schema" in document and isinstance(document.get("metrics"), dict)


def _document(text: str) -> dict[str, Any] | str:
    if len(text) > MAX_CHARS:
        return f"it is larger than {MAX_CHARS >> 20} MB"
    if nesting(text) > 64:
        return "it is nested too deeply"
    try:
        document = json.loads(text, parse_float=json_float)
    except (ValueError, RecursionError):
        return "it is not JSON"
    return document if isinstance(document, dict) else "it is not a JSON object"


def _numbers(metrics: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, value in list(metrics.items())[:MAX_NAMES]:
        number = _finite(value)
        if number is not None and len(name) <= MAX_NAME:
            yield name, number


def _curves(curves: object) -> Iterator[tuple[str, tuple[tuple[float, float], ...]]]:
    if not isinstance(curves, dict):
        return
    for name, points in list(curves.items())[:MAX_CURVES]:
        if isinstance(points, list) and len(name) <= MAX_NAME:
            found = tuple(_points(points))
            if found:
                yield name, found


def _points(points: list[object]) -> Iterator[tuple[float, float]]:
    for point in points[:MAX_POINTS]:
        if isinstance(point, list) and len(point) == 2:
            step, value = _finite(point[0]), _finite(point[1])
            if step is not None and value is not None:
                yield step, value


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: object) -> str:
    return value[:300] if isinstance(value, str) else ""

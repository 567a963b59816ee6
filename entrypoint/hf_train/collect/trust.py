"""Which number to believe when several places tell it. The order is that of reference §2.3.

NaN comes first (fact 4): when any source shows that the run diverged, a finite ``train_loss`` is an average over
filtered values, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hf_train.collect.divergence import diverged

_RESULTS = ("all_results.json", "trainer_state.json", "eval_results.json", "train_results.json")
CHECKPOINT = "checkpoint"
"""Kind of what a checkpoint in the output folder says: older than the log, but better than nothing."""


def in_output(kind: str) -> str:
    """The kind of the same file in the output folder, which no commit stands behind."""
    return f"{kind} (output)"


ORDER = (
    "metrics-file",
    *_RESULTS,
    *map(in_output, _RESULTS),
    "model-index",
    "tensorboard",
    "log",
    CHECKPOINT,
    "tracker",
)
"""Kinds of sources, the most trusted first."""

_LABELS = {"log": "the log"}
FAKE = "the run diverged: this average leaves out the steps that were NaN"


@dataclass(frozen=True)
class Source:
    """Numbers from one place.

    Attributes:
        kind: One of `ORDER`; anything else is trusted least.
        metrics: Name to value.
        step: Step that the values belong to, when one is known.
        name: How the report names the place; default the kind.
    """

    kind: str
    metrics: Mapping[str, float | None]
    step: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class Metric:
    """One number with where it comes from.

    Attributes:
        name: The Trainer's name where one is known (``eval_loss``, not ``eval/loss``).
        value: The value; ``nan`` and ``inf`` as floats, None when only null was written.
        source: Where it was read.
        step: Step it belongs to, or None.
        problems: What is odd about it (another source disagrees, the run diverged).
    """

    name: str
    value: float | None
    source: str
    step: int | None = None
    problems: tuple[str, ...] = field(default=())


def canonical(name: str, kind: str) -> str:
    """The common name of a metric: trackers write ``eval/loss`` for ``eval_loss`` and ``train/loss`` for ``loss``."""
    if kind in {"tensorboard", "tracker"}:
        if name.startswith("eval/"):
            return "eval_" + name[5:]
        if name.startswith("train/"):
            return name[6:]
    return name


def merge(sources: Sequence[Source]) -> tuple[Metric, ...]:
    """Choose the most trusted value of every metric.

    Args:
        sources: In any order; of two of the same kind the earlier one holds.

    Returns:
        One entry per name, in order of trust and of appearance; disagreement beyond rounding is told in `problems`.
    """
    ranked = sorted(sources, key=lambda source: ORDER.index(source.kind) if source.kind in ORDER else len(ORDER))
    chosen: dict[str, tuple[Source, float | None]] = {}
    others: dict[str, list[tuple[Source, float | None]]] = {}
    for source in ranked:
        for name, value in source.metrics.items():
            key = canonical(name, source.kind)
            if key not in chosen or chosen[key][1] is None:
                chosen[key] = (source, value)
            elif value is not None:
                others.setdefault(key, []).append((source, value))
    bad = any(diverged(source.metrics) for source in sources)
    metrics = []
    for name, (source, value) in chosen.items():
        clock = name.endswith(("_runtime", "_per_second"))  # measured anew each time it is printed
        problems = [] if clock else _disagreements(value, others.get(name, []))
        if bad and name == "train_loss" and value is not None and math.isfinite(value):
            problems.append(FAKE)
        metrics.append(Metric(name, value, source.name or source.kind, source.step, tuple(problems)))
    return tuple(metrics)


def agree(left: float, right: float) -> bool:
    """Whether two printed numbers may be the same value, written with different precision.

    The one with fewer digits says how precise the comparison can be: half a unit of its last digit, or a whole unit
    when it was cut and not rounded. Libraries print three significant digits, or four decimals, or more, without zeros.
    """
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if math.isinf(left) or math.isinf(right) or left == right:
        return left == right
    size = min(abs(value) for value in (left, right) if value)
    coarse, fine = (left, right) if _unit(left, size) >= _unit(right, size) else (right, left)
    unit = _unit(coarse, size)
    cut = abs(fine) - abs(coarse)
    return abs(fine - coarse) <= unit * 0.50001 or (coarse * fine > 0 and 0 <= cut < unit)


def _unit(value: float, size: float) -> float:
    """One unit of the last digit that was surely meant when a value of about this size was written."""
    if value == 0:
        return 1e-4
    mantissa, _, exponent = repr(abs(float(value))).partition("e")
    whole, _, decimals = mantissa.partition(".")
    decimals = decimals.rstrip("0")
    places = len(decimals) - int(exponent or 0)
    if places >= 3:
        return float(10.0**-places)
    digits = len((whole + decimals).strip("0"))
    return float(10.0 ** (math.floor(math.log10(size)) - max(digits, 3) + 1))


def _disagreements(value: float | None, others: Sequence[tuple[Source, float | None]]) -> list[str]:
    if value is None:
        return []
    return [
        f"{_LABELS.get(source.kind, source.name or source.kind)} says {other:g}"
        for source, other in others
        if other is not None and not agree(value, other)
    ]

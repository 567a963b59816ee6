"""This run beside the baseline: deltas with a direction, and the gate line by line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hf_train.judge.directions import Direction, direction
from hf_train.judge.gate import Judged
from hf_train.report.words import DASH, code, number

_SIGNS = {"pass": "✅", "fail": "❌", "unknown": "❓"}


def delta(name: str, value: float, base: float | None, given: Mapping[str, Direction] | None = None) -> str:
    """`+0.012 🟢`: the difference, and whether that is the good way.

    Args:
        name: Name of the metric.
        value: This run's.
        base: The baseline's, None when it has none.
        given: Directions that the user marked; the others are known by name, or not at all.
    """
    if base is None or not math.isfinite(value):
        return DASH
    difference = value - base
    if difference == 0:
        return "0"
    text = f"{'+' if difference > 0 else ''}{number(difference)}"
    way = direction(name, given)
    if not way:
        return text
    return f"{text} {'🟢' if (difference > 0) == (way == 'higher') else '🔴'}"


def gate_lines(judged: Sequence[Judged]) -> list[str]:
    """One line per condition."""
    return [f"- {_SIGNS[one.judgement]} {code(one.condition.text, 120)} {_evidence(one)}".rstrip() for one in judged]


def _evidence(one: Judged) -> str:
    if one.judgement == "unknown":
        return f"not known: {code(one.why, 200)}"
    why = f"; {code(one.why, 200)}" if one.why else ""
    if one.value is None or one.bound is None:
        return code(one.why, 200)
    return f"({number(one.value)} against {number(one.bound)}{why})"

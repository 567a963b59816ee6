"""Gates: conditions on metrics, judged against numbers or against a baseline. Pure.

A condition is one line: `eval_accuracy >= 0.85`, `eval_loss <= baseline + 2%`,
`eval_f1 >= baseline - 0.005 over 3 runs`.
What is not known (no such metric, NaN, no baseline) is `unknown`: never a pass.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Judgement = Literal["pass", "fail", "unknown"]
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_LINE = re.compile(
    rf"""(?P<metric>[A-Za-z_][\w./@()-]*(?:[ ][\w()]+)*?)\s*(?P<op>>=|<=|>|<)\s*
    (?:(?P<number>[+-]?{_NUMBER})|baseline(?:\s*(?P<sign>[+-])\s*(?P<margin>{_NUMBER})(?P<percent>\s*%)?)?)
    (?:\s+over\s+(?P<runs>\d+)\s+runs?)?""",
    re.VERBOSE,
)
MAX_RUNS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One line of a gate.

    Attributes:
        text: As the user wrote it.
        metric: Name of the metric.
        op: `>=`, `<=`, `>` or `<`.
        number: The bound, or None when it is the baseline.
        margin: What is added to the baseline, in the metric's unit or as a fraction of the baseline's size.
        relative: Whether `margin` is such a fraction.
        runs: The baseline is the median of so many earlier runs.
    """

    text: str
    metric: str
    op: str
    number: float | None = None
    margin: float = 0.0
    relative: bool = False
    runs: int = 1

    @property
    def wants_baseline(self) -> bool:
        """Whether it compares with earlier runs."""
        return self.number is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A condition with its verdict.

    Attributes:
        condition: The condition.
        judgement: `pass`, `fail` or `unknown`.
        value: The metric's value, None when there is none.
        bound: What it was compared with, None when there is nothing.
        why: Why it is not a pass, in words.
    """

    condition: Condition
    judgement: Judgement
    value: float | None = None
    bound: float | None = None
    why: str = ""


def parse_condition(text: str) -> Condition:
    """Read one line.

    Raises:
        ValueError: With a sentence that shows what would be right.
    """
    match = _LINE.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is not a condition; write for instance: eval_loss <= baseline + 2%"
        raise ValueError(message)
    runs = int(match["runs"] or 1)
    if not 1 <= runs <= MAX_RUNS:
        message = f"{text!r}: over 1 to {MAX_RUNS} runs"
        raise ValueError(message)
    if match["number"] is not None and match["runs"]:
        message = f"{text!r}: 'over N runs' needs 'baseline'"
        raise ValueError(message)
    margin = float(match["margin"] or 0.0) * (-1 if match["sign"] == "-" else 1)
    return Condition(
        text=text.strip(),
        metric=match["metric"],
        op=match["op"],
        number=None if match["number"] is None else float(match["number"]),
        margin=margin / 100 if match["percent"] else margin,
        relative=bool(match["percent"]),
        runs=runs,
    )


def judge(condition: Condition, metrics: Mapping[str, float], earlier: Sequence[Mapping[str, float]]) -> Judged:
    """Judge one condition.

    Args:
        condition: The condition.
        metrics: This run's metrics.
        earlier: Metrics of earlier runs, the baseline first.
    """
    value = metrics.get(condition.metric)
    if value is None:
        return Judged(condition=condition, judgement="unknown", why=f"this run has no {condition.metric}")
    if not math.isfinite(value):
        return Judged(condition=condition, judgement="unknown", value=value, why=f"{condition.metric} is {value}")
    bound, why = _bound(condition, earlier)
    if bound is None:
        return Judged(condition=condition, judgement="unknown", value=value, why=why)
    holds = _OPERATORS[condition.op](value, bound)
    return Judged(condition=condition, judgement="pass" if holds else "fail", value=value, bound=bound)


def overall(judged: Sequence[Judged]) -> Literal["pass", "fail", "unknown", "none"]:
    """The worst of all: one failure fails, one unknown is unknown, nothing to judge is none."""
    if not judged:
        return "none"
    kinds = {one.judgement for one in judged}
    return "fail" if "fail" in kinds else "unknown" if "unknown" in kinds else "pass"


def _bound(condition: Condition, earlier: Sequence[Mapping[str, float]]) -> tuple[float | None, str]:
    if condition.number is not None:
        return condition.number, ""
    values = [run[condition.metric] for run in earlier if math.isfinite(run.get(condition.metric, math.nan))]
    if len(values) < condition.runs:
        have = f"{len(values)} of {condition.runs} earlier runs have" if condition.runs > 1 else "no earlier run has"
        return None, f"{have} {condition.metric}"
    base = median(values[: condition.runs])
    return base + (abs(base) * condition.margin if condition.relative else condition.margin), ""

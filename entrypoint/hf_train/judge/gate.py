"""Gates: conditions on metrics, judged against numbers or against a baseline. Pure. The rules for users: docs/gate.md.

A condition is one line: `eval_accuracy >= 0.85`, `eval_loss <= baseline + 2%`,
`eval_f1 >= baseline - 0.005 over 5 runs`, `my_score:lower <= baseline`.
What is not known (no such metric, NaN, no baseline) is `unknown`: never a pass.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hf_train.judge.directions import Direction, direction
from hf_train.judge.noise import Band, band_of

Judgement = Literal["pass", "fail", "unknown"]
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_LINE = re.compile(
    rf"""(?P<metric>[A-Za-z_][\w./@()-]*(?:[ ][\w()]+)*?)(?:\s*:\s*(?P<way>higher|lower))?\s*(?P<op>>=|<=|>|<)\s*
    (?:(?P<number>[+-]?{_NUMBER})|baseline(?:\s*(?P<sign>[+-])\s*(?P<margin>{_NUMBER})(?P<percent>\s*%)?)?)
    (?:\s+over\s+(?P<runs>\d{{1,6}})\s+runs?)?""",
    re.VERBOSE,
)
MAX_RUNS = 20
DIVERGED = "the run diverged (NaN or infinite loss)"


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
        runs: The baseline is the median of so many earlier runs, and what they span is noise.
        way: The direction that the line itself states, None when it states none.
    """

    text: str
    metric: str
    op: str
    number: float | None = None
    margin: float = 0.0
    relative: bool = False
    runs: int = 1
    way: Direction | None = None

    @property
    def wants_baseline(self) -> bool:
        """Whether it compares with earlier runs."""
        return self.number is None

    @property
    def upward(self) -> bool:
        """Whether it asks for a value that is not too low."""
        return self.op in {">=", ">"}

    @property
    def demands(self) -> bool:
        """Whether it asks for more than not being worse: beyond the baseline, and so beyond its noise."""
        ahead = self.margin if self.upward else -self.margin
        return ahead > 0 or (ahead == 0 and self.op in {">", "<"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A condition with its verdict.

    Attributes:
        condition: The condition.
        judgement: `pass`, `fail` or `unknown`.
        value: The metric's value, None when there is none.
        bound: What it was compared with, None when there is nothing.
        why: Why it is not a pass, or what it rests on when it is one (noise), in words.
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
    margin = float(match["margin"] or 0.0) * (-1 if match["sign"] == "-" else 1)
    if problem := _nonsense(match, runs, margin):
        message = f"{text!r}: {problem}"
        raise ValueError(message)
    return Condition(
        text=text.strip(),
        metric=match["metric"],
        op=match["op"],
        number=None if match["number"] is None else float(match["number"]),
        margin=margin / 100 if match["percent"] else margin,
        relative=bool(match["percent"]),
        runs=runs,
        way="higher" if match["way"] == "higher" else "lower" if match["way"] else None,
    )


def _nonsense(match: re.Match[str], runs: int, margin: float) -> str:
    if not 1 <= runs <= MAX_RUNS:
        return f"over 1 to {MAX_RUNS} runs"
    if match["number"] is not None and match["runs"]:
        return "'over N runs' needs 'baseline'"
    if not math.isfinite(margin) or not math.isfinite(float(match["number"] or 0)):
        return "this condition has a number that is too large to compare with"
    if match["percent"] and margin <= -100:
        return "this condition allows a loss of 100% or more, which is no bound; write a smaller margin"
    return ""


def contradictions(conditions: Sequence[Condition], given: Mapping[str, Direction]) -> list[str]:
    """What is wrong with the conditions when they are seen side by side with the directions.

    A bound on the bad side only (`eval_loss >= baseline`, `accuracy <= 0.9`) passes the worse a run is, which nobody
    means. It is taken when another line bounds the good side too (the two are a band), or the direction is given.

    Args:
        conditions: All lines of the gate.
        given: Directions that the user gave.
    """
    problems = []
    for one in conditions:
        way = direction(one.metric, given)
        if way is None or one.upward == (way == "higher"):
            continue
        if any(other.metric == one.metric and other.upward != one.upward for other in conditions):
            continue
        right, other_way = ("<=", "higher") if way == "lower" else (">=", "lower")
        problems.append(
            f"{one.text!r} would pass the worse the run is: {way} is better for {one.metric}. Write {right}; or "
            f"{one.metric}:{other_way} if {other_way} is better; or bound it with a second line of {right}"
        )
    return problems


def judge(condition: Condition, metrics: Mapping[str, float], earlier: Sequence[Mapping[str, float]]) -> Judged:
    """Judge one condition.

    Args:
        condition: The condition.
        metrics: This run's metrics.
        earlier: Metrics of earlier runs, the baseline first.
    """
    name = condition.metric
    value = metrics.get(name)
    if value is None:
        why = f"this run has no {name}{_meant(name, metrics)}"
        return Judged(condition=condition, judgement="unknown", why=why)
    if not math.isfinite(value):
        return Judged(condition=condition, judgement="unknown", value=value, why=f"{name} is {value}")
    if condition.number is not None:
        return _against(condition, value, condition.number, None)
    values = [run[name] for run in earlier if math.isfinite(run.get(name, math.nan))]
    if len(values) < condition.runs:
        return Judged(condition=condition, judgement="unknown", value=value, why=_lacking(condition, earlier, values))
    band = band_of(values[: condition.runs])
    if condition.relative and band.centre == 0:
        why = "the baseline is 0, and a percentage of it says nothing; write the margin as a number"
        return Judged(condition=condition, judgement="unknown", value=value, why=why)
    bound = band.centre + (abs(band.centre) * condition.margin if condition.relative else condition.margin)
    if not math.isfinite(bound):
        return Judged(condition=condition, judgement="unknown", value=value, why="the bound is too large a number")
    return _against(condition, value, bound, band if condition.runs > 1 else None)


def judge_all(
    conditions: Sequence[Condition],
    metrics: Mapping[str, float],
    earlier: Sequence[Mapping[str, float]],
    *,
    diverged: bool = False,
) -> tuple[Judged, ...]:
    """Judge all conditions. A run that diverged holds none of them: its other numbers are those of a broken model."""
    judged = [judge(condition, metrics, earlier) for condition in conditions]
    if diverged:
        judged = [replace(one, judgement="fail", why=DIVERGED) for one in judged]
    return tuple(judged)


def overall(judged: Sequence[Judged]) -> Literal["pass", "fail", "unknown", "none"]:
    """The worst of all: one failure fails, one unknown is unknown, nothing to judge is none."""
    if not judged:
        return "none"
    kinds = {one.judgement for one in judged}
    return "fail" if "fail" in kinds else "unknown" if "unknown" in kinds else "pass"


def _against(condition: Condition, value: float, bound: float, band: Band | None) -> Judged:
    """Compare, and take noise into account: it forgives a tolerance, and does not fulfil a demand."""
    holds = _OPERATORS[condition.op](value, bound)
    judged = Judged(condition=condition, judgement="pass" if holds else "fail", value=value, bound=bound)
    if band is None or not band.low <= value <= band.high:
        return judged
    if condition.demands:
        return replace(judged, judgement="unknown", why=f"within noise: {band}") if holds else judged
    return judged if holds else replace(judged, judgement="pass", why=f"within noise: {band}")


def _lacking(condition: Condition, earlier: Sequence[Mapping[str, float]], values: Sequence[float]) -> str:
    name = condition.metric
    if not earlier:
        return "there is no baseline"
    if condition.runs > 1:
        return f"{len(values)} of {condition.runs} earlier runs have {name}"
    return f"the baseline has no {name}{_meant(name, earlier[0])}"


def _meant(name: str, known: Mapping[str, float]) -> str:
    """`; did you mean eval_accuracy?` when a known name is close, in any case of its letters."""
    by_lower = {one.lower(): one for one in known if one != name}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.7)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""

"""Curves that GitHub renders: a Mermaid chart, and one line of blocks for everything else."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import Decimal

from hf_train.report.words import number, one_line

Points = Sequence[tuple[float, float]]
BLOCKS = "▁▂▃▄▅▆▇█"
MAX_POINTS = 40
MAX_VALUE = 1e15
"""Larger numbers are finite and no use on an axis; their differences may not even be finite."""
LOG_FROM = 1000.0
"""From this ratio of the largest value to the smallest a linear axis shows a cliff and a flat line."""
BLUE, GREY = "#2f81f7", "#8c959f"
"""This run and the baseline: Mermaid's own colors are too pale for a white page, these show on a dark one too."""
_INIT = (
    '%%{{init: {{"xyChart": {{"width": 500, "height": 260}}, '
    '"themeVariables": {{"xyChart": {{"backgroundColor": "transparent", "plotColorPalette": "{}"}}}}}}}}%%'
)
"""Small, for a phone scales a chart down with its letters; the page's own background."""
_PREFERRED = ("loss", "eval_loss", "val_loss", "train_loss", "reward")


def main_curve(curve: Mapping[str, Points]) -> tuple[str, tuple[tuple[float, float], ...]] | None:
    """The curve that is worth a chart: a loss with at least three points that can be drawn, ordered by step."""
    usable = {name: drawable(points) for name, points in curve.items()}
    usable = {name: points for name, points in usable.items() if len(points) >= 3}
    longest = sorted(usable, key=lambda name: -len(usable[name]))
    return next(((name, usable[name]) for name in (*_PREFERRED, *longest) if name in usable), None)


def drawable(points: Points) -> tuple[tuple[float, float], ...]:
    """The points that can be drawn, by step; a step that was done again (a restart) counts with its last value."""
    fit = {x: y for x, y in points if abs(x) <= MAX_VALUE and abs(y) <= MAX_VALUE}  # NaN is not <= anything
    return tuple(sorted(fit.items()))


def thin(points: Points, most: int = MAX_POINTS) -> list[tuple[float, float]]:
    """At most so many points, keeping each stretch's extremes, the first and the last."""
    if len(points) <= most:
        return list(points)
    kept = {0, len(points) - 1}
    stretches = max(1, (most - 2) // 2)
    for i in range(stretches):
        low, high = i * len(points) // stretches, (i + 1) * len(points) // stretches
        indexes = range(low, max(high, low + 1))
        kept.add(min(indexes, key=lambda k: points[k][1]))
        kept.add(max(indexes, key=lambda k: points[k][1]))
    return [points[k] for k in sorted(kept)]


def sparkline(points: Points, beside: Points = (), width: int = 32) -> str:
    """Blocks from low to high.

    Args:
        points: What is drawn.
        beside: What else is drawn on the same scale.
        width: Blocks at most.
    """
    whole = [value for _, value in (*points, *beside)]
    values = [value for _, value in thin(points, width)]
    (whole, values), _ = _scaled([whole, values])
    low, high = min(whole), max(whole)
    if high == low:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(7, int((value - low) / (high - low) * 8))] for value in values)


def mermaid(name: str, points: Points, base: Points = ()) -> str:
    """A Mermaid `xychart-beta` of one curve, with the baseline's behind it.

    Its grammar knows no exponents (mermaid 11.17 `xychart.jison`, `NUMBER_WITH_DECIMAL`) and no logarithmic axis, and
    it spreads the values of a line evenly between the ends of the axis (`xychartDb.ts`,
    `transformDataWithoutCategory`), so each curve is brought onto even steps first.

    Args:
        name: The metric.
        points: At least two, ordered by step.
        base: Points of the baseline, ordered by step; drawn when there are two, over the steps of this run.
    """
    first, last = points[0][0], points[-1][0]
    lines = [_even(one, first, last) for one in (base, points) if len(one) >= 2]
    title = re.sub(r"[^A-Za-z0-9_./@ -]", "_", one_line(name, 40))
    lines, logarithmic = _scaled(lines)
    if logarithmic:
        title = f"log10 of {title}"
    low, high = min(map(min, lines)), max(map(max, lines))
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    palette = f"{GREY}, {BLUE}" if len(lines) > 1 else BLUE
    return "\n".join(
        [
            "```mermaid",
            _INIT.format(palette),
            "xychart-beta",
            f'    x-axis "step" {_plain(first)} --> {_plain(max(last, first + 1))}',
            f'    y-axis "{title}" {_plain(low - margin)} --> {_plain(high + margin)}',
            *(f"    line [{', '.join(map(_plain, line))}]" for line in lines),
            "```",
        ]
    )


def _scaled(lines: list[list[float]]) -> tuple[list[list[float]], bool]:
    """The lines as they are, or their logarithms where those show more; and which of the two it is."""
    low, high = min(map(min, lines)), max(map(max, lines))
    if low <= 0 or high / low <= LOG_FROM:
        return lines, False
    return [[math.log10(value) for value in line] for line in lines], True


def _even(points: Points, first: float, last: float) -> list[float]:
    """The values at even steps from first to last.

    Between two points the line is straight; before the first and after the last it is flat. The lowest and the highest
    value stay, at the step that is nearest to theirs.
    """
    steps, values = [x for x, _ in points], [y for _, y in points]
    span, ends = last - first, (steps[0], steps[-1]) == (first, last)
    gap = span / (len(steps) - 1)
    if ends and len(steps) <= MAX_POINTS and all(abs(x - first - gap * i) <= gap / 100 for i, x in enumerate(steps)):
        return values
    grid = [_between(steps, values, first + span * i / (MAX_POINTS - 1)) for i in range(MAX_POINTS)]
    inside = [i for i, x in enumerate(steps) if first < x < last]
    taken = {0, MAX_POINTS - 1}
    for extreme in (min, max):
        if not inside:
            break
        index = extreme(inside, key=values.__getitem__)
        slot = round((steps[index] - first) / span * (MAX_POINTS - 1))
        free = sorted(set(range(MAX_POINTS)) - taken, key=lambda one: abs(one - slot))
        taken.add(free[0])
        grid[free[0]] = extreme(grid[free[0]], values[index])
    return grid


def _between(steps: Sequence[float], values: Sequence[float], x: float) -> float:
    right = bisect_right(steps, x)
    if right in {0, len(steps)}:
        return values[max(0, right - 1)]
    share = (x - steps[right - 1]) / (steps[right] - steps[right - 1])
    return values[right - 1] + (values[right] - values[right - 1]) * share


def _plain(value: float) -> str:
    """Six significant digits, without an exponent, at most 15 after the point."""
    text = f"{value:.6g}"
    if "e" in text:
        text = f"{Decimal(text):.15f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def caption(name: str, points: Points) -> str:
    """First to last value, in words."""
    return f"{one_line(name, 40)} {number(points[0][1])} → {number(points[-1][1])}"

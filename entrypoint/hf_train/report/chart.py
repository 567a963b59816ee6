"""Curves that GitHub renders: a Mermaid chart, and one line of blocks for everything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from hf_train.report.words import number, one_line

BLOCKS = "▁▂▃▄▅▆▇█"
MAX_POINTS = 40
MAX_VALUE = 1e15
"""Larger numbers are finite and no use on an axis; their differences may not even be finite."""
PALETTE = '%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#0969da"}}}}%%'
"""Mermaid's own line is too pale to read on a white page."""
_PREFERRED = ("eval_loss", "val_loss", "loss", "train_loss", "reward")


def main_curve(curve: dict[str, tuple[tuple[float, float], ...]]) -> tuple[str, tuple[tuple[float, float], ...]] | None:
    """The curve that is worth a chart: a loss with at least three points that can be drawn."""
    usable = {
        name: tuple(p for p in points if abs(p[0]) <= MAX_VALUE and abs(p[1]) <= MAX_VALUE)  # NaN is not <= anything
        for name, points in curve.items()
    }
    usable = {name: points for name, points in usable.items() if len(points) >= 3}
    longest = sorted(usable, key=lambda name: -len(usable[name]))
    for name in ("loss", *_PREFERRED, *longest):
        if name in usable:
            return name, usable[name]
    return None


def thin(points: Sequence[tuple[float, float]], most: int = MAX_POINTS) -> list[tuple[float, float]]:
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


def sparkline(points: Sequence[tuple[float, float]]) -> str:
    """Blocks from low to high."""
    values = [value for _, value in thin(points, 32)]
    low, high = min(values), max(values)
    if high == low:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(7, int((value - low) / (high - low) * 8))] for value in values)


def mermaid(name: str, points: Sequence[tuple[float, float]]) -> str:
    """A Mermaid `xychart-beta` of one curve.

    Its grammar knows no exponents (mermaid `xychart.jison`, `NUMBER_WITH_DECIMAL`), and a name may not end its string
    or hold a directive.
    """
    thinned = thin(points)
    values = [value for _, value in thinned]
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    title = re.sub(r"[^A-Za-z0-9_./@ -]", "_", one_line(name, 40))
    # Steps are labels here: Mermaid spaces categories evenly and a numeric axis takes only its two ends.
    first, last = thinned[0][0], thinned[-1][0]
    return "\n".join(
        [
            "```mermaid",
            PALETTE,
            "xychart-beta",
            f'    x-axis "step" {_plain(first)} --> {_plain(max(last, first + 1))}',
            f'    y-axis "{title}" {_plain(low - margin)} --> {_plain(high + margin)}',
            f"    line [{', '.join(map(_plain, values))}]",
            "```",
        ]
    )


def _plain(value: float) -> str:
    """Six significant digits, without an exponent, at most 15 after the point."""
    text = f"{value:.6g}"
    if "e" in text:
        text = f"{Decimal(text):.15f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def caption(name: str, points: Sequence[tuple[float, float]]) -> str:
    """First to last value, in words."""
    return f"{one_line(name, 40)} {number(points[0][1])} → {number(points[-1][1])}"

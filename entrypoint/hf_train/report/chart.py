"""Curves that GitHub renders: a Mermaid chart, and one line of blocks for everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hf_train.report.words import number, one_line

BLOCKS = "▁▂▃▄▅▆▇█"
MAX_POINTS = 40
PALETTE = '%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#0969da"}}}}%%'
"""Mermaid's own line is too pale to read on a white page."""
_PREFERRED = ("eval_loss", "val_loss", "loss", "train_loss", "reward")


def main_curve(curve: dict[str, tuple[tuple[float, float], ...]]) -> tuple[str, tuple[tuple[float, float], ...]] | None:
    """The curve that is worth a chart: a loss with at least three finite points."""
    usable = {name: tuple(p for p in points if math.isfinite(p[1])) for name, points in curve.items()}
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
    """A Mermaid `xychart-beta` of one curve."""
    thinned = thin(points)
    values = [value for _, value in thinned]
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    title = one_line(name, 40).replace('"', "'")
    # Steps are labels here: Mermaid spaces categories evenly and a numeric axis takes only its two ends.
    first, last = thinned[0][0], thinned[-1][0]
    return "\n".join(
        [
            "```mermaid",
            PALETTE,
            "xychart-beta",
            f'    x-axis "step" {first:g} --> {max(last, first + 1):g}',
            f'    y-axis "{title}" {low - margin:.6g} --> {high + margin:.6g}',
            f"    line [{', '.join(f'{value:.6g}' for value in values)}]",
            "```",
        ]
    )


def caption(name: str, points: Sequence[tuple[float, float]]) -> str:
    """First to last value, in words."""
    return f"{one_line(name, 40)} {number(points[0][1])} → {number(points[-1][1])}"

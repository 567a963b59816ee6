"""Curves in constant memory: thinned while they stream, with every minimum and maximum kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

MAX_POINTS = 500
MAX_CURVES = 64

Point = tuple[float, float]


def thin(points: Sequence[Point], limit: int) -> list[Point]:
    """Reduce a curve, keeping first, last, and the extremes of every stretch (so also the global ones).

    Args:
        points: ``(step, value)`` in order of time.
        limit: Most points to return, at least 4.

    Returns:
        At most `limit` of the points, in the same order.
    """
    if len(points) <= limit:
        return list(points)
    inner = points[1:-1]
    buckets = (limit - 2) // 2
    kept = [points[0]]
    for index in range(buckets):
        part = inner[len(inner) * index // buckets : len(inner) * (index + 1) // buckets]
        if not part:
            continue
        low = min(range(len(part)), key=lambda at: part[at][1])
        high = max(range(len(part)), key=lambda at: part[at][1])
        kept += [part[at] for at in sorted({low, high})]
    kept.append(points[-1])
    return kept


class Curves:
    """The curves of all metrics of one log. Not-a-number and infinity are no points of a curve."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str], list[Point]] = {}
        self._count: dict[str, int] = {}

    def add(self, name: str, axis: str, x: float, value: float) -> None:
        """Add a point.

        Args:
            name: The metric.
            axis: What `x` counts: ``step``, ``epoch`` or ``index`` (then `x` is ignored and counted here).
            x: Position.
            value: Value; dropped when it is not finite.
        """
        if not math.isfinite(value) or not math.isfinite(x):
            return
        key = (name, axis)
        points = self._points.get(key)
        if points is None:
            if len(self._points) >= MAX_CURVES:
                return
            points = self._points[key] = []
        if axis == "index":
            x = self._count[name] = self._count.get(name, 0) + 1
        points.append((x, value))
        if len(points) >= 4 * MAX_POINTS:
            points[:] = thin(points, MAX_POINTS)

    def finish(self, steps_per_epoch: float | None) -> Mapping[str, tuple[Point, ...]]:
        """All curves, each with at most `MAX_POINTS` points, over steps where steps can be told.

        Args:
            steps_per_epoch: Turns the epoch axis into steps; None leaves epochs.
        """
        best: dict[str, tuple[str, list[Point]]] = {}
        for (name, axis), points in self._points.items():
            if name not in best or len(points) > len(best[name][1]):
                best[name] = (axis, points)
        curves: dict[str, tuple[Point, ...]] = {}
        for name, (axis, points) in best.items():
            kept = thin(points, MAX_POINTS)
            if axis == "epoch" and steps_per_epoch:
                kept = [(float(round(x * steps_per_epoch)), value) for x, value in kept]
            curves[name] = tuple(kept)
        return curves

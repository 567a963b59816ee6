"""Curves in constant memory: thinned while they stream, with every minimum and maximum kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter

MAX_POINTS = 500
MAX_CURVES = 64

_BUFFER = 4 * MAX_POINTS

Point = tuple[float, float]
_VALUE = itemgetter(1)


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
        low, high = part.index(min(part, key=_VALUE)), part.index(max(part, key=_VALUE))
        kept += [part[low]] if low == high else [part[min(low, high)], part[max(low, high)]]
    kept.append(points[-1])
    return kept


class Series:
    """One curve while it streams."""

    __slots__ = ("count", "points")

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.count = 0

    def add(self, x: float | None, value: float) -> None:
        """Add a point with finite `value`; without `x` it is counted."""
        self.count += 1
        points = self.points
        points.append((float(self.count) if x is None else x, value))
        if len(points) >= _BUFFER:
            points[:] = thin(points, MAX_POINTS)


class Curves:
    """The curves of all metrics of one log. Not-a-number and infinity are no points of a curve."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], Series] = {}

    def series(self, name: str, axis: str) -> Series | None:
        """The curve of a metric over an axis (``step``, ``epoch`` or ``index``), or None when there are too many."""
        series = self._series.get((name, axis))
        if series is None and len(self._series) < MAX_CURVES:
            series = self._series[name, axis] = Series()
        return series

    def add(self, name: str, x: float, value: float) -> None:
        """Add a point over steps; dropped when it is not finite."""
        series = self.series(name, "step") if math.isfinite(value) and math.isfinite(x) else None
        if series is not None:
            series.add(x, value)

    def finish(self, steps_per_epoch: float | None) -> Mapping[str, tuple[Point, ...]]:
        """All curves, each with at most `MAX_POINTS` points, over steps where steps can be told.

        Args:
            steps_per_epoch: Turns the epoch axis into steps; None leaves epochs.
        """
        best: dict[str, tuple[str, Series]] = {}
        for (name, axis), series in self._series.items():
            if series.points and (name not in best or series.count > best[name][1].count):
                best[name] = (axis, series)
        curves: dict[str, tuple[Point, ...]] = {}
        for name, (axis, series) in best.items():
            kept = thin(series.points, MAX_POINTS)
            if axis == "epoch" and steps_per_epoch:
                kept = [(float(round(x * steps_per_epoch)), value) for x, value in kept]
            curves[name] = tuple(kept)
        return curves

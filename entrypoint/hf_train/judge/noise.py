"""How far runs of the same code lie apart: the noise band of a few earlier runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

OUTLIER = 3 * 1.4826
"""In median absolute deviations; 1.4826 of them are one standard deviation of a normal distribution."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """What the earlier runs span.

    Attributes:
        centre: Their median.
        low: The lowest of those that are no outliers.
        high: The highest of those.
        kept: How many are no outliers.
        runs: How many there are.
    """

    centre: float
    low: float
    high: float
    kept: int
    runs: int

    def __str__(self) -> str:
        left_out = f", {self.runs - self.kept} outlier(s) left out" if self.kept < self.runs else ""
        return f"the {self.runs} earlier runs span {self.low:.4g} to {self.high:.4g}{left_out}"


def band_of(values: Sequence[float]) -> Band:
    """The band of some earlier runs.

    It is their range, because that needs no assumption about a distribution: one more run of the same kind lies below
    all of N earlier ones with a probability of 1/(N+1). Values farther from the median than three standard deviations
    (estimated by the median absolute deviation) are left out first, so that one broken run widens nothing.

    Args:
        values: Finite numbers, at least one.
    """
    centre = median(values)
    spread = median(abs(value - centre) for value in values)
    kept = [value for value in values if abs(value - centre) <= OUTLIER * spread]
    return Band(centre=centre, low=min(kept), high=max(kept), kept=len(kept), runs=len(values))

"""The houses: read from a CSV file, or drawn for it.

Draw them with: python -m houses.data > data/houses.csv
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEATURES = ("area_m2", "rooms", "age_years", "distance_km", "garden_m2")
PRICE = "price_k"


@dataclass(frozen=True)
class Split:
    """Rows to learn from, or to test with.

    Attributes:
        features: One row per house, one column per feature.
        prices: In thousands.
    """

    features: Array
    prices: Array


def read(path: Path) -> tuple[Split, Split]:
    """Rows to train and to test with: every fifth one is for the test.

    Raises:
        KeyError: A column is missing.
        ValueError: A cell is no number.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    features = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    prices = np.array([float(row[PRICE]) for row in rows])
    test = np.arange(len(rows)) % 5 == 0
    return Split(features[~test], prices[~test]), Split(features[test], prices[test])


def draw(count: int = 400, seed: int = 3) -> None:
    """Print houses whose price follows from their numbers, and some luck."""
    rng = np.random.default_rng(seed)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*FEATURES, PRICE])
    for _ in range(count):
        area, age, distance = rng.uniform(40, 220), rng.uniform(0, 90), rng.uniform(0, 30)
        rooms, garden = max(1, round(area / 28 + rng.normal(0, 0.7))), max(0.0, rng.normal(4 * distance, 30))
        price = 60 + 2.9 * area + 9 * rooms - 0.8 * age - 5.5 * distance + 0.35 * garden + rng.normal(0, 15)
        writer.writerow([round(area), rooms, round(age), round(distance, 1), round(garden), round(price, 1)])


if __name__ == "__main__":
    draw()

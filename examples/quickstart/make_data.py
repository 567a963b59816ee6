"""Draw the data set of this example: 800 little pictures of hand-drawn digits.

The ten digits are strokes on a unit square. Each picture bends the strokes, leans, turns, shrinks and
shifts them, draws them with a pen of its own width on 8 x 8 pixels, and adds noise: enough that a
small network still reads one in twenty wrong, so that a better training shows.

A picture is one row of a CSV file: the digit, then 64 characters, one per pixel from the top left, `0` (paper) to
`f` (ink). The same seed draws the same files, so the files in this folder can be checked against this script.

Run it with: python make_data.py --out .
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SIDE = 8
INK_LEVELS = 15

STROKES: dict[int, list[list[tuple[float, float]]]] = {
    0: [[(0.5, 0.05), (0.2, 0.25), (0.2, 0.75), (0.5, 0.95), (0.8, 0.75), (0.8, 0.25), (0.5, 0.05)]],
    1: [[(0.3, 0.25), (0.55, 0.05), (0.55, 0.95)]],
    2: [[(0.2, 0.25), (0.45, 0.05), (0.8, 0.25), (0.7, 0.5), (0.2, 0.95), (0.8, 0.95)]],
    3: [[(0.2, 0.1), (0.7, 0.1), (0.75, 0.35), (0.45, 0.5), (0.8, 0.7), (0.6, 0.95), (0.2, 0.9)]],
    4: [[(0.6, 0.95), (0.6, 0.05), (0.2, 0.65), (0.85, 0.65)]],
    5: [[(0.75, 0.05), (0.25, 0.05), (0.25, 0.45), (0.65, 0.45), (0.8, 0.7), (0.6, 0.95), (0.2, 0.9)]],
    6: [[(0.7, 0.05), (0.3, 0.4), (0.2, 0.75), (0.5, 0.95), (0.8, 0.75), (0.5, 0.5), (0.25, 0.65)]],
    7: [[(0.2, 0.05), (0.8, 0.05), (0.45, 0.95)]],
    8: [
        [(0.5, 0.05), (0.25, 0.25), (0.75, 0.7), (0.5, 0.95), (0.25, 0.7), (0.75, 0.25), (0.5, 0.05)],
    ],
    9: [[(0.75, 0.35), (0.5, 0.5), (0.2, 0.3), (0.5, 0.05), (0.75, 0.3), (0.7, 0.7), (0.45, 0.95)]],
}


def bend(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Move a stroke as another hand would draw it: jitter, lean, turn, size and place."""
    turn, lean = rng.normal(0.0, 0.13), rng.normal(0.0, 0.18)
    size = rng.uniform(0.7, 1.05, 2)
    rotate = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shear = np.array([[1.0, lean], [0.0, 1.0]])
    centred = points - 0.5 + rng.normal(0.0, 0.04, points.shape)
    moved: FloatArray = (centred * size) @ (rotate @ shear).T + 0.5 + rng.normal(0.0, 0.05, 2)
    return moved


def distance_to_segment(pixels: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """How far each pixel's middle lies from one straight piece of a stroke."""
    along = end - start
    share = np.clip(((pixels - start) @ along) / max(float(along @ along), 1e-9), 0.0, 1.0)
    distance: FloatArray = np.linalg.norm(pixels - (start + share[:, None] * along), axis=1)
    return distance


def draw(digit: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """One picture of a digit: 64 ink levels, 0 to 15."""
    centres = (np.arange(SIDE) + 0.5) / SIDE
    columns, rows = np.meshgrid(centres, centres)
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)
    nearest = np.full(SIDE * SIDE, np.inf)
    for stroke in STROKES[digit]:
        points = bend(np.array(stroke), rng)
        for start, end in pairwise(points):
            nearest = np.minimum(nearest, distance_to_segment(pixels, start, end))
    pen = rng.uniform(0.05, 0.1)
    ink = np.clip(1.0 - np.maximum(nearest - pen, 0.0) / 0.09, 0.0, 1.0) * rng.uniform(0.6, 1.0)
    noisy = np.clip(ink + rng.normal(0.0, 0.06, ink.shape), 0.0, 1.0)
    levels: NDArray[np.int64] = np.rint(noisy * INK_LEVELS).astype(np.int64)
    return levels


def rows(count: int, rng: np.random.Generator) -> list[str]:
    """`count` pictures as CSV rows, each digit equally often, shuffled."""
    digits = rng.permutation(np.arange(count) % 10)
    return [f"{digit},{''.join(f'{level:x}' for level in draw(int(digit), rng))}" for digit in digits]


def main() -> None:
    """Write train.csv and test.csv."""
    parser = argparse.ArgumentParser(description="Draw the digits.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to")
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for name, count in (("train.csv", 600), ("test.csv", 200)):
        (options.out / name).write_text("digit,pixels\n" + "\n".join(rows(count, rng)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

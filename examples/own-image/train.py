"""Learn from three sensors whether a pump will fail: a logistic regression, in plain Python.

It stands for whatever your image holds: another language, a compiled program, a framework that is hard to install. It
knows nothing of a Hub and has no token. It writes files to a folder and prints lines; that folder is on a bucket, and
the step of the workflow publishes it.

Run it with: python train.py --output_dir model
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
from pathlib import Path

SENSORS = ("heat", "noise", "hours")
Row = tuple[tuple[float, ...], int]


def pumps(count: int, rng: random.Random) -> list[Row]:
    """Readings of pumps, and whether each failed within the week."""
    rows = []
    for _ in range(count):
        readings = tuple(rng.gauss(0, 1) for _ in SENSORS)
        heat, noise, hours = readings
        rows.append((readings, int(1.5 * heat + noise + 0.7 * hours + rng.gauss(0, 0.8) > 0.5)))
    return rows


def likely(weights: list[float], readings: tuple[float, ...]) -> float:
    """How likely a pump fails; the last weight is the bias."""
    return 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, (*readings, 1.0), strict=True))))


def loss_of(weights: list[float], rows: list[Row]) -> float:
    """Binary cross entropy."""
    chances = [likely(weights, readings) if failed else 1 - likely(weights, readings) for readings, failed in rows]
    return -sum(math.log(one + 1e-12) for one in chances) / len(rows)


def train(epochs: int, rate: float, rng: random.Random) -> tuple[list[float], dict[str, float]]:
    """Stochastic gradient descent; prints a line per epoch in the words of Transformers' Trainer."""
    rows, unseen = pumps(800, rng), pumps(200, rng)
    weights = [0.0] * (len(SENSORS) + 1)
    metrics: dict[str, float] = {}
    for epoch in range(1, epochs + 1):
        rng.shuffle(rows)
        for readings, failed in rows:
            error = likely(weights, readings) - failed
            weights = [w - rate * error * x for w, x in zip(weights, (*readings, 1.0), strict=True)]
        right = sum((likely(weights, readings) > 0.5) == bool(failed) for readings, failed in unseen)
        metrics = {
            "eval_accuracy": right / len(unseen),
            "eval_loss": round(loss_of(weights, unseen), 4),
            "train_loss": round(loss_of(weights, rows), 4),
        }
        done = {"loss": metrics["train_loss"], "eval_loss": metrics["eval_loss"], "step": epoch * len(rows)}
        print({**done, "epoch": epoch}, flush=True)
    return weights, metrics


def save(path: Path, weights: list[float]) -> None:
    """Write the safetensors format by hand: the header's length, the header as JSON, the numbers."""
    body = struct.pack(f"<{len(weights)}f", *weights)
    tensor = {"dtype": "F32", "shape": [len(weights)], "data_offsets": [0, len(body)]}
    header = json.dumps({"weight": tensor}).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)


def main() -> None:
    """Train and write the model."""
    parser = argparse.ArgumentParser(description="Learn from three sensors whether a pump will fail.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.05, help="the learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, default=Path("model"))
    options = parser.parse_args()
    weights, metrics = train(options.epochs, options.lr, random.Random(options.seed))
    options.output_dir.mkdir(parents=True, exist_ok=True)
    save(options.output_dir / "model.safetensors", weights)
    (options.output_dir / "metrics.json").write_text(json.dumps(metrics) + "\n", encoding="utf-8")
    print(f"::metrics:: {json.dumps(metrics)}", flush=True)


if __name__ == "__main__":
    main()

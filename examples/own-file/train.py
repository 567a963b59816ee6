# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "numpy==2.4.6",
#     "safetensors==0.8.0",
#     "huggingface_hub==2.4.0",
# ]
# ///
"""Train a small network to tell two moons apart: one file, whose header says what it needs.

uv reads the header and installs that, so there is no image to build and no requirements file to send. The data are
drawn in here. What a report wants is three lines of code: a dict line per epoch (the curve), one `::metrics::` line and
a metrics.json (the table).

Run it with: uv run train.py
On a Job:    the input `script: train.py`
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from huggingface_hub import create_repo, upload_folder
from numpy.typing import NDArray
from safetensors.numpy import save_file

Array = NDArray[np.float32]
Weights = dict[str, Array]


def moons(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points on two half circles that reach into each other, with noise, and which of the two each is on."""
    upper = np.arange(count) % 2
    angle = rng.uniform(0, np.pi, count)
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], axis=1) + rng.normal(0, 0.15, (count, 2))
    return points.astype(np.float32), upper.astype(np.float32)


def start_weights(hidden: int, rng: np.random.Generator) -> Weights:
    """Two layers."""
    return {
        "layer1.weight": rng.standard_normal((2, hidden)).astype(np.float32),
        "layer1.bias": np.zeros(hidden, np.float32),
        "layer2.weight": (rng.standard_normal(hidden) / np.sqrt(hidden)).astype(np.float32),
        "layer2.bias": np.zeros(1, np.float32),
    }


def forward(weights: Weights, points: Array) -> tuple[Array, Array]:
    """The hidden layer, and how likely each point is on the upper moon."""
    hidden = np.tanh(points @ weights["layer1.weight"] + weights["layer1.bias"])
    return hidden, 1 / (1 + np.exp(-(hidden @ weights["layer2.weight"] + weights["layer2.bias"])))


def loss_of(likely: Array, upper: Array) -> float:
    """Binary cross entropy."""
    return float(-np.mean(np.log(np.where(upper == 1, likely, 1 - likely) + 1e-9)))


def step(weights: Weights, points: Array, upper: Array, rate: float) -> float:
    """One step of gradient descent; returns the loss before it."""
    hidden, likely = forward(weights, points)
    error = (likely - upper) / len(upper)
    behind = np.outer(error, weights["layer2.weight"]) * (1 - hidden**2)
    weights["layer2.weight"] -= rate * (hidden.T @ error)
    weights["layer2.bias"] -= rate * error.sum()
    weights["layer1.weight"] -= rate * (points.T @ behind)
    weights["layer1.bias"] -= rate * behind.sum(axis=0)
    return loss_of(likely, upper)


def train(options: argparse.Namespace) -> tuple[Weights, dict[str, float]]:
    """Train, and print a line per epoch in the words of Transformers' Trainer."""
    rng = np.random.default_rng(options.seed)
    (points, upper), (new_points, new_upper) = moons(400, rng), moons(200, rng)
    weights = start_weights(options.hidden, rng)
    batches = np.arange(0, len(points), 20)[1:]
    metrics: dict[str, float] = {}
    for epoch in range(1, options.epochs + 1):
        order = np.array_split(rng.permutation(len(points)), batches.size + 1)
        losses = [step(weights, points[chosen], upper[chosen], options.lr) for chosen in order]
        _, likely = forward(weights, new_points)
        metrics = {
            "eval_accuracy": round(float(np.mean((likely > 0.5) == new_upper)), 4),
            "eval_loss": round(loss_of(likely, new_upper), 4),
            "train_loss": round(float(np.mean(losses)), 4),
        }
        done = {"loss": metrics["train_loss"], "eval_loss": metrics["eval_loss"], "step": epoch * len(order)}
        print({**done, "epoch": epoch}, flush=True)
    return weights, metrics


def main() -> None:
    """Train, write the model, push it when a repo is named."""
    parser = argparse.ArgumentParser(description="Train a small network to tell two moons apart.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.5, help="the learning rate")
    parser.add_argument("--hidden", type=int, default=16, help="units in the hidden layer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, default=Path("moons"))
    parser.add_argument("--hub_model_id", help="the repo to push to")
    options = parser.parse_args()
    if options.hub_model_id:
        create_repo(options.hub_model_id, exist_ok=True)  # first: a bad token fails in the first second
    weights, metrics = train(options)
    options.output_dir.mkdir(parents=True, exist_ok=True)
    save_file(weights, options.output_dir / "model.safetensors")
    (options.output_dir / "metrics.json").write_text(json.dumps(metrics) + "\n", encoding="utf-8")
    print(f"::metrics:: {json.dumps(metrics)}", flush=True)
    if options.hub_model_id:
        upload_folder(repo_id=options.hub_model_id, folder_path=options.output_dir, commit_message="End of training")


if __name__ == "__main__":
    main()

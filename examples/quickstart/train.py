"""Train a small network to read hand-drawn digits: NumPy only, about a second on a CPU.

What a training needs to be reported well by hf-train, and nothing more:

* a dict line per epoch, as Transformers' Trainer prints it, which becomes the curve;
* one `::metrics:: {...}` line and a metrics.json, which become the table of results;
* a push to the Hub whose model card carries the same numbers.

Run it with: python train.py
On a Job:    python train.py --push_to_hub --hub_model_id USER/digits
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Labels = NDArray[np.int64]
Weights = dict[str, Array]

HERE = Path(__file__).resolve().parent
INK_LEVELS = 15  # a pixel is one hexadecimal digit
PIXELS = 64
CLASSES = 10


def read_pictures(path: Path) -> tuple[Array, Labels]:
    """The pixels (0 to 1) and the digits of a CSV file that make_data.py drew.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: A row does not have 64 pixels.
    """
    pixels, digits = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], start=2):
        digit, picture = line.split(",")
        if len(picture) != PIXELS:
            message = f"{path.name}, line {number}: {len(picture)} pixels, expected {PIXELS}"
            raise ValueError(message)
        digits.append(int(digit))
        pixels.append([int(level, 16) for level in picture])
    return np.array(pixels, np.float32) / np.float32(INK_LEVELS), np.array(digits, np.int64)


def start_weights(hidden: int, rng: np.random.Generator) -> Weights:
    """Two layers, started as He et al. (2015) advise for ReLU."""
    return {
        "layer1.weight": (rng.standard_normal((PIXELS, hidden)) * np.sqrt(2 / PIXELS)).astype(np.float32),
        "layer1.bias": np.zeros(hidden, np.float32),
        "layer2.weight": (rng.standard_normal((hidden, CLASSES)) * np.sqrt(2 / hidden)).astype(np.float32),
        "layer2.bias": np.zeros(CLASSES, np.float32),
    }


def forward(weights: Weights, pictures: Array) -> tuple[Array, Array]:
    """The hidden layer and the probability of each digit."""
    hidden = np.maximum(pictures @ weights["layer1.weight"] + weights["layer1.bias"], 0)
    logits = hidden @ weights["layer2.weight"] + weights["layer2.bias"]
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return hidden, exponentials / exponentials.sum(axis=1, keepdims=True)


def cross_entropy(probabilities: Array, digits: Labels) -> float:
    """The mean negative log likelihood."""
    return float(-np.log(probabilities[np.arange(len(digits)), digits] + 1e-12).mean())


def gradients(weights: Weights, pictures: Array, digits: Labels) -> tuple[float, Weights]:
    """The loss of one batch and what each weight adds to it."""
    hidden, probabilities = forward(weights, pictures)
    error = probabilities.copy()
    error[np.arange(len(digits)), digits] -= 1
    error /= len(digits)
    error_hidden = (error @ weights["layer2.weight"].T) * (hidden > 0)
    return cross_entropy(probabilities, digits), {
        "layer1.weight": pictures.T @ error_hidden,
        "layer1.bias": error_hidden.sum(axis=0),
        "layer2.weight": hidden.T @ error,
        "layer2.bias": error.sum(axis=0),
    }


def shifted(pictures: Array, rng: np.random.Generator) -> Array:
    """The same pictures moved by at most one pixel: new training data for nothing."""
    moved = np.pad(pictures.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    down, right = rng.integers(0, 3, 2)
    return moved[:, down : down + 8, right : right + 8].reshape(-1, PIXELS)


def evaluate(weights: Weights, pictures: Array, digits: Labels) -> tuple[float, float]:
    """The loss and the share of digits read right."""
    _, probabilities = forward(weights, pictures)
    return cross_entropy(probabilities, digits), float((probabilities.argmax(axis=1) == digits).mean())


def train(options: argparse.Namespace) -> tuple[Weights, dict[str, float]]:
    """Stochastic gradient descent with momentum and a rate that falls to zero; prints one line per epoch."""
    train_set, test_set = (read_pictures(options.data / name) for name in ("train.csv", "test.csv"))
    rng = np.random.default_rng(options.seed)
    weights = start_weights(options.hidden, rng)
    velocity = {name: np.zeros_like(value) for name, value in weights.items()}
    batches = -(-len(train_set[1]) // options.batch_size)
    total = batches * options.epochs
    metrics: dict[str, float] = {}
    for epoch in range(1, options.epochs + 1):
        losses, rate = [], options.lr
        for batch, chosen in enumerate(np.array_split(rng.permutation(len(train_set[1])), batches)):
            rate = options.lr * (1 - ((epoch - 1) * batches + batch) / total)
            loss, slopes = gradients(weights, shifted(train_set[0][chosen], rng), train_set[1][chosen])
            losses.append(loss)
            for name, slope in slopes.items():
                velocity[name] = 0.9 * velocity[name] - np.float32(rate) * slope
                weights[name] += velocity[name]
        eval_loss, accuracy = evaluate(weights, *test_set)
        metrics = {"eval_accuracy": accuracy, "eval_loss": eval_loss, "train_loss": float(np.mean(losses))}
        if not np.isfinite(metrics["train_loss"]):
            message = f"the loss is {metrics['train_loss']} in epoch {epoch}: the training diverged, lower --lr"
            raise FloatingPointError(message)
        report_epoch(epoch, epoch * batches, rate, metrics)
    return weights, {name: round(value, 4) for name, value in metrics.items()}


def report_epoch(epoch: int, step: int, rate: float, metrics: dict[str, float]) -> None:
    """One line of the log, in the words of Transformers' Trainer."""
    line = {
        "loss": f"{metrics['train_loss']:.4g}",
        "learning_rate": f"{rate:.4g}",
        "eval_loss": f"{metrics['eval_loss']:.4g}",
        "eval_accuracy": f"{metrics['eval_accuracy']:.4g}",
        "step": step,
        "epoch": epoch,
    }
    print(line, flush=True)


def save_safetensors(path: Path, weights: Weights) -> None:
    """Write the safetensors format by hand: the header's length, the header as JSON, the numbers.

    The format's text: https://github.com/huggingface/safetensors (README, "Format").
    """
    header: dict[str, object] = {"__metadata__": {"format": "np"}}
    body = b""
    for name, value in sorted(weights.items()):
        data = np.ascontiguousarray(value, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def model_card(model: str, metrics: dict[str, float], options: argparse.Namespace) -> str:
    """The README.md of the model: front matter that the Hub reads, and the same numbers for people."""
    front_matter = f"""---
license: apache-2.0
library_name: numpy
pipeline_tag: image-classification
tags:
- hf-train
- digits
model-index:
- name: {json.dumps(model)}
  results:
  - task:
      type: image-classification
    dataset:
      name: hand-drawn digits (800 pictures, 8 x 8)
      type: digits
      split: test
    metrics:
    - type: accuracy
      name: eval_accuracy
      value: {metrics["eval_accuracy"]}
    - type: loss
      name: eval_loss
      value: {metrics["eval_loss"]}
---
"""
    return f"""{front_matter}
# {model}

A network with one hidden layer of {options.hidden} units that reads a hand-drawn digit of 8 x 8 pixels. It was trained
for {options.epochs} epochs with a learning rate of {options.lr} and seed {options.seed}.

| metric (200 test pictures) | value |
|---|---|
| accuracy | {metrics["eval_accuracy"]} |
| loss | {metrics["eval_loss"]} |

```python
import numpy as np
from safetensors.numpy import load_file

w = load_file("model.safetensors")  # pixels: 64 numbers from 0 (paper) to 1 (ink)
hidden = np.maximum(pixels @ w["layer1.weight"] + w["layer1.bias"], 0)
digit = (hidden @ w["layer2.weight"] + w["layer2.bias"]).argmax()
```
"""


def push(folder: Path, repo_id: str) -> None:
    """Upload the model folder as one commit and print where it went."""
    from huggingface_hub import upload_folder  # only a push needs the library

    commit = upload_folder(repo_id=repo_id, folder_path=folder, commit_message="End of training")
    print(f"Model pushed to {commit.commit_url}", flush=True)


def claim_repo(repo_id: str) -> str:
    """Make the model's repo before training, so that a bad token fails in the first second.

    Returns:
        The repo's full id, with the namespace of the token when none was given.
    """
    from huggingface_hub import create_repo  # only a push needs the library

    return create_repo(repo_id, exist_ok=True).repo_id


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a small network to read hand-drawn digits.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--lr", type=float, default=0.05, help="the learning rate at the start")
    parser.add_argument("--hidden", type=int, default=64, help="units in the hidden layer")
    parser.add_argument("--batch_size", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=HERE, help="folder of train.csv and test.csv")
    parser.add_argument("--output_dir", type=Path, default=Path("digits"))
    parser.add_argument("--push_to_hub", action="store_true")
    parser.add_argument("--hub_model_id", help="the repo to push to; default: the output folder's name")
    options = parser.parse_args(arguments)
    if options.epochs < 1 or options.batch_size < 1 or options.hidden < 1:
        parser.error("--epochs, --batch_size and --hidden must be at least 1")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Train, write the model, and push it when asked to."""
    options = parse(arguments)
    np.seterr(over="ignore", invalid="ignore")  # a diverged training is told in our own words
    name = options.hub_model_id or options.output_dir.name
    if options.push_to_hub:
        name = claim_repo(name)
    weights, metrics = train(options)
    options.output_dir.mkdir(parents=True, exist_ok=True)
    save_safetensors(options.output_dir / "model.safetensors", weights)
    (options.output_dir / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    (options.output_dir / "README.md").write_text(model_card(name, metrics, options), encoding="utf-8")
    print(f"::metrics:: {json.dumps(metrics)}", flush=True)
    if options.push_to_hub:
        push(options.output_dir, name)


def run() -> None:
    """The program: what the user can mend is one line and exit code 1, not a traceback."""
    try:
        main()
    except (FloatingPointError, FileNotFoundError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    run()

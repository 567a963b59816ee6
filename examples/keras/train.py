# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch==2.13.0",
#     "keras==3.15.1",
#     "pandas==3.1.1",
#     "scikit-learn==1.9.1",
#     "huggingface_hub==2.4.0",
# ]
# ///
"""Train a small network on a table with Keras 3 (on PyTorch), test it, push it with its numbers.

Without arguments it learns the 569 rows of the breast cancer data that scikit-learn brings with it; `--data` names a
CSV file instead, and `--target` its column with the class, 0 or 1. What goes to the Hub is the model as Keras saves it
(`hf://`), the log of the epochs, and metrics.json: the last epoch of `History` and what `evaluate` found.

Run it with: python train.py
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import pandas as pd
from huggingface_hub import HfApi
from keras import layers

Part = tuple[np.ndarray, np.ndarray]


def load_table(path: Path | None, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The features and the class of every row."""
    if path is None:
        from sklearn.datasets import load_breast_cancer

        features, classes = load_breast_cancer(return_X_y=True)
    else:
        table = pd.read_csv(path)
        features, classes = table.drop(columns=target).to_numpy(), table[target].to_numpy()
    return features.astype("float32"), classes.astype("float32")


def split(features: np.ndarray, classes: np.ndarray, seed: int) -> list[Part]:
    """Seven tenths to learn, one and a half to validate, one and a half to test."""
    order = np.random.default_rng(seed).permutation(len(classes))
    bounds = [int(len(order) * share) for share in (0.7, 0.85)]
    return [(features[part], classes[part]) for part in np.split(order, bounds)]


def build(train: Part, units: int, depth: int, dropout: float, learning_rate: float) -> keras.Model:
    """A normalized input, some dense layers, one score."""
    normalize = layers.Normalization()
    normalize.adapt(train[0])
    hidden = [layer for _ in range(depth) for layer in (layers.Dense(units, "relu"), layers.Dropout(dropout))]
    inputs = keras.Input((train[0].shape[1],))
    model = keras.Sequential([inputs, normalize, *hidden, layers.Dense(1, "sigmoid")])
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss="binary_crossentropy",
        metrics=["accuracy", keras.metrics.AUC(name="auc")],
    )
    return model


def push(model: keras.Model, folder: Path, repo_id: str) -> None:
    """One commit of the files of this run, one of Keras with the model."""
    api = HfApi()
    repo = api.create_repo(repo_id, exist_ok=True)
    api.upload_folder(repo_id=repo.repo_id, folder_path=folder, commit_message="Log of the training")
    keras.saving.save_model(model, f"hf://{repo.repo_id}")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Train a network on a table.")
    parser.add_argument("--data", type=Path, help="CSV file; default: scikit-learn's breast cancer data")
    parser.add_argument("--target", default="target", help="its column with the class, 0 or 1")
    parser.add_argument("--units", type=int, default=16)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--learning_rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, default=Path("table"))
    parser.add_argument("--push_to_hub", action="store_true")
    parser.add_argument("--hub_model_id", help="owner/name of the model repository")
    return parser.parse_args()


def main() -> None:
    """Fit, test, save, and push when asked to."""
    options = arguments()
    keras.utils.set_random_seed(options.seed)
    train, validation, test = split(*load_table(options.data, options.target), options.seed)
    model = build(train, options.units, options.depth, options.dropout, options.learning_rate)
    options.output_dir.mkdir(parents=True, exist_ok=True)
    history = model.fit(
        *train,
        validation_data=validation,
        batch_size=options.batch_size,
        epochs=options.epochs,
        callbacks=[keras.callbacks.CSVLogger(options.output_dir / "epochs.csv")],
    )
    # Silent: the bar of evaluate() names its loss "loss", as if it were that of the training.
    tested = model.evaluate(*test, batch_size=options.batch_size, verbose=0, return_dict=True)
    metrics = {name: values[-1] for name, values in history.history.items()}
    metrics |= {f"test_{name}": value for name, value in tested.items()}
    (options.output_dir / "metrics.json").write_text(json.dumps(metrics, indent=2), encoding="utf-8")
    print(" - ".join(f"test_{name}: {value:.4f}" for name, value in tested.items()))
    if options.push_to_hub:
        push(model, options.output_dir, options.hub_model_id)
    else:
        model.save(options.output_dir / "model.keras")


if __name__ == "__main__":
    main()

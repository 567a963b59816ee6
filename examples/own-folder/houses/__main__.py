"""Train it: `python -m houses --data data/houses.csv`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from huggingface_hub import create_repo, upload_folder
from safetensors.numpy import save_file

from houses.data import read
from houses.model import Model


def main() -> None:
    """Train, write the model, push it when a repo is named."""
    parser = argparse.ArgumentParser(prog="python -m houses", description="Learn the prices of houses.")
    parser.add_argument("--data", type=Path, default=Path("data/houses.csv"))
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--lr", type=float, default=0.2, help="the learning rate")
    parser.add_argument("--output_dir", type=Path, default=Path("model"))
    parser.add_argument("--hub_model_id", help="the repo to push to")
    options = parser.parse_args()
    if options.hub_model_id:
        create_repo(options.hub_model_id, exist_ok=True)  # first: a bad token fails in the first second
    train, test = read(options.data)
    model = Model.new(train)
    loss = 0.0
    for epoch, loss in enumerate(model.fit(train, epochs=options.epochs, rate=options.lr), start=1):
        print({"loss": round(loss, 4), "step": epoch, "epoch": epoch}, flush=True)
    metrics = {**model.scores(test), "train_loss": round(loss, 4)}
    options.output_dir.mkdir(parents=True, exist_ok=True)
    save_file(vars(model), options.output_dir / "model.safetensors")
    (options.output_dir / "metrics.json").write_text(json.dumps(metrics) + "\n", encoding="utf-8")
    print(f"::metrics:: {json.dumps(metrics)}", flush=True)
    if options.hub_model_id:
        upload_folder(repo_id=options.hub_model_id, folder_path=options.output_dir, commit_message="End of training")


if __name__ == "__main__":
    main()

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch==2.13.0",
#     "lightning==2.6.6",
#     "torchmetrics==1.9.0",
#     "scikit-learn==1.9.1",
#     "datasets==5.2.0",
#     "pillow==13.0.0",
#     "huggingface_hub==2.4.0",
# ]
# ///
"""Train a small convolutional classifier of images with Lightning, test it, push it with its numbers.

Without arguments it learns the 1,797 handwritten digits (8 by 8 pixels) that scikit-learn brings with it; `--dataset`
names an image data set of the Hub instead, with the columns image and label and the splits train and test. What goes to
the Hub is the model in safetensors (`PyTorchModelHubMixin`), Lightning's own metrics.csv, and metrics.json: the
Trainer's `callback_metrics` at the end of the training and of the test.

Run it with: python train.py --accelerator cpu
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import lightning
import numpy as np
import torch
from huggingface_hub import HfApi, PyTorchModelHubMixin
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy


class ConvNet(nn.Module, PyTorchModelHubMixin, library_name="pytorch", tags=["image-classification"]):
    """Two convolutions and a linear layer; the mixin writes its arguments to config.json."""

    def __init__(self, channels: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(2 * channels * 16, classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


class Classifier(lightning.LightningModule):
    """The network with its loss, its metrics and its optimizer."""

    def __init__(self, channels: int, classes: int, learning_rate: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.learning_rate = learning_rate
        self.net = ConvNet(channels, classes)
        self.loss = nn.CrossEntropyLoss()
        self.accuracy = nn.ModuleDict(
            {stage: MulticlassAccuracy(classes, average="micro") for stage in ("val_", "test_")}
        )

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        images, labels = batch
        loss = self.loss(self.net(images), labels)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor]) -> None:
        self._evaluate(batch, "val_")

    def test_step(self, batch: tuple[Tensor, Tensor]) -> None:
        self._evaluate(batch, "test_")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=self.learning_rate)

    def _evaluate(self, batch: tuple[Tensor, Tensor], stage: str) -> None:
        images, labels = batch
        scores = self.net(images)
        accuracy = self.accuracy[stage]
        accuracy(scores, labels)
        self.log(f"{stage}loss", self.loss(scores, labels), prog_bar=True)
        self.log(f"{stage}acc", accuracy, prog_bar=True)


def digits() -> dict[str, TensorDataset]:
    """Scikit-learn's digits, split in three."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    pixels = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    classes = torch.tensor(labels)
    parts = {"train": slice(0, 1200), "validation": slice(1200, 1500), "test": slice(1500, None)}
    return {name: TensorDataset(pixels[part], classes[part]) for name, part in parts.items()}


def from_the_hub(name: str, size: int) -> dict[str, TensorDataset]:
    """An image data set of the Hub in grey; a tenth of its training split is for validation."""
    from datasets import load_dataset

    data = load_dataset(name)
    parts = data["train"].train_test_split(0.1, seed=0)
    splits = {"train": parts["train"], "validation": parts["test"], "test": data["test"]}
    sets = {}
    for split, rows in splits.items():
        pixels = np.stack([np.asarray(image.convert("L").resize((size, size))) for image in rows["image"]])
        images = torch.tensor(pixels, dtype=torch.float32).unsqueeze(1) / 255
        sets[split] = TensorDataset(images, torch.tensor(rows["label"]))
    return sets


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Train a classifier of images.")
    parser.add_argument("--dataset", help="image data set of the Hub; default: scikit-learn's digits")
    parser.add_argument("--image_size", type=int, default=28, help="pixels; of a data set of the Hub")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--learning_rate", type=float, default=1e-2)
    parser.add_argument("--max_epochs", type=int, default=4)
    parser.add_argument("--accelerator", default="auto")
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--num_workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, default=Path("digits"))
    parser.add_argument("--push_to_hub", action="store_true")
    parser.add_argument("--hub_model_id", help="owner/name of the model repository")
    return parser.parse_args()


def main() -> None:
    """Fit, test, save, and push when asked to."""
    options = arguments()
    lightning.seed_everything(options.seed)
    sets = from_the_hub(options.dataset, options.image_size) if options.dataset else digits()
    loaders = {
        name: DataLoader(part, batch_size=options.batch_size, shuffle=name == "train", num_workers=options.num_workers)
        for name, part in sets.items()
    }
    classes = int(max(part.tensors[1].max() for part in sets.values())) + 1
    logger = CSVLogger(options.output_dir, name="logs")
    trainer = lightning.Trainer(
        max_epochs=options.max_epochs,
        accelerator=options.accelerator,
        precision=options.precision,
        logger=logger,
        log_every_n_steps=5,
        # The default is rich's bar where rich is there, and without a terminal that writes its last frame only.
        callbacks=[TQDMProgressBar(refresh_rate=5)],
    )
    model = Classifier(options.channels, classes, options.learning_rate)
    trainer.fit(model, loaders["train"], loaders["validation"])
    state = dict(trainer.callback_metrics)
    trainer.test(model, loaders["test"])
    state |= trainer.callback_metrics

    out = options.output_dir / "model"
    model.net.save_pretrained(out)
    metrics = {name: float(value) for name, value in state.items()}
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2), encoding="utf-8")
    shutil.copy(Path(logger.log_dir) / "metrics.csv", out)
    if options.push_to_hub and trainer.is_global_zero:
        api = HfApi()
        repo = api.create_repo(options.hub_model_id, exist_ok=True)
        print(api.upload_folder(repo_id=repo.repo_id, folder_path=out, commit_message="End of training"))


if __name__ == "__main__":
    main()

"""Train a tiny language model so that a run that was killed goes on where it was, and ends as if nothing had happened.

Arguments are TrainingArguments. What it takes to be resumable is in `main`: the output lies where it outlives the Job,
checkpoints are written, and `--resume_from_checkpoint` is handed to the Trainer. The Trainer then restores weights,
optimizer, schedule, the order of the data and the state of every random generator (dropout is on).

Run it with: python train.py --output_dir run --max_steps 40 --save_steps 10 --logging_steps 1 --use_cpu
"""

from __future__ import annotations

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments, set_seed

SYMBOLS = 32
LENGTH = 24


class Sequences(Dataset):
    """Sequences that count in steps of one to three, from anywhere: something that can be learned.

    Args:
        count: How many.
        seed: Seed of their own, so that they are the same in every run.
    """

    def __init__(self, count: int, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)
        start = torch.randint(SYMBOLS, (count, 1), generator=random)
        step = torch.randint(1, 4, (count, 1), generator=random)
        self.rows = (start + step * torch.arange(LENGTH)) % SYMBOLS

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[at], "labels": self.rows[at]}


def tiny_model() -> GPT2LMHeadModel:
    """A GPT-2 with 2 layers, 32 wide, and random weights."""
    return GPT2LMHeadModel(GPT2Config(vocab_size=SYMBOLS, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2))


def main() -> None:
    """Train, evaluate, save every result."""
    (arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    set_seed(arguments.seed)
    trainer = Trainer(
        model=tiny_model(), args=arguments, train_dataset=Sequences(400, seed=1), eval_dataset=Sequences(80, seed=2)
    )
    result = trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
    trainer.save_model()
    # The Trainer's own mean is that of the steps of this process; the history has those before a checkpoint as well.
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    trainer.save_metrics("train", {**result.metrics, "train_loss": sum(losses) / len(losses)})
    trainer.save_state()
    trainer.save_metrics("eval", trainer.evaluate())


if __name__ == "__main__":
    main()

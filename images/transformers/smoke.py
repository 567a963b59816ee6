"""What must work in this image: a tiny model takes three steps in the Trainer and is saved."""

from __future__ import annotations

import tempfile

import torch
import transformers
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

config = LlamaConfig(
    vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0
)
rows = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 8, "labels": [[1, 2, 3, 4]] * 8})
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, max_steps=3, report_to="none", use_cpu=not torch.cuda.is_available(), disable_tqdm=True
    )
    trainer = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=rows)
    loss = trainer.train().training_loss
    trainer.save_model(folder)
assert loss > 0
print(f"transformers {transformers.__version__}: three steps, loss {loss:.3f}")

"""What must work in this image: torch computes, accelerate places a model, datasets reads a table."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from datasets import Dataset

model = torch.nn.Linear(2, 1)
rows = Dataset.from_dict({"x": [[0.0, 1.0], [1.0, 0.0]]}).with_format("torch")
prepared = Accelerator(cpu=not torch.cuda.is_available()).prepare(model)
prepared(rows["x"][:].to(next(prepared.parameters()).device)).sum().backward()
assert model.weight.grad is not None
print(f"torch {torch.__version__}, CUDA {torch.version.cuda or 'none'}, {torch.cuda.device_count()} GPU(s)")

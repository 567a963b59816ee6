"""What must work in this image: unsloth loads; on a machine without a GPU only when that is asked for."""

from __future__ import annotations

import os
from importlib.metadata import version

import torch

if not torch.cuda.is_available():
    # The image refuses to train on a CPU by accident; this test does it on purpose.
    os.environ.pop("UNSLOTH_DISABLE_CPU_FALLBACK", None)
from unsloth import FastLanguageModel

assert callable(FastLanguageModel.from_pretrained)
print(f"unsloth {version('unsloth')}, torch {torch.__version__}, CUDA {torch.version.cuda}")

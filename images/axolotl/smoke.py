"""What must work in this image: axolotl loads, reads a config, and its libraries find CUDA's without its entrypoint."""

from __future__ import annotations

from importlib.metadata import version

import axolotl.cli.main
import torch
from axolotl.utils.dict import DictDefault

assert DictDefault({"base_model": "x"}).base_model == "x"
assert callable(axolotl.cli.main.cli)
print(f"axolotl {version('axolotl')}, torch {torch.__version__}, CUDA {torch.version.cuda}")

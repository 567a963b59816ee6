# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "numpy==2.4.6",
#     "huggingface_hub==2.4.0",
# ]
# ///
"""train.py as a uv script: the header above says what it needs, so no image has to be built.

Run it with: uv run train_uv.py
On a Job:    the input `script: train_uv.py`, or `hf jobs uv run` with this folder as a volume
"""

from __future__ import annotations

import sys
from pathlib import Path

# uv starts the script where it lies. When only this file was sent to the Job, train.py and the data lie in the
# folder that the Job works in.
sys.path.insert(1, str(Path.cwd()))

from train import run

if __name__ == "__main__":
    run()

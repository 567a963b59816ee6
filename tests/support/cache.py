"""Where the tests keep what is slow to make (file systems for images, wheels): outside the repository."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """`$HF_TRAIN_CACHE`, else `~/.cache/hf-train-tests`; made when it is missing."""
    named = os.environ.get("HF_TRAIN_CACHE")
    path = Path(named) if named else Path.home() / ".cache" / "hf-train-tests"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def only_one(name: str) -> Iterator[None]:
    """Hold a lock that all test processes of this machine share."""
    with (folder() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

"""Which commands can be started on several nodes, and how: torchrun in front, told the rest by its own variables.

`torchrun` takes each option that it is not given from a variable: `--node-rank` from `PET_NODE_RANK`, and so on
(torch 2.13 `torch/distributed/argparse_util.py`). So a command that has torchrun already stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from hf_train.inputs.words import PYTHON, after_uv

MAX_NODES = 16
ADDRESS = "PET_MASTER_ADDR"
"""Where the first node is; the one variable that only a shell in the Job can set."""
VARIABLES = ("PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE", ADDRESS, "PET_MASTER_PORT", "PET_RDZV_CONF")
RUN = ("-m", "torch.distributed.run")
_OPTION = re.compile(r"-(?:[bBdEiIOPqsSuvx]+|[XW].+)")
_TOLD = re.compile(r"torchrun|torch\.distributed\.run|PET_NODE_RANK")


def spread(words: Sequence[str]) -> tuple[str, ...]:
    """The command behind torchrun; unchanged when it is there already.

    Args:
        words: The command, word by word.

    Raises:
        ValueError: It cannot be put there; the text says what to do.
    """
    if any(_TOLD.search(word) for word in words):
        return _not_alone(tuple(words))
    at = after_uv(words, 2) if tuple(words[:2]) == ("uv", "run") else 0
    name = PurePosixPath(words[at]).name if at < len(words) else ""
    if at and name.endswith(".py"):  # with a program before it, uv does not read the script's header by itself
        return (*words[:at], "--with-requirements", words[at], "python", *RUN, *words[at:])
    end = at + 1
    while end < len(words) and _OPTION.fullmatch(words[end]):
        end += 1
    if not PYTHON.fullmatch(name) or end >= len(words) or (words[end].startswith("-") and words[end] != "-m"):
        message = (
            f"{' '.join(words)[:60]!r} cannot be put behind torchrun; let it start with python and a file (or -m), or "
            "write torchrun into it: its variables (PET_NNODES, PET_NODE_RANK, ...) tell it the rest"
        )
        raise ValueError(message)
    return (*words[:end], *RUN, *words[end:])


def _not_alone(words: tuple[str, ...]) -> tuple[str, ...]:
    if any(re.search(r"(?:^|\s)--standalone(?:\s|$)", word) for word in words):
        message = "--standalone has each node train by itself; leave it out, nodes tells torchrun the rest"
        raise ValueError(message)
    return words

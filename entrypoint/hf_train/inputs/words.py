"""Where the program of a command begins, behind the options of `uv run`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
"""Names of the interpreter."""
_UV_VALUE = re.compile(r"-p|--(?:with|python|extra|group|env-file|project|directory|package|default-index|index).*")
"""Options of `uv run` that take a value (uv 0.13 `uv run --help`)."""


def after_uv(words: Sequence[str], at: int) -> int:
    """Where the command of `uv run` begins; at `-m` where a module is run.

    Args:
        words: The command, word by word.
        at: Where `uv run` ends.
    """
    while at < len(words) and words[at].startswith("-") and words[at] not in {"-m", "--module"}:
        if words[at] == "--":
            return at + 1
        at += 2 if _UV_VALUE.fullmatch(words[at]) and "=" not in words[at] else 1
    return at

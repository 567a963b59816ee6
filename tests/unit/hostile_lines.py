"""Lines that try to command a runner: mutated from the forms that it obeys."""

from __future__ import annotations

import random
from collections.abc import Iterator

from support.runner_oracle import REGISTERED

_HIDING = [
    "\x1b[0m", "\x1b[", "\x1b]8;;x\x07", "\x1b]0;t", "\x1b\\", "\x9b1m", "\x9d", "\x9c", "\x90", "\x00", "\x08", "\x7f",
    "\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066", "\xad", "\u061c", "\ufe0f", "\U000e0041", "\ud800",
    "\x1b",
    "\x1bP", "\x1b(B", "\x1b[31;1", "\u180e",
]  # fmt: skip
_ENDS = ["\r", "\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\r\r", "\n\r"]
_BLANKS = [" ", "\t", "\xa0", "\u2003", "\u3000", "\u1680", "\x1f", ""]
_NAMES = sorted(REGISTERED)
_TEXT = ["loss 0.5", "100%|####|", "#", "##", ":", "::", "[", "]", "x", "é", "😀", "%0A", "##[", "::]"]


def hostile_lines(count: int, seed: int = 0) -> Iterator[str]:
    """So many of them, the same for the same seed."""
    dice = random.Random(seed)
    for _ in range(count):
        name = dice.choice(_NAMES)
        if dice.random() < 0.1:
            name = name.upper()
        command = f"::{name}{dice.choice(['', ' file=a,line=1'])}::data" if dice.random() < 0.5 else f"##[{name}]data"
        parts = list(command)
        for _ in range(dice.randrange(4)):
            parts.insert(dice.randrange(min(len(parts), 6) + 1), dice.choice(_HIDING))
        before = [dice.choice(dice.choice([_TEXT, _BLANKS, _ENDS, _HIDING])) for _ in range(dice.randrange(5))]
        after = [dice.choice(dice.choice([_TEXT, _ENDS, _HIDING])) for _ in range(dice.randrange(3))]
        yield "".join([*before, *parts, *after])

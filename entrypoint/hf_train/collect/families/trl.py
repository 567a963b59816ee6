"""TRL's tables of completions: text that a model wrote. Nothing in them is a metric, a link or an error.

Its dict lines are read by `dicts`, its end lines by `endings`. Source: reference §1.2.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import Ledger

_PANEL = re.compile(r"╭─+ (?:Step \d+|Completions|Prompt)")


class _Completions:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open = False

    def read(self, text: str) -> bool:
        if _PANEL.search(text):
            self._open = True
            return True
        if self._open and "╰─" in text:
            self._open = False
            return True
        return self._open and ("│" in text or "┃" in text)


def _make(ledger: Ledger) -> Read:
    return _Completions(ledger).read


FAMILY = Family("TRL completions", ("╭─", "╰─", "│", "┃"), _make)

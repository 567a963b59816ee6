"""The block with which W&B ends a run: ``wandb: Run summary:`` and one row for each value. Its address: `links`."""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, is_companion, is_result, to_number

_ROW = re.compile(rf"wandb:\s+([A-Za-z_][\w/@.-]{{0,99}}) ({NUMBER}|{SPECIAL})\s*$")


class _Summary:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open = False

    def read(self, text: str) -> bool:
        if "wandb: Run " in text:
            self._open = "Run summary:" in text
            return self._open
        row = _ROW.search(text) if self._open else None
        if not row:
            return False
        name = row[1]
        if is_result(name) or is_companion(name):
            self._ledger.record({name: to_number(row[2])}, text, STRUCTURED, curve=False)
        return True


def _make(ledger: Ledger) -> Read:
    return _Summary(ledger).read


FAMILY = Family("W&B summary", ("wandb: ",), _make)

"""spaCy's training table: ``E  #  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE``; names of columns hold blanks."""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number

_HEADER = re.compile(r"^\s*E\s+#\s+(\S.*?)\s*$")
_GAP = re.compile(r"\s{2,}")
_MAX_COLUMNS = 40


class _Table:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names: list[str] = []

    def read(self, text: str) -> bool:
        header = _HEADER.match(payload(text)) if " #" in text else None
        if header:
            self._names = _GAP.split(header[1])[:_MAX_COLUMNS]
            return True
        if not self._names:
            return False
        numbers = [to_number(cell) for cell in payload(text).split()]
        epoch, step, *values = numbers if len(numbers) == len(self._names) + 2 else (None, None)
        if epoch is None or step is None or None in values:
            return False
        self._ledger.record(dict(zip(self._names, values, strict=True)), text, STRUCTURED, step=step)
        self._ledger.tracker.steps(step)
        self._ledger.tracker.at_epoch(epoch)
        return True


def _make(ledger: Ledger) -> Read:
    return _Table(ledger).read


def _wants(bare: str) -> bool:
    body = bare[bare.rfind("]") + 1 :].strip(" :")
    return body.startswith("E ") or (bool(body) and not body.strip(" .-TZ:"))


FAMILY = Family("spaCy", ("  ",), _make, wants=_wants)

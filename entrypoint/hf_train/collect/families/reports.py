"""Classification reports, as scikit-learn and seqeval print them (Flair and many scripts use them): the averages.

The rows of single classes are left out: there may be thousands, and their names may be anything.
"""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number

_ROW = re.compile(
    r"^\s*(accuracy|(?:micro|macro|weighted|samples) avg)\s+(\d(?:\.\d+)?)(?:\s+(\d(?:\.\d+)?)\s+(\d(?:\.\d+)?))?"
    r"\s+\d{1,12}\s*$"
)
_COLUMNS = ("precision", "recall", "f1-score")
_REACH = 2000  # rows of classes between the header and the averages


class _Report:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._header = -_REACH

    def read(self, text: str) -> bool:
        if "f1-score" in text and text.split()[-4:] == [*_COLUMNS, "support"]:
            self._header = self._ledger.line
            return True
        if self._ledger.line - self._header > _REACH:
            return False
        row = _ROW.match(payload(text))
        if not row:
            return False
        name, *printed = row.groups()
        if printed[1] is None:
            self._ledger.record({name: to_number(printed[0])}, text, STRUCTURED, curve=False)
        else:
            values = {
                f"{name} {column}": to_number(value) for column, value in zip(_COLUMNS, printed, strict=True) if value
            }
            self._ledger.record(values, text, STRUCTURED, curve=False)
        return True


def _make(ledger: Ledger) -> Read:
    return _Report(ledger).read


FAMILY = Family("classification reports", ("support", "accuracy ", " avg "), _make)

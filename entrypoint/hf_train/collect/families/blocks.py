"""The Trainer's summary blocks and headers: ``***** eval metrics *****``, ``Total optimization steps = 1,234``.

Source: reference §1.1. ``***** Running training *****`` is a header and no block.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number, to_seconds

_HEADER = re.compile(r"\*{3,} ([\w ./-]{1,40}) metrics \*{3,}")
_ROW = re.compile(r"(?:^|\s)([A-Za-z_][\w/@.()-]{0,99})\s+=\s+(\S.{0,40}?)\s*$")
_TOTAL = re.compile(r"(?:Total optimization steps|Total steps)\s*=\s*([\d,]{1,20})")
_EPOCHS = re.compile(r"(?i)\bNum epochs\s*=\s*([\d,]{1,12})")
_REACH = 60  # segments after a header in which rows still belong to it (bars may come in between)


class _Blocks:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._opened = -_REACH

    def read(self, text: str) -> bool:
        if "metrics *" in text:
            found = _HEADER.search(text)
            if found:
                self._opened = self._ledger.line
                return True
        if self._ledger.line - self._opened > _REACH or " = " not in text or ">>" in text:
            return self._header(text)
        row = _ROW.search(text)
        if not row:
            return self._header(text)
        name, printed = row.groups()
        value = to_number(printed)
        if value is None and name.endswith(("_runtime", "_time")):
            value = to_seconds(printed)
        if value is None:
            return True
        self._ledger.record({name: value}, text, STRUCTURED, curve=False)
        self._ledger.success()
        tracker = self._ledger.tracker
        if name == "train_steps_per_second":
            tracker.ended(None, value)
        elif name == "train_runtime" and tracker.runtime is None:
            tracker.ended(value, None)
        elif name == "epoch":
            tracker.at_epoch(value)
        return True

    def _header(self, text: str) -> bool:
        tracker = self._ledger.tracker
        total = _TOTAL.search(text)
        epochs = _EPOCHS.search(text)
        if total:
            tracker.planned = int(total[1].replace(",", "") or 0) or None
        if epochs:
            tracker.epochs = float(epochs[1].replace(",", "") or 0) or None
        return bool(total or epochs)


def _make(ledger: Ledger) -> Read:
    return _Blocks(ledger).read


FAMILY = Family("transformers summary blocks", ("metrics *", " = "), _make)

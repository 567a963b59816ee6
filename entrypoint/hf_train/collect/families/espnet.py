"""ESPnet: one line with the values of the training and of the validation, ``1epoch results: [train] ..., [valid] ...``.

The values of the training keep their names, those of other sections are given the section's: ``valid acc``.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, is_companion, is_result, to_number

_STARTED = re.compile(r"\b(\d{1,6})/(\d{1,6})epoch started")
_LINE = re.compile(r"\b(\d{1,6})epoch(?: results: |:(train):\d{1,9}-\d{1,9}batch: )")
_TOKEN = re.compile(rf"\[(\w{{2,20}})\] |(?<![\w.])([A-Za-z]\w{{0,60}})=({NUMBER}|{SPECIAL})(?=,|\s|$)")


class _EspNet:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        started = _STARTED.search(text)
        if started:
            self._ledger.tracker.epoch_count(int(started[1]) - 1, int(started[2]))
            return True
        found = _LINE.search(text)
        if not found:
            return False
        section = "train"
        values: dict[str, float | None] = {}
        for named, name, printed in _TOKEN.findall(text, found.end()):
            if named:
                section = named
            elif is_result(name) or (section == "train" and is_companion(name)):
                values[name if section == "train" else f"{section} {name}"] = to_number(printed)
        epoch = int(found[1])
        tracker = self._ledger.tracker
        tracker.at_epoch(float(epoch))
        if not found[2] and tracker.epochs and epoch <= tracker.epochs:
            tracker.epoch_count(epoch, int(tracker.epochs))
        self._ledger.record(values, text, STRUCTURED, epoch=float(epoch))
        return True


def _make(ledger: Ledger) -> Read:
    return _EspNet(ledger).read


FAMILY = Family("ESPnet", ("epoch results: ", "epoch:train:", "epoch started"), _make)

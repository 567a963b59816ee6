"""Lightning: rich bars with the metrics wrapped one per line, and the tables of test and validate (rich or plain).

``v_num`` is the logger's version and no metric. tqdm bars are read by `bars`; they do not tell how many epochs are
planned, the line of the end does. Source: reference §1.7.
"""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import POSTFIX, STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_RICH = re.compile(
    r"(?:^|\s)Epoch (\d{1,7})/(-?\d{1,7})\s+[━╸╺ ]*\s*(\d{1,9})/(\d{1,9}"
    r"|--)\s+[\d:-]+ • [\d:-]+\s*(?:([\d.]+)it/s)?(.*)$"
)
_METRIC = re.compile(rf"([^\W\d][\w/@.()-]{{0,80}}): ({NUMBER}|{SPECIAL})(?=\s|$)")
_ALONE = re.compile(rf"^\s{{8,}}([^\W\d][\w/@.()-]{{0,80}}): ({NUMBER}|{SPECIAL})\s*$")
_STOPPED = re.compile(r"Trainer\.fit`? stopped: `?max_epochs=(\d{1,7})`? reached")
_TABLE = re.compile(r"(?:Test|Validate|Validation|Predict)\s+metric\b", re.IGNORECASE)
_ROW = re.compile(rf"^\s*([^\W\d]\S{{0,80}})((?:\s+(?:{NUMBER}|{SPECIAL}))+)\s*$")
_REACH = 80


class _Lightning:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._bar = -_REACH
        self._epoch: float | None = None
        self._step: float | None = None
        self._table = -_REACH

    def read(self, text: str) -> bool:
        line = self._ledger.line
        stopped = _STOPPED.search(text) if "stopped: " in text else None
        if stopped:
            self._ledger.tracker.epochs = float(stopped[1]) or None
            return False
        if _TABLE.search(text):
            self._table = line
            return True
        if line - self._table <= _REACH and self._table_row(payload(text)):
            return True
        if "•" in text:
            return self._rich(text)
        if line - self._bar <= _REACH:
            found = _ALONE.match(payload(text))
            if found:
                return self._metrics({found[1]: to_number(found[2])}, text)
        return False

    def _rich(self, text: str) -> bool:
        found = _RICH.search(text)
        if not found:
            return False
        epoch, last, step, total = found.group(1, 2, 3, 4)
        tracker = self._ledger.tracker
        self._bar, self._epoch = self._ledger.line, float(epoch)
        if int(last) >= 0:
            tracker.epochs = float(last) + 1
        if total.isdigit():
            tracker.epoch_bar(int(epoch), int(step), int(total))
            self._step = float(int(epoch) * int(total) + int(step))
        tracker.ended(None, to_number(found[5]) if found[5] else None)
        self._metrics({name: to_number(printed) for name, printed in _METRIC.findall(found[6])}, text)
        return True

    def _metrics(self, values: dict[str, float | None], text: str) -> bool:
        values.pop("v_num", None)
        if values:
            self._ledger.record(values, text, POSTFIX, step=self._step, epoch=self._epoch)
        return True

    def _table_row(self, text: str) -> bool:
        if "│" in text:
            cells = [cell.strip() for cell in text.split("│")]
            cells = [cell for cell in cells if cell]
            numbers = [value for value in map(to_number, cells[1:]) if value is not None]
            if not cells or not numbers or to_number(cells[0]) is not None:
                return False
            name = cells[0]
        else:
            found = _ROW.match(text)
            if not found:
                return False
            name, numbers = found[1], [value for value in map(to_number, found[2].split()) if value is not None]
            if not numbers:
                return False
        self._ledger.record({name: numbers[0]}, text, STRUCTURED, curve=False)
        self._ledger.success()
        return True


def _make(ledger: Ledger) -> Read:
    return _Lightning(ledger).read


FAMILY = Family("Lightning", ("•", "metric", "│", "        ", "stopped: "), _make)

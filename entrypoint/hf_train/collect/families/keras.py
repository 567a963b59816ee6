"""Keras 2 and 3: bars of ``=`` or ``━`` with ``loss: 0.69 - val_loss: 0.70`` behind them, rewritten in place.

``4ms/step`` stands before the metrics and is none; per-output losses keep their own names. Source: reference §1.8.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, is_result, to_number

_HEADER = re.compile(r"(?:^|\s)Epoch (\d{1,7})/(\d{1,7})\s*$")
# "Epoch 3/5 - loss: 0.5" is a loop of the user's own.
_COUNT = re.compile(r"(?:^|(?<!poch)\s)(\d{1,9})/(\d{1,9})\s+(?:\[[=>. ]*\]|━+|-\s+(?:ETA|\d+m?u?s)\b)")
_PAIR = re.compile(rf" - ([^\W\d][\w./@-]{{0,80}}): ({NUMBER}|{SPECIAL})(?=\s|$)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)/step")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class _Keras:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._epoch: int | None = None
        self._count = 0
        self._drawn: dict[str, float | None] = {}

    def read(self, text: str) -> bool:
        header = _HEADER.search(text) if "Epoch " in text else None
        if header:
            self._epoch, self._count, self._drawn = int(header[1]), 0, {}
            self._ledger.tracker.epochs = float(header[2]) or None
            return False
        if " - " not in text or ": " not in text:
            return False
        count = _COUNT.search(text)
        values: dict[str, float | None] = {
            name: to_number(printed) for name, printed in _PAIR.findall(text) if name != "ETA"
        }
        if not values or not any(is_result(name) for name in values):
            return False
        if not count:
            # Keras before 2.4 with verbose=2: " - 3s - loss: 0.5".
            if self._epoch is None or not re.match(r"\s*- \d+s", text):
                return False
            self._ledger.record(values, text, STRUCTURED, epoch=float(self._epoch))
            self._ledger.tracker.at_epoch(float(self._epoch))
            return True
        self._take(values, text, int(count[1]), int(count[2]))
        return True

    def _take(self, values: dict[str, float | None], text: str, step: int, total: int) -> None:
        tracker = self._ledger.tracker
        if step < self._count:
            self._epoch = None  # a new bar without a header: evaluate() or predict()
        self._count = step
        if self._epoch is None:
            self._ledger.record(values, text, STRUCTURED, curve=False)
            return
        tracker.epoch_bar(self._epoch, step, total, first=1)
        self._ledger.record(values, text, STRUCTURED, curve=False)
        if step >= total:
            # The full bar is drawn again with val_* behind it, and values that stand there already.
            new = {name: value for name, value in values.items() if self._drawn.get(name) != value}
            self._drawn = values
            self._ledger.record(new, text, STRUCTURED, step=float(self._epoch * total))
        rate = _RATE.search(text)
        seconds = float(rate[1]) * _UNITS[rate[2]] if rate else 0.0
        if seconds:
            tracker.ended(None, round(1 / seconds, 6))


def _make(ledger: Ledger) -> Read:
    return _Keras(ledger).read


FAMILY = Family("Keras 2 and 3", ("Epoch ", "/step", " - loss: ", "s - "), _make)

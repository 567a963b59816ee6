"""The explicit contract for own code: one line ``::metrics:: {"accuracy": 0.91}``.

Documented in the README. Anything may stand in front of the mark; behind it stands one JSON object of numbers, whose
last occurrence wins over everything else that the log says. ``step`` and ``epoch`` in it place the values on the curve.
"""

from __future__ import annotations

from hf_train.collect.families.base import Family, Read
from hf_train.collect.families.jsonlines import flatten, load
from hf_train.collect.ledger import CONTRACT, Ledger

MARK = "::metrics::"


class _Contract:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        at = text.find(MARK)
        if at < 0:
            return False
        record = load(text[at + len(MARK) :])
        if record is None:
            self._ledger.warn("bad-metrics-line")
            return True
        values = flatten(record)
        step, epoch = values.get("step"), values.get("epoch")
        self._ledger.record(values, text, CONTRACT, step=step, epoch=epoch)
        if step is not None:
            self._ledger.tracker.steps(step)
        if epoch is not None:
            self._ledger.tracker.at_epoch(epoch)
        return True


def _make(ledger: Ledger) -> Read:
    return _Contract(ledger).read


FAMILY = Family("own contract line", (MARK,), _make, closed=True)

"""Unsloth: the silent fallback to the CPU, and the last lines of its job scripts. Source: reference §1.3.

The banner with ``Total steps = 111`` is read by `blocks`, the dict lines by `dicts`.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_CPU = re.compile(r"Unsloth\b.{0,40}: no GPU found, training on CPU")
_FINAL = re.compile(rf"\bFinal (train|eval) loss: ({NUMBER}|{SPECIAL})(?=\s|$)")
_SPEED = re.compile(rf"\bSpeed: ({NUMBER}) steps/s")


class _Unsloth:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        if _CPU.search(text):
            self._ledger.warn("no-gpu")
        final = _FINAL.search(text)
        if final:
            self._ledger.record({f"{final[1]}_loss": to_number(final[2])}, text, STRUCTURED, curve=False)
            self._ledger.success()
            return True
        speed = _SPEED.search(text)
        if speed:
            self._ledger.tracker.ended(None, to_number(speed[1]))
        return False


def _make(ledger: Ledger) -> Read:
    return _Unsloth(ledger).read


FAMILY = Family("Unsloth", ("no GPU found", "Final train loss", "Final eval loss", "steps/s"), _make)

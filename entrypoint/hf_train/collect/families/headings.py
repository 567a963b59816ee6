"""Lines that are no values themselves but say what the next ones are: a heading with the step, a traceback's frame.

Composer ``[batch=2/3200]:``, OLMo ``[step=10/739328,epoch=0]``, rsl_rl ``Learning iteration 10/1500``, Coqui TTS
``-- STEP: 24/406 -- GLOBAL_STEP: 25``.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import Ledger

_STEP = re.compile(r"(?:\[(?:batch|step)=|Learning iteration |-- GLOBAL_STEP: )(\d{1,12})(?:/(\d{1,12}))?(?=[\],\s]|$)")
_FRAME = re.compile(r'\s+File "[^"\n]{1,400}", line \d{1,7}')


class _Headings:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        if 'File "' in text and _FRAME.search(text):
            self._ledger.frame = self._ledger.line
            return False
        found = _STEP.search(text)
        if found:
            self._ledger.heading(float(found[1]), float(found[2]) if found[2] else None)
        return False


def _make(ledger: Ledger) -> Read:
    return _Headings(ledger).read


FAMILY = Family("headings and frames", ("[batch=", "[step=", "Learning iteration", "GLOBAL_STEP", 'File "'), _make)

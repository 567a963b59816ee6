"""tqdm bars: progress of all libraries, and the metrics in their postfix (Diffusers, Lightning, kohya, NeMo).

Sources: reference §1.1, §1.5, §1.7. The bar proves its own end: without the closing bracket nothing is taken.
"""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import POSTFIX, Ledger
from hf_train.collect.values import bar_seconds, is_companion, is_result, to_number

_BAR = re.compile(
    r"(\d{1,3})%(?:\|[^|\n]*\||\s)\s*(\d{1,12})/(\d{1,12})\s*"
    r"\[([\d:]{1,12})<([\d:?]{1,12}),\s*([\d.?]{1,12})\s?(it/s|s/it)"
    r"(?:,\s*([^\]\n]*))?\]"
)
_EPOCH = re.compile(r"(?i)(?:^|\s)epoch:?\s*\[?(\d{1,7})(?:\s*/\s*(\d{1,7}))?\]?")
_PAIR = re.compile(r"([A-Za-z_][\w/@. -]{0,60}?)\s*[=:]\s*([-+.\w]+)(?=,|\s|$)")
_NOT_METRIC = frozenset({"v_num", "eta", "time", "speed", "gpu_mem", "mem", "memory"})
_STEPPED = re.compile(r"(?i)\bsteps?\b")


class _Bars:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = _BAR.search(text)
        if not found:
            return "%|" in text  # a bar of examples or bytes, or a cut one
        step, total = int(found[2]), int(found[3])
        label = text[: found.start()]
        if label:
            label = payload(label).strip().rstrip(":").strip()
        self._progress(found, label, step, total)
        if found[8]:
            self._postfix(found[8], step, text)
        # A desc with numbers of its own ("1|25|Loss: 1.5") is left to the prose reader.
        return ":" not in label and "=" not in label

    def _progress(self, found: re.Match[str], label: str, step: int, total: int) -> None:
        tracker = self._ledger.tracker
        number = to_number(found[6])
        rate = None
        if number:
            rate = number if found[7].endswith("/s") else round(1 / number, 6)
        elapsed, left = bar_seconds(found[4]), bar_seconds(found[5])
        epoch = _EPOCH.search(label) if label else None
        if epoch and not _STEPPED.search(label):
            if epoch[2]:
                tracker.epochs = tracker.epochs or float(epoch[2])
            # A bar named "Epoch 2/3" counts from 1, Lightning's "Epoch 2" from 0.
            tracker.epoch_bar(int(epoch[1]), step, total, first=1 if epoch[2] else 0)
            tracker.printed_rate, tracker.eta = rate or tracker.printed_rate, left
        else:
            tracker.bar(label, step, total, elapsed, rate, left)

    def _postfix(self, postfix: str, step: int, text: str) -> None:
        values: dict[str, float | None] = {}
        for name, printed in _PAIR.findall(postfix):
            key = name.strip()
            value = to_number(printed)
            if value is not None and key not in _NOT_METRIC:
                values[key] = value
        if any(is_result(key) or is_companion(key) for key in values):
            position = self._ledger.tracker.step
            self._ledger.record(values, text, POSTFIX, step=float(step if position is None else position))


def _make(ledger: Ledger) -> Read:
    return _Bars(ledger).read


FAMILY = Family("tqdm, Diffusers, accelerate bars", ("it/s", "s/it", "%|"), _make, closed=True)

"""tqdm bars: progress of all libraries, and the metrics in their postfix (Diffusers, Lightning, kohya, NeMo).

Sources: reference §1.1, §1.5, §1.7. The bar proves its own end: without the closing bracket nothing is taken.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
_EPOCHS = re.compile(r"(?i)epochs?\W*")  # a bar over all epochs, with no bar of its own for each
_PAIR = re.compile(r"([A-Za-z_][\w/@. -]{0,60}?)\s*[=:]\s*([-+.\w]+)(?=,|\s|$)")
_NOT_METRIC = frozenset({"v_num", "eta", "time", "speed", "gpu_mem", "mem", "memory"})
_STEPPED = re.compile(r"(?i)\bsteps?\b")


@lru_cache(maxsize=2048)
def _label(before: str) -> tuple[str, tuple[int, int | None] | None, bool]:
    """The bar's name without prefixes, the epoch that it names, and whether it holds pairs of its own."""
    label = payload(before).strip().rstrip(":").strip() if before and not before.isspace() else ""
    found = _EPOCH.search(label)
    epoch = None
    if found and not _STEPPED.search(label):
        epoch = (int(found[1]), int(found[2]) if found[2] else None)
    return label, epoch, ":" in label or "=" in label


class _Bars:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shown: dict[str, float | None] = {}
        self._batches = 0

    def read(self, text: str) -> bool:
        at = text.find("%|")
        found = _BAR.search(text, at - 3 if at > 3 else 0)
        if not found:
            return at >= 0  # a bar of examples or bytes, or a cut one
        step, total, elapsed, left, speed, unit, postfix = found.group(2, 3, 4, 5, 6, 7, 8)
        label, epoch, pairs = _label(text[: found.start()])
        number = to_number(speed)
        rate = None
        if number:
            rate = number if unit == "it/s" else round(1 / number, 6)
        tracker = self._ledger.tracker
        if _EPOCHS.fullmatch(label):
            tracker.epoch_count(int(step), int(total))
        elif epoch:
            if epoch[1]:
                tracker.epochs = tracker.epochs or float(epoch[1])
            # A last epoch that max_steps ends early has a shorter bar; those before it were whole.
            self._batches = max(self._batches, int(total))
            # A bar named "Epoch 2/3" counts from 1, Lightning's "Epoch 2" from 0.
            tracker.epoch_bar(epoch[0], int(step), self._batches, first=1 if epoch[1] else 0)
            tracker.ended(None, rate)
            tracker.eta = bar_seconds(left)
        else:
            # torchtune writes the loss in front of its bar: all of them are one bar.
            tracker.bar(
                "" if pairs and "oss" in label else label,
                int(step),
                int(total),
                bar_seconds(elapsed),
                rate,
                bar_seconds(left),
            )
        if postfix:
            self._postfix(postfix, int(step), text)
        # A name with numbers of its own ("1|25|Loss: 1.5") is left to the reader of prose.
        return not pairs

    def _postfix(self, postfix: str, step: int, text: str) -> None:
        values: dict[str, float | None] = {}
        for name, printed in _PAIR.findall(postfix):
            key = name.strip()
            value = to_number(printed)
            if value is not None and key not in _NOT_METRIC:
                values[key] = value
        if not any(is_result(key) or is_companion(key) for key in values):
            return
        # A bar is drawn when it moves and again when its postfix is set: until then it shows the values of an earlier
        # step (Diffusers), or of the last epoch's validation (Lightning). What did not change is no new point.
        shown = self._shown
        new = {key: value for key, value in values.items() if shown.get(key) != value}
        self._shown = values
        position = self._ledger.tracker.step
        if len(new) < len(values):
            self._ledger.record(values, text, POSTFIX, curve=False)
        if new:
            self._ledger.record(new, text, POSTFIX, step=float(step if position is None else position))


def _make(ledger: Ledger) -> Read:
    return _Bars(ledger).read


FAMILY = Family("tqdm, Diffusers, accelerate bars", ("it/s", "s/it", "%|"), _make, closed=True)

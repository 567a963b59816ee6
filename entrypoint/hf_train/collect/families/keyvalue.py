"""Frameworks that print key and value pairs with a counter in front, and plain loops.

DeepSpeed, Megatron, detectron2, mmengine, fairseq, timm and torchvision's MetricLogger, mmf, nanoGPT, MNIST-style
loops, also with a decimal comma. Source: reference §1.6.
"""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.families.pairs import read_pairs
from hf_train.collect.ledger import PROSE, Ledger
from hf_train.collect.values import may_be_result, to_number

_BATCHES = re.compile(
    r"[Ee](?:poch|POCH)(?:\(train\))?:?\s*\[?\s*(\d{1,7})(?:\s*/\s*(\d{1,7}))?\s*\]?[\s,:|]{0,8}"
    r"(?:(?:[Ss]tep|[Ii]ter|[Ii]teration|[Bb]atch)s?:?\s*)?\[?\s*(\d{1,9})\s*/\s*(\d{1,9})\b"
)
_TRAIN = re.compile(r"Train: (\d{1,7}) \[\s*(\d{1,9})/(\d{1,9})")
_EPOCH = re.compile(
    r"(?:[Ee]poch|EPOCH|[Éé]poque|[Ee]poche|[Éé]poca|[Ee]poca|[Ee]poka|[Ээ]поха)[\s:=#\[]{0,3}(\d{1,7})(?:\s*/\s*(\d{1,7}))?"
)
_COUNTER = re.compile(
    r"(?:[Ii]ter(?:ation)?s?|[Gg]lobal[_ ][Ss]teps?|[Ss]teps?|progress"
    r"|num_updates)\s*[:=]?\s*\[?(\d{1,12})(?:\s*/\s*(\d{1,12}))?"
    r"(?=[\s,;:|\])]|$)"
)
_LIMIT = re.compile(r"(?i)\b(?:max_updates|max_iters|total_steps|max_steps)\s*[:=]\s*(\d{1,12})\b")
_PLANNED = re.compile(r"(?i)\b(?:training|run(?:ning)?) for (\d{1,6}) epochs\b")
_CODE = re.compile(
    r"\s*(?:(?:def|return|raise|import|assert|self|class|elif)\b|\$|>>>|--"
    r"|(?:Namespace|Config|\w{0,40}Args|\w{0,40}Arguments|\w{0,40}Config)\s?[({])"
)
_SETTINGS = ("Namespace(", "==", "lambda ", "cmd =", "cmd=", "│", "┃")
_RATIO = re.compile(r"(?i)(?:^|\s)val(?:id(?:ation)?)?\b|\btest\b|\beval\b")


class _KeyValue:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        if _CODE.match(text) or any(mark in text for mark in _SETTINGS):
            return False
        bare = payload(text)
        values = read_pairs(bare)
        if not values:
            return False
        step, epoch = self._progress(bare, values)
        if step is None and epoch is None:
            epoch = self._ledger.tracker.epoch
        self._ledger.record(values, text, PROSE, step=step, epoch=epoch)
        return True

    def _progress(self, text: str, values: dict[str, float | None]) -> tuple[float | None, float | None]:
        """Move the progress; returns the step and the epoch of the line, where it tells."""
        tracker = self._ledger.tracker
        side = bool(_RATIO.search(text[:60]))
        batches = _BATCHES.search(text)
        train = None if batches else _TRAIN.search(text)
        if batches or train:
            number, last, step, total = batches.groups() if batches else (train[1], None, train[2], train[3])  # type: ignore[index]
            if side:
                return None, float(number)
            if last:
                tracker.epochs = float(last)
            tracker.epoch_bar(int(number), int(step), int(total), first=1 if last else 0)
            return float(tracker.step or 0), None
        counter = _COUNTER.search(text)
        if counter:
            limit = counter[2] or (_LIMIT.search(text) or [None, None])[1]
            if not side:
                tracker.steps(float(counter[1]), float(limit) if limit else None)
            return float(counter[1]), self._epoch(text, values, count=False)
        return None, self._epoch(text, values, count=not side)

    def _epoch(self, text: str, values: dict[str, float | None], *, count: bool) -> float | None:
        found = _EPOCH.search(text)
        if not found:
            return values.get("epoch")
        number = to_number(found[1])
        if number is not None:
            self._ledger.tracker.at_epoch(number)
            if found[2] and count:
                self._ledger.tracker.epoch_count(int(number), int(found[2]))
        return number


class _Planned:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = _PLANNED.search(text)
        if found:
            self._ledger.tracker.epochs = float(found[1]) or None
        return False


def _make(ledger: Ledger) -> Read:
    return _KeyValue(ledger).read


_CANDIDATE = re.compile(r"(?<![\w/@.-])([^\W\d][\w/@.-]{0,80})(?=[)\]\"']{0,2}\s{0,20}[:=]|\s|\|)")


def _wants(bare: str) -> bool:
    return any(may_be_result(word) for word in _CANDIDATE.findall(bare))


FAMILY = Family(
    "key-value lines and plain loops", (": ", "=", ":", "|", "\t", "oss ", "cc ", "@ "), _make, wants=_wants
)
PLANNED = Family("planned epochs", (" epochs",), lambda ledger: _Planned(ledger).read)

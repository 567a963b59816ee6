"""Ultralytics YOLO 8 and YOLOv5: losses and validation in columns, read by position (headers are cut at 80 columns).

Source: reference §1.10.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_NUM = rf"(?:{NUMBER}|{SPECIAL})"
_LOSSES = re.compile(rf"(?:^|\s)(\d{{1,6}})/(\d{{1,6}})\s+[\d.]+G((?:\s+{_NUM}){{3,12}}):\s+(\d{{1,3}})%")
_ALL = re.compile(rf"(?:^|\s)all\s+(\d{{1,9}})\s+(\d{{1,9}})((?:\s+{_NUM}){{4,8}})(?=\s|$)")
_TOP = re.compile(rf"(?:^|\s)all\s+({_NUM})\s+({_NUM})\s*$")
_NEW = ("precision", "recall", "mAP50", "mAP50-95")
_OLD = ("precision", "recall", "mAP@.5", "mAP@.5:.95")


class _Yolo:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._columns: tuple[str, ...] = ()
        self._names = _NEW
        self._second = "mask"
        self._top = False
        self._seen = False
        self._from_zero = False
        self._epoch: float | None = None

    def read(self, text: str) -> bool:
        if "PU_mem" in text or "pu_mem" in text:
            return self._header(text)
        if "mAP" in text and "Class" in text and "mages" in text:
            self._seen = True
            self._names = _OLD if "mAP@.5" in text else _NEW
            self._second = "pose" if "Pose(" in text else "mask"
            return True
        if "top1_acc" in text:
            self._seen = self._top = True
            return "classes" in text
        if "G " in text and "%" in text:
            row = _LOSSES.search(text)
            if row:
                self._losses(row, text)
                return True
        return self._seen and "all " in text and self._validation(text)

    def _header(self, text: str) -> bool:
        words = text.split()
        at = next((index for index, word in enumerate(words) if word.lower() == "gpu_mem"), None)
        if at is None or "Epoch" not in words:
            return False
        self._columns = tuple(words[at + 1 :])
        self._from_zero = self._from_zero or any(word.startswith("obj") for word in words)
        return True

    def _losses(self, row: re.Match[str], text: str) -> None:
        epoch, last = int(row[1]), int(row[2])
        self._from_zero = self._from_zero or epoch == 0
        self._seen = True
        numbers = row[3].split()
        names = self._columns if len(self._columns) == len(numbers) else ("box", "cls", "dfl")[: len(numbers) - 2]
        values: dict[str, float | None] = {}
        for name, printed in zip(names, numbers, strict=False):
            if name.lower() not in {"instances", "labels", "size", "img_size"}:
                values[name if name.endswith("loss") else f"{name}_loss"] = to_number(printed)
        whole = int(row[4]) == 100
        self._epoch = float(epoch)
        self._ledger.record(values, text, STRUCTURED, epoch=self._epoch, curve=whole)
        tracker = self._ledger.tracker
        tracker.at_epoch(self._epoch)
        done = epoch + 1 if self._from_zero else epoch
        tracker.epoch_count(done if whole else done - 1, last + 1 if self._from_zero else last)

    def _validation(self, text: str) -> bool:
        row = _ALL.search(text)
        if not row:
            top = _TOP.search(text) if self._top else None
            if top:
                values: dict[str, float | None] = {"top1_acc": to_number(top[1]), "top5_acc": to_number(top[2])}
                self._ledger.record(values, text, STRUCTURED, epoch=self._epoch)
            return bool(top)
        numbers = [to_number(printed) for printed in row[3].split()]
        values = dict(zip(self._names, numbers[:4], strict=True))
        if len(numbers) == 8:
            values.update(zip((f"{self._second}_{name}" for name in self._names), numbers[4:], strict=True))
        self._ledger.record(values, text, STRUCTURED, epoch=self._epoch)
        return True


def _make(ledger: Ledger) -> Read:
    return _Yolo(ledger).read


FAMILY = Family("Ultralytics and YOLOv5", ("PU_mem", "pu_mem", "mAP", "G ", "all ", "top1_acc"), _make)

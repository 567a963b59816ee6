"""COCO's evaluation lines, as mmdetection, DETR and YOLO print them by pycocotools, and detectron2's table of them."""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number

_LINE = re.compile(
    r"Average (?:Precision|Recall)\s+\((AP|AR)\) @\[ IoU=([\d.:]{1,12})\s*\| area=\s*(\w{1,8})\s*\|"
    r" maxDets=\s*(\d{1,5}) \] = (-?\d(?:\.\d+)?)\s*$"
)
_TASK = re.compile(r"Evaluation results for (\w{1,30}):")
_AP = re.compile(r"AP[\w.-]{0,40}")
_AREAS = {"small": "s", "medium": "m", "large": "l"}


class _Coco:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._task = ""
        self._names: list[str] = []

    def read(self, text: str) -> bool:
        if "@[ IoU=" not in text:
            return self._table(text)
        found = _LINE.search(text)
        if found:
            kind, iou, area, detections, printed = found.groups()
            name = kind + _AREAS.get(area, "")
            if kind == "AP" and iou in {"0.50", "0.75"}:
                name += iou[2:]
            elif kind == "AR" and area == "all":
                name += f"@{detections}"
            self._ledger.record({name: to_number(printed)}, text, STRUCTURED, curve=False)
        return True

    def _table(self, text: str) -> bool:
        """detectron2: ``Evaluation results for bbox:``, a row of names, a rule, a row of numbers."""
        task = _TASK.search(text) if "results for" in text else None
        if task:
            self._task, self._names = f"{task[1]}/", []
            return True
        if not self._task or not text.rstrip().endswith("|"):
            return False
        cells = [cell.strip() for cell in text[text.find("|") :].strip().strip("|").split("|")]
        if _AP.fullmatch(cells[0]):
            self._names = [f"{self._task}{cell}" for cell in cells]
            return True
        numbers = [to_number(cell) for cell in cells]
        if len(numbers) != len(self._names) or None in numbers:
            return False
        self._ledger.record(dict(zip(self._names, numbers, strict=True)), text, STRUCTURED, curve=False)
        self._names = []
        return True


def _make(ledger: Ledger) -> Read:
    return _Coco(ledger).read


def _wants(bare: str) -> bool:
    return "@[ IoU=" in bare or "Evaluation results" in bare or bare.count("|") > 2


FAMILY = Family("COCO evaluation", ("@[ IoU=", "Evaluation results for", "|"), _make, wants=_wants)

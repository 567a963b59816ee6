"""COCO's evaluation lines, as detectron2, mmdetection, DETR and YOLO print them by pycocotools."""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number

_LINE = re.compile(
    r"Average (?:Precision|Recall)\s+\((AP|AR)\) @\[ IoU=([\d.:]{1,12})\s*\| area=\s*(\w{1,8})\s*\|"
    r" maxDets=\s*(\d{1,5}) \] = (-?\d(?:\.\d+)?)\s*$"
)
_AREAS = {"small": "s", "medium": "m", "large": "l"}


class _Coco:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = _LINE.search(text)
        if found:
            kind, iou, area, detections, printed = found.groups()
            name = kind + _AREAS.get(area, "")
            if kind == "AP" and iou in {"0.50", "0.75"}:
                name += iou[2:]
            elif kind == "AR" and area == "all":
                name += f"@{detections}"
            self._ledger.record({name: to_number(printed)}, text, STRUCTURED, curve=False)
        return "@[ IoU=" in text


def _make(ledger: Ledger) -> Read:
    return _Coco(ledger).read


FAMILY = Family("COCO evaluation", ("@[ IoU=",), _make)

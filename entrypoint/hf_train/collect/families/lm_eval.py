"""The result table of lm-evaluation-harness and lighteval: ``|task|version|…|metric|…|value|±|stderr|``."""

from __future__ import annotations

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import to_number


class _Table:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._columns: dict[str, int] = {}
        self._task = ""

    def read(self, text: str) -> bool:
        if not self._columns and "etric" not in text:
            return False
        cells = [cell.strip() for cell in text[text.find("|") :].strip().strip("|").split("|")]
        lower = [cell.lower() for cell in cells]
        if "metric" in lower and "value" in lower:
            task = next((lower.index(name) for name in ("tasks", "task", "groups") if name in lower), 0)
            self._columns = {"task": task, "metric": lower.index("metric"), "value": lower.index("value")}
            return True
        if not self._columns or len(cells) <= max(self._columns.values()):
            return False
        self._task = cells[self._columns["task"]].lstrip("- ") or self._task
        metric = cells[self._columns["metric"]]
        value = to_number(cells[self._columns["value"]])
        if value is None or not metric:
            return False
        self._ledger.record({f"{self._task}/{metric}": value}, text, STRUCTURED, curve=False)
        self._ledger.success()
        return True


def _make(ledger: Ledger) -> Read:
    return _Table(ledger).read


def _wants(bare: str) -> bool:
    return bare.count("|") >= 7


FAMILY = Family("lm-evaluation-harness tables", ("|",), _make, wants=_wants)

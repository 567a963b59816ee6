"""Gradient boosting: the rounds of XGBoost, LightGBM and CatBoost, each with the values of every evaluation set.

``[99]  validation_0-logloss:0.01211``, ``[50]  valid_1's auc: 0.6935``, ``100:  learn: 0.2112  test: 0.2411``. Names
stay as they are printed; the last line of an early stopping is that of the best round.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_NUM = rf"{NUMBER}|{SPECIAL}"
_ROUND = re.compile(r"(?:^|\s)\[(\d{1,9})\]\s+(?=\S)")
_XGBOOST = re.compile(rf"(?<!\S)([A-Za-z_][\w.]{{0,40}}-[\w@.:-]{{1,40}}):({_NUM})(?:\+{NUMBER})?(?=\s|$)")
_LIGHTGBM = re.compile(rf"(?<!\S)([A-Za-z_]\w{{0,40}}'s [\w@.-]{{1,40}}): ({_NUM})(?: \+ {NUMBER})?(?=\s|$)")
_CATBOOST = re.compile(
    rf"(?:^|\s)(\d{{1,9}}):\s+learn: ({_NUM})(?:\s+test: ({_NUM})(?:\s+best: ({_NUM}) \(\d{{1,9}}\))?)?\s+total: "
)
_BEST = re.compile(rf"(?:^|\s)(bestTest) = ({_NUM})\s*$")


class _Boosting:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        if "learn: " in text:
            return self._catboost(text)
        if "bestTest" in text:
            best = _BEST.search(text)
            if best:
                self._ledger.record({best[1]: to_number(best[2])}, text, STRUCTURED, curve=False)
            return bool(best)
        found = _ROUND.search(text)
        if not found:
            return False
        pairs = (_LIGHTGBM if "'s " in text else _XGBOOST).findall(text, found.end())
        if pairs:
            self._take({name: to_number(printed) for name, printed in pairs}, int(found[1]), text)
        return bool(pairs)

    def _catboost(self, text: str) -> bool:
        found = _CATBOOST.search(text)
        if found:
            printed = zip(("learn", "test", "best"), found.groups()[1:], strict=True)
            self._take({name: to_number(value) for name, value in printed if value}, int(found[1]), text)
        return bool(found)

    def _take(self, values: dict[str, float | None], number: int, text: str) -> None:
        self._ledger.record(values, text, STRUCTURED, step=float(number))
        self._ledger.tracker.steps(number)


def _make(ledger: Ledger) -> Read:
    return _Boosting(ledger).read


def _wants(bare: str) -> bool:
    return "[]\t" in bare or "[] " in bare or "learn: " in bare or "bestTest" in bare


FAMILY = Family("XGBoost, LightGBM, CatBoost", ("]\t", "] ", "learn: ", "bestTest"), _make, wants=_wants)

"""sentence-transformers' evaluator lines, which are glued to the bar. Its dict lines are the Trainer's (`dicts`).

An evaluation on the way says so ("in epoch 1.0 after 13 steps"), and the Trainer's dict tells the same numbers again as
``eval_<set>_...``: both get that name. One before or after the training keeps the name that the evaluator returns.
Source: reference §1.9.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_SET = re.compile(
    r"Evaluator: .{0,80}? on (?:the )?(?P<set>[\w.-]{0,40}) dataset"
    r"(?P<training> (?:in|after) epoch [\d.]{1,12}(?: after (?P<step>\d{1,12}) steps)?)?"
)
_SIMILARITY = re.compile(
    rf"(Cosine|Dot-Product|Dot|Manhattan|Euclidean)-(?:Similarity|Distance)\s?:\s+Pearson: ({NUMBER}|{SPECIAL})\s+"
    rf"Spearman: ({NUMBER}|{SPECIAL})(?=\s|$)"
)


class _Evaluators:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._set = ""
        self._step: float | None = None

    def read(self, text: str) -> bool:
        named = _SET.search(text)
        if named:
            self._set = ("eval_" if named["training"] else "") + (f"{named['set']}_" if named["set"] else "")
            self._step = float(named["step"]) if named["step"] else None
        found = _SIMILARITY.search(text)
        if not found:
            return False
        kind = found[1].lower().replace("dot-product", "dot")
        values: dict[str, float | None] = {
            f"{self._set}pearson_{kind}": to_number(found[2]),
            f"{self._set}spearman_{kind}": to_number(found[3]),
        }
        self._ledger.record(values, text, STRUCTURED, step=self._step, curve=self._step is not None)
        return True


def _make(ledger: Ledger) -> Read:
    return _Evaluators(ledger).read


FAMILY = Family("sentence-transformers evaluators", ("Pearson: ", "Evaluator: "), _make)

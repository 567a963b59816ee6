"""sentence-transformers' evaluator lines, which are glued to the bar. Its dict lines are the Trainer's (`dicts`).

Source: reference §1.9.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_SET = re.compile(r"Evaluator: .{0,80}? on (?:the )?([\w.-]{1,40}) dataset")
_SIMILARITY = re.compile(
    rf"(Cosine|Dot-Product|Dot|Manhattan|Euclidean)-(?:Similarity|Distance)\s?:\s+Pearson: ({NUMBER}|{SPECIAL})\s+"
    rf"Spearman: ({NUMBER}|{SPECIAL})(?=\s|$)"
)


class _Evaluators:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._set = ""

    def read(self, text: str) -> bool:
        named = _SET.search(text)
        if named:
            self._set = f"{named[1]}_"
        found = _SIMILARITY.search(text)
        if not found:
            return False
        kind = found[1].lower().replace("dot-product", "dot")
        values: dict[str, float | None] = {
            f"{self._set}pearson_{kind}": to_number(found[2]),
            f"{self._set}spearman_{kind}": to_number(found[3]),
        }
        self._ledger.record(values, text, STRUCTURED)
        return True


def _make(ledger: Ledger) -> Read:
    return _Evaluators(ledger).read


FAMILY = Family("sentence-transformers evaluators", ("Pearson: ", "Evaluator: "), _make)

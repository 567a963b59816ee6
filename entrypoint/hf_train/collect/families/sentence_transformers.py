"""sentence-transformers' evaluator lines, which are glued to the bar. Its dict lines are the Trainer's (`dicts`).

Correlations are named as the Trainer names them, ``eval_<set>_pearson_cosine``, wherever they are printed. Other scores
have names and units of their own (``Accuracy@1: 1.25%``, ``MSE (*100)``). Of an evaluation on the way ("in epoch 1.0
after 13 steps") the Trainer's dict tells the same numbers again: they get its names and units, so that no number stands
there twice. Before and after a training they stay as printed. Sources: reference §1.9, and the evaluators of 6.2.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import NUMBER, SPECIAL, to_number

_HEADER = re.compile(
    r"(?P<kind>\w{0,40}Evaluator: |Binary Accuracy |Information Retrieval |Paraphrase Mining |MSE evaluation ).{0,60}?"
    r"\bon (?:the )?(?P<set>[\w.-]{0,40}) dataset"
    r"(?P<training> (?:in|after) epoch [\d.]{1,12}(?: after (?P<step>\d{1,12}) steps)?)?"
)
_FUNCTION = re.compile(r"(?P<sum>Aggregated for )?Score[- ]Function: (?P<name>\w{1,40})")
_VALUE = rf"({NUMBER}|{SPECIAL})"
_CORRELATION = re.compile(
    r"(?:(Cosine|Dot-Product|Dot|Manhattan|Euclidean)-(?:Similarity|Distance)|Correlation)\s?:\s+"
    rf"Pearson: {_VALUE}\s+Spearman: {_VALUE}(?=\s|$)"
)
_SCORE = re.compile(
    r"(Accuracy|F1|Average Precision|Precision|Recall|Matthews Correlation|MAP|MRR|NDCG)(@\d{1,5})?"
    r"(?: (?:with )?(Cosine|Dot|Manhattan|Euclidean)[ -](?:Similarity|Product|Distance))?:"
    rf"\s+(?:{NUMBER} -> )?{_VALUE}(%)?(?=\s|$)"
)
_MSE = re.compile(rf"MSE \(\*100\):\s+{_VALUE}(?=\s|$)")
_PLAIN = ("CrossEncoder", "Reranking", "Paraphrase")
"""Evaluators that print ``Accuracy: 85.00`` or ``MAP: 35.10``, as anybody might."""
_KEYS = {"Average Precision": "average_precision", "Matthews Correlation": "mcc"}
_REACH = 40


class _Evaluators:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._line = -_REACH
        self._set = "eval_"
        self._function = ""
        self._kind = ""
        self._step: float | None = None

    def read(self, text: str) -> bool:
        header = _HEADER.search(text) if " dataset" in text else None
        if header:
            self._line = self._ledger.line if header["training"] else -_REACH
            self._set = f"eval_{header['set']}_" if header["set"] else "eval_"
            self._step = float(header["step"]) if header["step"] else None
            self._function, self._kind = "", header["kind"]
        values = self._correlation(text)
        if not values and self._ledger.line - self._line < _REACH:
            values = self._score(text)
        if not values:
            return False
        self._ledger.record(values, text, STRUCTURED, step=self._step, curve=self._step is not None)
        return True

    def _correlation(self, text: str) -> dict[str, float | None]:
        found = _CORRELATION.search(text) if "Pearson: " in text else None
        if not found:
            return {}
        kind = f"_{found[1].lower().replace('dot-product', 'dot')}" if found[1] else ""
        names = (f"{self._set}{name}{kind}" for name in ("pearson", "spearman"))
        return dict(zip(names, map(to_number, found.group(2, 3)), strict=True))

    def _score(self, text: str) -> dict[str, float | None]:
        function = _FUNCTION.search(text)
        if function:
            self._line, self._function = self._ledger.line, f"{function['name']}_"
            if function["sum"]:
                self._set, self._kind = "eval_NanoBEIR_mean_", "Information Retrieval"
            return {}
        mse = _MSE.search(text)
        if mse:
            error = to_number(mse[1])
            return {f"{self._set}negative_mse": None if error is None else -error}
        found = _SCORE.search(text)
        value = to_number(found[4]) if found else None
        if not found or value is None or not (found[2] or found[3] or self._kind.startswith(_PLAIN)):
            return {}
        similarity = f"{found[3].lower()}_" if found[3] else self._function
        metric = "ap" if found[3] and found[1] == "Average Precision" else _KEYS.get(found[1], found[1].lower())
        if found[5] or not self._kind.startswith("Information"):
            value = round(value / 100, 6)
        return {f"{self._set}{similarity}{metric}{found[2] or ''}": value}


def _make(ledger: Ledger) -> Read:
    return _Evaluators(ledger).read


FAMILY = Family(
    "sentence-transformers evaluators",
    (
        "Pearson: ", " dataset", "unction: ", "Accuracy", "Precision", "Recall", "F1 with", "F1: ", "Matthews Corr",
        "MAP", "MRR", "NDCG", "MSE (*",
    ),
    _make,
)  # fmt: skip

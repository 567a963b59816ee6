"""This run beside the baseline: deltas with a direction, and the gate line by line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from hf_train.gate import Judged
from hf_train.report.words import DASH, code, number

_LOWER = frozenset(
    {"loss", "error", "err", "perplexity", "ppl", "wer", "cer", "ter", "mae", "mse", "rmse", "nll", "fid"}
)
_HIGHER = frozenset(
    {"accuracy", "acc", "f1", "bleu", "chrf", "rouge", "rouge1", "rouge2", "rougel", "auc", "map", "map50", "precision",
     "recall", "reward", "rewards", "mcc", "matthews", "pearson", "spearman", "ndcg", "mrr", "iou", "miou", "r2"}
)  # fmt: skip
_SIGNS = {"pass": "✅", "fail": "❌", "unknown": "❓"}


def direction(name: str) -> Literal["higher", "lower", ""]:
    """Which way is better, for names that say so; empty for all others."""
    words = set(re.findall(r"[a-z]+\d*", name.lower()))
    lower, higher = bool(words & _LOWER), bool(words & _HIGHER)
    if lower == higher:
        return ""
    return "lower" if lower else "higher"


def delta(name: str, value: float, base: float | None) -> str:
    """`+0.012 🟢`: the difference, and whether that is the good way when the name says which one is."""
    if base is None or not math.isfinite(value):
        return DASH
    difference = value - base
    if difference == 0:
        return "0"
    text = f"{'+' if difference > 0 else ''}{number(difference)}"
    way = direction(name)
    if not way:
        return text
    return f"{text} {'🟢' if (difference > 0) == (way == 'higher') else '🔴'}"


def gate_lines(judged: Sequence[Judged]) -> list[str]:
    """One line per condition."""
    return [f"- {_SIGNS[one.judgement]} {code(one.condition.text, 120)} {_evidence(one)}".rstrip() for one in judged]


def _evidence(one: Judged) -> str:
    if one.judgement == "unknown":
        return f"not known: {code(one.why, 120)}"
    if one.value is None or one.bound is None:
        return ""
    return f"({number(one.value)} against {number(one.bound)})"

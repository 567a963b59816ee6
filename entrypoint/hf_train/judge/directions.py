"""Which way a metric is better: known for the names that libraries use, settable for all others. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Direction = Literal["higher", "lower"]

_LOWER = frozenset(
    {"loss", "logloss", "error", "errors", "err", "perplexity", "ppl", "wer", "cer", "ter", "mae", "mse", "rmse",
     "mape", "smape", "nll", "bpc", "bpb", "fid", "kid", "lpips", "brier", "ece"}
)  # fmt: skip
_HIGHER = frozenset(
    {"accuracy", "accuracies", "acc", "f1", "bleu", "sacrebleu", "chrf", "rouge", "rouge1", "rouge2", "rougel",
     "rougelsum", "meteor", "bertscore", "auc", "auroc", "map", "map50", "precision", "recall", "reward", "rewards",
     "mcc", "matthews", "kappa", "pearson", "pearsonr", "spearman", "spearmanr", "ndcg", "mrr", "iou", "miou", "dice",
     "r2", "psnr", "ssim"}
)  # fmt: skip
_NEITHER = frozenset({"std", "rejected", "threshold", "time", "runtime", "grad", "weight", "scale"})
"""Words that turn the meaning of a name: a spread, a rejected answer's reward, a threshold are good at no end."""
_MARKED = re.compile(r"(?P<name>.*\S)\s*:\s*(?P<way>higher|lower)")


def direction(name: str, given: Mapping[str, Direction] | None = None) -> Direction | None:
    """Which way is better.

    Args:
        name: Name of the metric, in any library's spelling (`eval_loss`, `val/acc`, `metrics/mAP50(B)`).
        given: What the user said, which holds before what is known.

    Returns:
        None for a name that does not say it, or says both.
    """
    if given and name in given:
        return given[name]
    words = set(re.findall(r"[a-z]+\d*", name.lower()))
    lower, higher = bool(words & _LOWER), bool(words & _HIGHER)
    if lower == higher or words & _NEITHER:
        return None
    return "lower" if lower else "higher"


def marked(text: str) -> tuple[str, Direction | None]:
    """`eval_x:higher` as its two halves; a text without the mark is all name.

    Raises:
        ValueError: There is a mark and no name.
    """
    if text.strip() in {":higher", ":lower"}:
        message = f"{text!r} has no name before its direction; write NAME:higher or NAME:lower"
        raise ValueError(message)
    match = _MARKED.fullmatch(text.strip())
    if match is None:
        return text.strip(), None
    return match["name"], "higher" if match["way"] == "higher" else "lower"

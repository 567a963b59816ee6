"""Numbers as logs and files print them, and which names are training results.

Pure text functions, no state. A number is taken only when the text spells it out: an overflow never becomes
``inf`` and a comma is never silently dropped (``0,3865`` is not 3865).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""A finite decimal number with a decimal point."""

SPECIAL = r"[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)"
"""The spellings of not-a-number and infinity that Python, C and JavaScript print."""

_SPECIAL = re.compile(SPECIAL)
_CLOCK = re.compile(r"(?:(\d+) days?, )?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)")
_TOKENS = re.compile(r"[^\W\d_]+\d*", re.UNICODE)
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_MAX_DIGITS = 64


def word_set(text: str) -> frozenset[str]:
    """The blank-separated words of a text."""
    return frozenset(text.split())


_RESULT_WORDS = word_set(
    """
    loss losses acc accuracy f1 fbeta auc auroc auprc bleu sacrebleu chrf rouge rouge1 rouge2 rougel wer cer ter
    map map50 map75 map95 miou iou dice ppl perplexity mae mse rmse mape smape r2 mrr ndcg recall precision prec
    pearson spearman kappa mcc matthews psnr ssim fid lpips reward rewards bpb bpc nll elbo kl top1 top5 acc1 acc5
    meteor bertscore err1 err5 logloss rmsle correlation macc aacc mdice mfscore hmean rougelsum rew uer
    pérdida perdida exactitud precisión perte exactitude précision verlust genauigkeit perda acurácia perdita
    accuratezza потери потеря точность 损失 准确率 損失 精度 손실 정확도
    """
)
_RESULT_ENDS = ("loss", "accuracy", "map", "perplexity", "crossentropy")
_NO_WORDS: frozenset[str] = frozenset()
_MEANS_OTHER = {
    "acc": word_set("grad gradient steps"),  # accumulation
    "map": word_set("device label class feature attention memory id token color key heat name index bit"),
}
"""Words beside which a result's name means something else: ``grad_acc``, ``device_map``."""
_PHASES = word_set("train training val valid validation test eval dev")
_BITS = frozenset({"8", "16", "32", "64", "8.0", "16.0", "32.0", "64.0"})
_ERRORS = frozenset({"error", "err", "score"})  # results only of a phase: "valid error", "test score"
_CONFIG_WORDS = word_set(
    """
    scale scaler weight weights coef coefficient patience threshold lambda alpha smoothing type fn function
    tolerance delta target goal min_delta interval every freq frequency thres thresh thr coeff penalty
    """
)
_COMPANIONS = word_set(
    """
    lr learning_rate grad_norm gradient_norm gnorm epoch epochs step steps iter iters iteration iterations
    num_updates global_step updates entropy num_tokens consumed_samples consumed_train_samples throughput
    """
)


_PLAIN_COUNTERS = word_set("step steps iter iters iteration iterations updates")  # "timing_s/step" is none


def to_number(text: str) -> float | None:
    """Read one printed number.

    Args:
        text: For example ``0.673``, ``-1.2e+04``, ``nan``, ``inf``.

    Returns:
        The value (``nan`` and ``inf`` only when spelled out), or None when the text is no number.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    if len(text) > _MAX_DIGITS or "_" in text:
        return None
    if not math.isfinite(value) and not _SPECIAL.fullmatch(text.strip()):
        return None
    return value


def number(value: object) -> float | None:
    """A number as JSON and YAML files hold it: also as a string, never a boolean, never too large for a float."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    return to_number(value) if isinstance(value, str) else None


def nesting(text: str) -> int:
    """Deepest nesting of brackets outside of double-quoted strings: known before a parser may recurse."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def json_float(text: str) -> float | str:
    """For ``json.loads(parse_float=...)``: a number that no float can hold stays text and becomes no infinity."""
    value = to_number(text)
    return text if value is None else value


def to_seconds(text: str) -> float | None:
    """Read a clock such as ``0:00:07.37`` or ``1 day, 2:03:04``.

    Args:
        text: Hours, minutes and seconds, optionally with days.

    Returns:
        Seconds, or None when the text is no clock.
    """
    found = _CLOCK.fullmatch(text.strip())
    if not found or len(text) > _MAX_DIGITS:
        return None
    days, hours, minutes, seconds = found.groups()
    # Rounded to what is printed: 7.37 must not become 7.369999.
    return round(int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(seconds), 6)


@lru_cache(maxsize=4096)
def bar_seconds(text: str) -> float | None:
    """Read a tqdm clock, ``MM:SS`` or ``H:MM:SS``, or None for ``?``."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 3 or not all(part.isdigit() and len(part) < 8 for part in parts):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds)


def tokens(name: str) -> tuple[str, ...]:
    """Lower-case words of a metric's name: ``eval_faq_loss`` gives ``eval``, ``faq``, ``loss``."""
    return tuple(_TOKENS.findall(name.lower()))


@lru_cache(maxsize=4096)
def is_result(name: str) -> bool:
    """Whether a name is a result of training (loss, accuracy, BLEU, ...), not a setting or a counter."""
    words = tokens(name)
    if any(word in _CONFIG_WORDS for word in words):
        return False
    found = [word for word in words if word in _RESULT_WORDS or word.endswith(_RESULT_ENDS)]
    if found:
        return not _MEANS_OTHER.get(found[-1], _NO_WORDS).intersection(words)
    if words[-2:] == ("exact", "match") or words[:2] == ("f", "score"):
        return True
    return (words[-1:] == ("return",) and len(words) > 1) or is_score(name)


@lru_cache(maxsize=4096)
def is_score(name: str) -> bool:
    """Whether a name is a result only because it names a phase: ``valid error``, ``test score``."""
    words = tokens(name)
    return len(words) == 2 and words[0] in _PHASES and words[1] in _ERRORS


_DIGITLESS = frozenset(word.rstrip("0123456789") for word in _RESULT_WORDS | _ERRORS | {"match", "return"})


@lru_cache(maxsize=8192)
def may_be_result(word: str) -> bool:
    """Whether a word whose digits were taken out may be a result's name (``f`` was ``f1``)."""
    return any(part in _DIGITLESS or part.endswith(_RESULT_ENDS) for part in tokens(word))


def is_bits(name: str, printed: str) -> bool:
    """Whether a "precision" is the width of a float (``precision=16``) and no result."""
    return printed in _BITS and tokens(name)[-1:] == ("precision",)


@lru_cache(maxsize=4096)
def is_companion(name: str) -> bool:
    """Whether a name is worth keeping beside a result on the same line (learning rate, epoch, step, ...)."""
    group, _, last = name.rpartition("/")
    key = "_".join(tokens(last))
    return key in _COMPANIONS and not (group and key in _PLAIN_COUNTERS)


@lru_cache(maxsize=4096)
def is_curve(name: str) -> bool:
    """Whether a metric makes a curve worth keeping: no counter, no clock, no memory."""
    key = "_".join(tokens(name))
    if key in _COMPANIONS:
        return key in {"lr", "learning_rate", "grad_norm", "gradient_norm", "gnorm", "entropy"}
    return not key.endswith(("runtime", "per_second", "flos", "tokens", "samples", "time")) and "memory" not in key


@lru_cache(maxsize=4096)
def is_loss(name: str) -> bool:
    """Whether NaN in this metric means that the training diverged."""
    words = tokens(name)
    return bool(words) and words[-1].endswith("loss") and not any(word in _CONFIG_WORDS for word in words)


@lru_cache(maxsize=4096)
def is_grad_norm(name: str) -> bool:
    """Whether the metric is the norm of the gradients, under any of its common names."""
    return "_".join(tokens(name)).endswith(("grad_norm", "gradient_norm", "gnorm", "gradnorm"))

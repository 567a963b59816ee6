"""``name: value`` and ``name=value`` in one line of text: the grammar that `keyvalue` and `plain` share.

The name is found backwards from the value, so that prose in front does not matter. Names are taken from an allow-list
of words (`values.is_result`); a comma is a decimal comma only when nothing else is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hf_train.collect.values import (
    NUMBER,
    SPECIAL,
    is_bits,
    is_companion,
    is_result,
    is_score,
    to_number,
    tokens,
    word_set,
)

_WORD = r"[^\W\d][\w/@.%-]{0,80}"
_PAIR = re.compile(
    # Not an option (--loss=1), a variable or a path; then perhaps a qualifying word, and the name.
    rf"(?<![\w/@.%$?&\\-])(?:({_WORD}) )?({_WORD})(?:\s?\(([^()\n]{{1,20}})\))?[\"'\])]{{0,2}}"
    rf"\s{{0,20}}[:=]\s{{0,20}}(?:tensor\(|np\.\w{{1,20}}\(|\[)?(-?\d+(?:,\d+)+(?:[eE][-+]?\d+)?|{NUMBER}|{SPECIAL})"
    r"(?=$|[\s,;|)\]%(}<&]|[.:](?:\s|$))"
)
_FRACTION = re.compile(
    rf"(?<![\w/@.%-])(?:({_WORD}) )?({_WORD})\s{{0,4}}[:=]\s{{0,20}}"
    r"\d{1,12}\s?/\s?\d{1,12}\s?\((\d{1,3}(?:\.\d+)?)\s?%\)"
)
_BARE = re.compile(
    r"(?i)(?<![\w/.@-])((?:(?:train|training|val|valid|validation|test|eval|dev|avg|average|mean)[ _])?"
    r"(?:loss|nll|ppl|perplexity|acc(?:uracy)?|acc@\d{1,3}|prec@\d{1,3}|top\d"
    r"|f1?-score(?: \((?:micro|macro)[ a-z]{0,8}\))?))"
    r"\s{1,6}(-?\d{1,12}\.\d+(?:e[-+]?\d+)?|nan|inf)%?(?=$|[\s,;|(])"
)
_BARE_HINTS = (
    "oss ", "oss\t", "cc ", "cc\t", "acy ", "pl ", "ity ", "@1 ", "@5 ", "@1\t", "@5\t", "nll ", "top", "-score ",
)  # fmt: skip
_PIPED = re.compile(rf"\|\s*([a-z][\w.@]{{0,40}})\s+({NUMBER}|nan|inf)\s*(?=\||$)")
_CELL = re.compile(rf"^\|?\s*([A-Za-z][\w/]{{0,60}})\s+\|\s+({NUMBER}|nan|inf)\s+\|\s*$")
_QUALIFIERS = word_set(
    """
    train training val valid validation test testing eval evaluation dev avg average mean total lm mlm best final grad
    gradient learning global running smoothed current epoch batch top word char exact balanced weighted macro micro
    masked reconstruction cls regression classification contrastive policy value actor critic generator discriminator
    surrogate function
    """
)
_POINT = re.compile(r"\d\.\d")
_PLACES = frozenset({"epoch", "step", "iter", "iteration"})
_QUOTED = re.compile(r"""[ :]?["']$""")  # text that begins behind the quote: a sentence, no name
_SETS = frozenset({"train", "val", "valid", "test"})
_COUNTERS = word_set("epoch epochs step steps iter iters iteration iterations updates")
PHASES = {
    "train": "train", "training": "train", "val": "val", "valid": "valid", "validation": "validation", "test": "test",
    "testing": "test", "eval": "eval", "evaluation": "eval", "dev": "dev",
}  # fmt: skip
_PHASE = re.compile(
    r"(?i)^\W{0,4}(train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)\b(?![-/.]\w| *\()"
)


class Pair(NamedTuple):
    """A value and where it stands in the line. `exact` says that the value is what stands there, read as a float."""

    value: float
    start: int
    end: int
    exact: bool


def read_pairs(text: str) -> tuple[dict[str, Pair], tuple[str, ...]]:
    """Results and their companions in one line of text.

    Args:
        text: The line without logger prefixes.

    Returns:
        Name to value, empty when the line holds no result. A name without a phase on a line that begins with one
        (``val Loss: 0.4 Acc: 0.9``) is given both ways, ``Acc`` and ``val Acc``. And the plain names of
        a line that is an evaluation's.
    """
    values: dict[str, Pair] = {}
    words: dict[str, str] = {}
    for before, name, pair in _pairs(text):
        if is_result(name):
            _add(values, words, before, name, pair)
        elif is_companion(name):
            values[name.lower() if name.lower() in _PLACES else name] = pair
        elif name.lower() in _SETS and "." in text[pair.start : pair.end]:
            values[name] = pair  # "Loss: 1.9, Train: 0.28, Val: 0.19"
    for name, pair in _unmarked(text):
        if is_result(name) or is_companion(name):
            values.setdefault(name, pair)
    if not any(is_result(name) for name in values):
        return {}, ()
    phase = _PHASE.match(text)
    if not phase:
        return values, ()
    plain = tuple(name for name in values if is_result(name) and PHASES.keys().isdisjoint(tokens(name)))
    values.update({f"{phase[1]} {name}": values[name] for name in plain})
    return values, plain if PHASES[phase[1].lower()] != "train" else ()


def _add(values: dict[str, Pair], words: dict[str, str], before: str, name: str, pair: Pair) -> None:
    """Keep a result. Two of one name in a line (``D loss: 0.5, G loss: 1.2``) are told apart by the word before."""
    if name in values and words[name] != before and before.isalnum() and before.lower() not in _COUNTERS:
        if words[name].isalnum():
            values[f"{words[name]} {name}"] = values.pop(name)
            words[name] = before
        name = f"{before} {name}"
    values[name] = pair
    words.setdefault(name, before)


def _unmarked(text: str) -> Iterator[tuple[str, Pair]]:
    """Names and numbers without a colon: ``loss 0.5``, ``| ppl 300.5 |``, ``| loss | 5.5 |``."""
    patterns = []
    if any(hint in text for hint in _BARE_HINTS):
        patterns.append(_BARE)
    if text.count("|") >= 3:
        patterns.append(_PIPED)
    if text.rstrip().endswith("|"):
        patterns.append(_CELL)
    for pattern in patterns:
        for found in pattern.finditer(text):
            value = to_number(found[2])
            if value is not None:
                yield found[1], Pair(value, *found.span(2), exact=True)


def _pairs(text: str) -> Iterator[tuple[str, str, Pair]]:
    """The word before, the name and the value of each pair."""
    points = "," in text and bool(_POINT.search(text))
    for found in _PAIR.finditer(text):
        before, word, unit, printed = found.groups(default="")
        exact = "," not in printed
        value = to_number(printed) if exact else _value(printed, points=points)
        name = _name(before, word, unit) if value is not None else None
        if value is None or name is None or (is_score(name) and printed.isdigit()) or is_bits(name, printed):
            continue
        if _QUOTED.match(text[max(0, found.start() - 2) : found.start()]) and text[found.end(2)] not in "\"'":
            continue
        yield "" if name.startswith(f"{before} ") else before, name, Pair(value, *found.span(4), exact)
    if "/" in text and "%" in text:
        for found in _FRACTION.finditer(text):
            before, word, printed = found.groups(default="")
            name = f"{before} {word}" if before.lower() in _QUALIFIERS else word
            yield before, name, Pair(float(printed), *found.span(3), exact=False)


def _name(before: str, word: str, unit: str) -> str | None:
    """The name of a value from the two words in front of it and what stands in brackets behind them."""
    if word.lower() in _COUNTERS and (unit or (before and before.islower() and before not in _QUALIFIERS)):
        return None  # "elapsed time per iteration (ms)", "number of nan iterations"
    if unit and is_result(unit) and not is_result(word):
        return unit  # "Word Error Rate (WER)"
    if before and is_result(before):
        if word.lower() in PHASES:
            return f"{before} {word}"  # "loss train"
        if word == "value":
            return before
    # "train Loss", "lm loss", "grad norm": qualifying words belong to the name.
    return f"{before} {word}" if before.lower() in _QUALIFIERS else word


def _value(printed: str, *, points: bool) -> float | None:
    """A number with commas: decimal, thousands (sure where the line has points too), or neither when it may be both."""
    whole, _, rest = printed.partition(",")
    thousands = len(whole.lstrip("-")) <= 3 and all(len(part) == 3 for part in rest.split(","))
    if not thousands or whole.lstrip("-") == "0":
        return to_number(printed.replace(",", ".")) if "," not in rest else None
    if "," in rest or points:
        return to_number(printed.replace(",", ""))
    return None  # 1,234 alone may be either

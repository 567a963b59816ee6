"""Frameworks that print key and value pairs with a counter in front, and plain loops.

DeepSpeed, Megatron, detectron2, mmengine, fairseq, timm and torchvision's MetricLogger, mmf, nanoGPT, MNIST-style
loops, also with a decimal comma. Source: reference §1.6.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hf_train.collect.cleaning import payload
from hf_train.collect.families.base import Family, Read
from hf_train.collect.families.pairs import read_pairs
from hf_train.collect.learned import Learned
from hf_train.collect.ledger import PROSE, Ledger
from hf_train.collect.values import may_be_result

_BATCHES = re.compile(
    r"[Ee](?:poch|POCH)(?:\(train\))?:?\s*\[?\s*(\d{1,7})(?!\d)(?:\s*/\s*(\d{1,7})(?!\d))?\s*\]?[\s,:|-]{0,8}\[?"
    r"(?:(?:[Ss]tep|[Ii]ter|[Ii]teration|[Bb]atch)s?:?\s*)?\[?\s*(\d{1,9})\s*/\s*(\d{1,9})\b"
)
_TRAIN = re.compile(r"Train: (\d{1,7}) \[\s*(\d{1,9})/(\d{1,9})")
_EPOCH = re.compile(
    r"(?:[Ee]poch|EPOCH|[Éé]poque|[Ee]poche|[Éé]poca|[Ee]poca|[Ee]poka|[Ээ]поха)[\s:=#\[]{0,3}"
    r"(\d{1,7})(?!\d)(?:\s*/\s*(\d{1,7})(?!\d))?"
)
_COUNTER = re.compile(
    r"(?:[Ii]ter(?:ation)?s?(?:\(\w{3,5}\))?|[Gg]lobal[_ ][Ss]teps?|[Ss]teps?(?:\.\.\.)?|progress"
    r"|num_updates)\s*[:=]?\s*[\[(]?\s*(\d{1,12})(?:\s*/\s*(\d{1,12}))?"
    r"(?=[\s,;:|\])]|$)"
)
_LIMIT = re.compile(r"(?i)\b(?:max_updates|max_iters|total_steps|max_steps)\s*[:=]\s*(\d{1,12})\b")
_PLANNED = re.compile(r"(?i)\b(?:training|run(?:ning)?) for (\d{1,6}) epochs\b")
_CODE = re.compile(
    r"\s*(?:(?:def|return|raise|import|assert|self|class|elif|export)\b|\$|\#\s|>>>|--|\+{1,3}\s"
    r"|(?:Namespace|Config|\w{0,40}Args|\w{0,40}Arguments|\w{0,40}Config)\s?[({]"
    r"|(?i:engine/trainer|hyper-?param\w{0,6}|arguments|args|options|settings|config\w{0,8})\s?:\s)"
)
_COMMAND = re.compile(
    r"(?:^|[\s'\"/])(?:python[\d.]{0,5}|torchrun|deepspeed|accelerate launch|uv run)\s(?:\S+\s){0,40}?[\w./-]+\.py\b"
)
_SETTINGS = ("Namespace(", "==", "lambda ", "cmd =", "cmd=", "│", "┃")
_SIDE = re.compile(r"(?i)(?:^|\s)val(?:id(?:ation)?)?\b|\((?:val|test)\)|\b(?:test|eval|dev)\b")


class _KeyValue:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._learned: Learned[_Line] = Learned()

    def read(self, text: str) -> bool:
        if self._ledger.line == self._ledger.frame + 1:
            return False  # the source line under a frame of a traceback
        known = self._learned.match(text)
        if known:
            line, numbers = known
        else:
            found = _parse(text)
            if found is None:
                return False
            line, numbers, exact = found
            if exact:
                self._learned.see(text, line, line.spans, line.start)
        values: dict[str, float | None] = {name: numbers[index] for name, index in line.values}
        step, epoch = self._place(line, {role: numbers[index] for role, index in line.places}, values)
        if step is None and epoch is None:
            step, epoch = self._ledger.place()
        if line.plain:
            # The last "loss" of the log, but no point on the curve of the "loss" that the training prints.
            plain = {name: values.pop(name) for name in line.plain}
            self._ledger.record(plain, text, PROSE, curve=False)
        self._ledger.record(values, text, PROSE, step=step, epoch=epoch)
        return True

    def _place(
        self, line: _Line, places: dict[str, float], values: dict[str, float | None]
    ) -> tuple[float | None, float | None]:
        """Move the progress; returns the step and the epoch of the line, where it tells."""
        tracker = self._ledger.tracker
        if "batch" in places:
            number, last = places["of_epoch"], places.get("epochs")
            if line.side:
                return None, number
            if last:
                tracker.epochs = last
            updates = values.get("num_updates")
            if updates is None:
                tracker.epoch_bar(int(number), int(places["batch"]), int(places["batches"]), first=1)
                return float(tracker.step or 0), None
            tracker.steps(updates)
            tracker.at_epoch(number)
            return updates, None
        epoch = places.get("epoch")
        if epoch is not None:
            tracker.at_epoch(epoch)
        count = places.get("count")
        if count is not None:
            if not line.side:
                tracker.steps(count, places.get("limit"))
        elif epoch is not None and "epochs" in places and not line.side:
            tracker.epoch_count(int(epoch), int(places["epochs"]))
        return count, values.get("epoch") if epoch is None else epoch


class _Line(NamedTuple):
    """What a line says, by the positions of its numbers: the same for all lines that differ only in their digits.

    Attributes:
        start: Where the line begins behind the prefixes of loggers.
        side: Whether it tells of an evaluation, which does not move the progress.
        spans: Where the numbers stand, in order.
        values: Names of metrics, each with the index of its number.
        plain: Those of them that are an evaluation's, which the line names once, in front of all.
        places: Counters and limits, each with the index of its number.
    """

    start: int
    side: bool
    spans: tuple[tuple[int, int], ...]
    values: tuple[tuple[str, int], ...]
    plain: tuple[str, ...]
    places: tuple[tuple[str, int], ...]


def _parse(text: str) -> tuple[_Line, list[float], bool] | None:
    """Read a line by the grammar.

    Returns:
        What it says, its numbers, and whether each number is what stands at its place; None when it holds no result.
    """
    if _CODE.match(text) or any(mark in text for mark in _SETTINGS) or (".py" in text and _COMMAND.search(text)):
        return None
    bare = payload(text)
    if len(bare) < len(text) and _CODE.match(bare):
        return None
    pairs, plain = read_pairs(bare)
    if not pairs:
        return None
    start = len(text) - len(bare)
    places = _places(bare)
    numbers = {pair[1:3]: pair.value for pair in pairs.values()}
    numbers.update({span: float(bare[slice(*span)]) for span in places.values() if span not in numbers})
    spans = sorted(numbers)
    index = {span: at for at, span in enumerate(spans)}
    line = _Line(
        start,
        bool(_SIDE.search(bare, 0, min(pair.start for pair in pairs.values()))),
        tuple([(start + first, start + last) for first, last in spans]),
        tuple([(name, index[pair[1:3]]) for name, pair in pairs.items()]),
        plain,
        tuple([(role, index[span]) for role, span in places.items()]),
    )
    return line, [numbers[span] for span in spans], all(pair.exact for pair in pairs.values())


def _places(text: str) -> dict[str, tuple[int, int]]:
    """Where a line counts its epochs, batches and steps."""
    batches = _BATCHES.search(text)
    train = None if batches else _TRAIN.search(text)
    if batches or train:
        places = _spans(batches, "of_epoch", "epochs", "batch", "batches")
        return places or _spans(train, "of_epoch", "batch", "batches")
    counter = _COUNTER.search(text)
    places = _spans(counter, "count", "limit")
    if counter and not counter[2]:
        places.update(_spans(_LIMIT.search(text), "limit"))
    places.update(_spans(_EPOCH.search(text), "epoch", "epochs"))
    return places


def _spans(found: re.Match[str] | None, *roles: str) -> dict[str, tuple[int, int]]:
    if not found:
        return {}
    return {role: found.span(group) for group, role in enumerate(roles, 1) if found[group] is not None}


class _Planned:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = _PLANNED.search(text)
        if found:
            self._ledger.tracker.epochs = float(found[1]) or None
        return False


def _make(ledger: Ledger) -> Read:
    return _KeyValue(ledger).read


_CANDIDATE = re.compile(r"(?<![\w/@.-])([^\W\d][\w/@.-]{0,80})(?=[)\]\"']{0,2}\s{0,20}[:=]|\s|\|)")


def _wants(bare: str) -> bool:
    return any(may_be_result(word) for word in _CANDIDATE.findall(bare))


FAMILY = Family(
    "key-value lines and plain loops", (": ", "=", ":", "|", "\t", "oss ", "cc ", "@ "), _make, wants=_wants
)
PLANNED = Family("planned epochs", (" epochs",), lambda ledger: _Planned(ledger).read)

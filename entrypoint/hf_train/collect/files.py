"""Pure readers of the files that libraries leave in a repo or a bucket: the contents, never a path.

Bad content gives a value that says so in `problems`; nothing here raises, evaluates or unpickles. Sources: reference
§2.1 (who writes what) and §2.3 (how far to trust it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hf_train.collect.cards import ModelCard, read_model_card
from hf_train.collect.curve import Curves
from hf_train.collect.tensorboard import EventFile, read_tensorboard_events
from hf_train.collect.values import json_float, nesting, number

MAX_METRICS_FILE = 256 * 1024
"""Bytes of a `metrics-file`."""
MAX_DEPTH = 8
MAX_NAMES = 400
MAX_RESULTS = 16 * 1024 * 1024

NAME = re.compile(r"[A-Za-z0-9_./@ ()-]{1,64}")
"""Names that a `metrics-file` may use."""

_EMPTY: Mapping[str, float | None] = MappingProxyType({})


@dataclass(frozen=True)
class Metrics:
    """Numbers of one file.

    Attributes:
        values: Name to value; ``nan`` and ``inf`` as floats, None for null.
        problems: What was wrong with the content, for people.
    """

    values: Mapping[str, float | None] = field(default_factory=lambda: _EMPTY)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainerState:
    """A ``trainer_state.json``: full precision, with steps.

    Attributes:
        metrics: Last value of each name in `log_history`.
        curve: Name to ``(step, value)``, at most 500 points each.
        global_step: Steps done, or None.
        max_steps: Steps planned, or None.
        best_metric: Best value of the metric that chose the checkpoint, or None.
        best_model_checkpoint: That checkpoint, or None.
        epoch: Epochs done, or None.
        problems: What was wrong with the content.
    """

    metrics: Mapping[str, float | None] = field(default_factory=lambda: _EMPTY)
    curve: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=lambda: MappingProxyType({}))
    global_step: int | None = None
    max_steps: int | None = None
    best_metric: float | None = None
    best_model_checkpoint: str | None = None
    epoch: float | None = None
    problems: tuple[str, ...] = ()


def read_all_results(text: str) -> Metrics:
    """Read ``all_results.json``, ``eval_results.json``, ``train_results.json`` (bare ``NaN`` allowed).

    Args:
        text: Content of the file.

    Returns:
        Its numbers.
    """
    record, problem = json_object(text, MAX_RESULTS)
    if record is None:
        return Metrics(problems=(problem,))
    values, problems = _numbers(record)
    return Metrics(MappingProxyType(values), problems)


def read_metrics_file(text: str) -> Metrics:
    """Read a `metrics-file`, the contract for own code: a JSON object of names and numbers.

    ``null``, ``NaN``, ``Infinity`` and the strings ``"nan"``, ``"inf"`` are kept as what they are. Groups become
    ``group/name``. At most 256 KB, 8 levels, 400 names of letters, digits and ``_./@ ()-``.

    Args:
        text: Content of the file.

    Returns:
        Its numbers; what does not follow the contract is left out and told in `problems`.
    """
    if len(text.encode("utf-8", "replace")) > MAX_METRICS_FILE:
        return Metrics(problems=(f"larger than {MAX_METRICS_FILE // 1024} KB",))
    record, problem = json_object(text, MAX_METRICS_FILE)
    if record is None:
        return Metrics(problems=(problem,))
    values: dict[str, float | None] = {}
    problems: list[str] = []
    _collect(record, "", values, problems)
    return Metrics(MappingProxyType(values), tuple(problems[:20]))


def read_trainer_state(text: str) -> TrainerState:
    """Read ``trainer_state.json`` of the Trainer, from a repo's root or a ``checkpoint-N`` folder.

    Args:
        text: Content of the file.

    Returns:
        Last values, curves and steps.
    """
    record, problem = json_object(text, MAX_RESULTS)
    if record is None:
        return TrainerState(problems=(problem,))
    history = record.get("log_history")
    problems: list[str] = []
    if not isinstance(history, list):
        history = []
        problems.append("no log_history")
    values: dict[str, float | None] = {}
    curves = Curves()
    for entry in history:
        if isinstance(entry, dict):
            _entry(entry, values, curves)
    checkpoint = record.get("best_model_checkpoint")
    return TrainerState(
        metrics=MappingProxyType(values),
        curve=MappingProxyType(dict(curves.finish(None))),
        global_step=_whole(record.get("global_step")),
        max_steps=_whole(record.get("max_steps")),
        best_metric=number(record.get("best_metric")),
        best_model_checkpoint=checkpoint if isinstance(checkpoint, str) else None,
        epoch=number(record.get("epoch")),
        problems=tuple(problems),
    )


def _entry(entry: Mapping[str, Any], values: dict[str, float | None], curves: Curves) -> None:
    step = number(entry.get("step"))
    ending = "train_runtime" in entry
    for name, value in entry.items():
        read = number(value)
        if name == "step" or (read is None and value is not None) or len(name) > 100:
            continue
        if name not in values and len(values) >= MAX_NAMES:
            continue
        if read is not None or values.get(name) is None:
            values[name] = read
        if read is not None and step is not None and name != "epoch" and not ending:
            curves.add(name, step, read)


def json_object(text: str, limit: int) -> tuple[dict[str, Any] | None, str]:
    """A JSON object (bare ``NaN`` allowed), or None and what is wrong with it.

    Args:
        text: Content of the file.
        limit: The most characters that are read.
    """
    if len(text) > limit:
        return None, f"larger than {limit // 1024} KB"
    if not text.strip("\ufeff \t\r\n"):
        return None, "empty"
    if nesting(text) > 64:
        return None, "nested too deeply"
    try:
        record = json.loads(text.lstrip("\ufeff"), parse_float=json_float)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {str(error)[:120]}"
    if not isinstance(record, dict):
        return None, "not a JSON object"
    return record, ""


def _collect(record: Mapping[str, Any], prefix: str, values: dict[str, float | None], problems: list[str]) -> None:
    if prefix.count("/") >= MAX_DEPTH:
        problems.append(f"{prefix}: deeper than {MAX_DEPTH} levels")
        return
    for key, value in record.items():
        name = prefix + key
        if isinstance(value, dict):
            _collect(value, f"{name}/", values, problems)
            continue
        read = number(value)
        if not NAME.fullmatch(name):
            problems.append(f"{name[:40]!r}: not a name (letters, digits and _./@ ()-, at most 64)")
        elif read is None and value is not None:
            problems.append(f"{name}: not a number")
        elif len(values) >= MAX_NAMES:
            problems.append(f"{name}: more than {MAX_NAMES} names")
        else:
            values[name] = read


def _numbers(record: Mapping[str, Any]) -> tuple[dict[str, float | None], tuple[str, ...]]:
    values: dict[str, float | None] = {}
    for name, value in record.items():
        read = number(value)
        if (read is not None or value is None) and len(name) <= 100 and len(values) < MAX_NAMES:
            values[name] = read
    return values, () if values else ("no numbers",)


def _whole(value: object) -> int | None:
    read = number(value)
    return int(read) if read is not None and 0 <= read < 1e15 else None


__all__ = [
    "EventFile",
    "Metrics",
    "ModelCard",
    "TrainerState",
    "json_object",
    "read_all_results",
    "read_metrics_file",
    "read_model_card",
    "read_tensorboard_events",
    "read_trainer_state",
]

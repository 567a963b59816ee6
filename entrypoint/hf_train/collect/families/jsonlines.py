"""JSON lines: ``{"event": "eval", "val_accuracy": 0.9}``, LLaMA-Factory's trainer log, fairseq's JSON, loguru.

A line counts only when the whole object is there and holds a result; configurations are JSON too.
Source: reference §1.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import is_bits, is_grad_norm, is_result, number, to_number

_DECODER = json.JSONDecoder(parse_float=to_number)
_STEP_KEYS = ("step", "global_step", "current_steps", "iter", "iteration", "num_updates", "steps")
_TOTAL_KEYS = ("total_steps", "max_steps", "num_steps", "total")
_UNWRAPPED = frozenset({"metrics", "logs", "results", "scores", "values", "data", "payload", "log", "extra"})


def load(text: str) -> dict[str, Any] | None:
    """One JSON object (Python's NaN and Infinity allowed), or None. Never raises."""
    try:
        record = _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def flatten(record: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> dict[str, float | None]:
    """Names and numbers of a record; groups such as ``metrics`` are unwrapped, others become ``group/name``."""
    values: dict[str, float | None] = {}
    for key, value in record.items():
        name = str(key)
        if isinstance(value, dict):
            if depth < 3:
                inner = prefix if name in _UNWRAPPED else f"{prefix}{name}/"
                values.update(flatten(value, prefix=inner, depth=depth + 1))
            continue
        read = number(value)
        if read is not None or value is None:
            values[prefix + name] = read
    return values


class _JsonLines:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        start, end = text.find('{"'), text.rfind("}")
        if start < 0 or end < start or text[end + 1 :].strip():
            return False
        record = load(text[start : end + 1])
        if record is None:
            return False
        values = flatten(record)
        for name in [name for name, value in values.items() if "recision" in name and is_bits(name, str(value))]:
            del values[name]
        step = next((values[key] for key in _STEP_KEYS if values.get(key) is not None), None)
        if not any(is_result(name) or is_grad_norm(name) for name in values):
            return False
        if "learning_rate" in values and step is None and len(record) > 20:
            return False  # a printed configuration with, say, "label_smoothing_loss"
        self._ledger.record(values, text, STRUCTURED, step=step, epoch=values.get("epoch"))
        self._place(values, step)
        return True

    def _place(self, values: Mapping[str, float | None], step: float | None) -> None:
        tracker = self._ledger.tracker
        if step is not None:
            tracker.steps(step, next((values[key] for key in _TOTAL_KEYS if values.get(key)), None))
        epoch = values.get("epoch")
        if epoch is not None:
            tracker.at_epoch(epoch)


def _make(ledger: Ledger) -> Read:
    return _JsonLines(ledger).read


FAMILY = Family("JSON lines", ('{"',), _make, closed=True)

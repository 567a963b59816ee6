"""Curves of a trackio database, as trackio 0.43 syncs it to a bucket (`trackio/PROJECT.db`, `bucket_storage.py`). Pure.

It is SQLite that a Job wrote, so hostile: it is opened in memory, read-only, its schema is not trusted, only a plain
table is read, and time and size of all that are bounded.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime

from hf_train.collect.curve import Curves, Point

MAX_BYTES = 20 << 20
MAX_ROWS = 200_000
MAX_ROW = 1 << 16
MAX_INSTRUCTIONS = 20_000_000
"""Of SQLite's own machine, about a second; a row of a plain table takes a few dozen."""
_TICK = 10_000
_MAGIC = b"SQLite format 3\x00"
_STEP = "train/global_step"
_ROWS = "SELECT timestamp, step, metrics FROM metrics ORDER BY id LIMIT ?"


def read_trackio(content: bytes, since: datetime, until: datetime) -> Mapping[str, tuple[Point, ...]]:
    """The curves of what was logged in a span of time; nothing for what is no such database. Never raises.

    Args:
        content: The file.
        since: Begin of the span.
        until: Its end; a project holds the runs of other Jobs too.
    """
    curves = Curves()
    if len(content) > MAX_BYTES or not content.startswith(_MAGIC):
        return {}
    try:
        for stamp, step, metrics in _rows(content):
            if _inside(stamp, since, until):
                _add(curves, step, metrics)
    except (sqlite3.Error, ValueError, OverflowError, MemoryError, AttributeError):
        pass  # damaged, or not what it says (or a SQLite without `deserialize`): what was read before that counts
    return curves.finish(None)


def _rows(content: bytes) -> Iterator[tuple[object, object, object]]:
    ticks = iter(range(MAX_INSTRUCTIONS // _TICK))
    with closing(sqlite3.connect(":memory:")) as base:
        # Bytes 18 and 19 say that a write-ahead log lies beside it (SQLite file format 1.3.3); in memory none can.
        base.deserialize(content[:18] + b"\x01\x01" + content[20:])
        base.set_progress_handler(lambda: next(ticks, None) is None, _TICK)
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
        base.execute("PRAGMA trusted_schema=OFF")
        base.execute("PRAGMA query_only=ON")
        made = base.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'metrics'").fetchone()
        if made is None or not str(made[0]).upper().startswith("CREATE TABLE"):
            return
        yield from base.execute(_ROWS, (MAX_ROWS,))


def _inside(stamp: object, since: datetime, until: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(str(stamp))
        return since <= moment <= until
    except (ValueError, TypeError):  # no date, or one without its zone
        return False


def _add(curves: Curves, step: object, metrics: object) -> None:
    if not isinstance(metrics, str | bytes) or len(metrics) > MAX_ROW:
        return
    try:
        row = json.loads(metrics)
    except (ValueError, RecursionError):
        return
    if not isinstance(row, dict):
        return
    # The Trainer's callback renames (transformers 5.24.0 `rewrite_logs`), and its own count of steps is the true one.
    trainer = _number(row.get(_STEP))
    at = trainer if trainer is not None else _number(step)
    if at is None:
        return
    for name, value in row.items():
        number = _number(value)
        if number is not None and name != _STEP:
            curves.add(_plain(name) if trainer is not None else name[:100], at, number)


def _plain(name: str) -> str:
    """`train/loss` as `loss`, `eval/loss` as `eval_loss`."""
    group, slash, rest = name.partition("/")
    return rest[:100] if slash and group == "train" else name.replace("/", "_", 1)[:100]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 else None

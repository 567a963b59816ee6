"""A trackio database, as version 0.43 makes it (its own `CREATE TABLE`, write-ahead log and all)."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

TABLE = """CREATE TABLE metrics (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL,
    step INTEGER NOT NULL,
    metrics TEXT NOT NULL
, log_id TEXT, space_id TEXT)"""


def database(rows: Sequence[tuple[datetime | str, int, Any]], *statements: str, table: str = TABLE) -> bytes:
    """The file.

    Args:
        rows: Time, step and metrics (an object, or bytes as they are).
        statements: More SQL, run before the rows are written.
        table: The table's own statement.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "project.db"
        base = sqlite3.connect(path)
        base.execute("PRAGMA journal_mode=WAL")
        for statement in (table, *statements):
            base.execute(statement)
        for moment, step, metrics in rows:
            stamp = moment if isinstance(moment, str) else moment.isoformat()
            content = metrics if isinstance(metrics, bytes) else json.dumps(metrics, separators=(",", ":")).encode()
            base.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
                ("847de1f7", stamp, "dainty-sunset-0", step, content),
            )
        base.commit()
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        base.close()
        return path.read_bytes()

"""One sqlite file, used from worker threads one at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


class Database:
    """A small database of one store.

    Args:
        path: The file; made when missing.
        schema: `CREATE … IF NOT EXISTS` statements.
    """

    def __init__(self, path: Path, schema: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # WAL with NORMAL: a crash of the process loses nothing, a power cut at most the last commits.
        self._connection.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {schema}")

    def read(self, statement: str, values: Iterable[object] = ()) -> list[Row]:
        """All rows of a SELECT."""
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()

    def write(self, statement: str, rows: Iterable[Iterable[object]]) -> None:
        """One statement for each row, in one transaction."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(statement, [tuple(row) for row in rows])
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

"""The log of one Job on disk, stored as the very bytes of its event stream, so that serving it is copying a file."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from hf_train.local_hub.http import iso, now

MAX_LINE = 1 << 20
"""A longer line is cut into events of this many bytes, so that a Job without a newline eats no memory."""
READ = 1 << 18
BATCH_BYTES = 1 << 16


class JobLog:
    """Appends lines, and gives the stream back from any byte.

    Args:
        path: File of the stream.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._lock = threading.Lock()
        self._stream = path.open("ab", buffering=0)
        self._closed = False

    @property
    def path(self) -> Path:
        """File of the stream."""
        return self._path

    def mark_start(self) -> None:
        """The marker that every (re)start of a Job begins with."""
        self._write(_event(f"===== Job started at {now():%Y-%m-%d %H:%M:%S} ====="))

    def feed(self, chunk: bytes) -> None:
        r"""Append what the Job printed; lines are cut at `\\n` only, everything else passes through."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        while len(self._rest) > MAX_LINE:
            lines.append(self._rest[:MAX_LINE])
            self._rest = self._rest[MAX_LINE:]
        if lines:
            self._write(b"".join(_event(line.decode("utf-8", "replace")) for line in lines))

    def say(self, text: str) -> None:
        """A line of the Hub's own."""
        self._write(_event(text))

    def flush(self) -> None:
        """Write a last line that had no newline."""
        if self._rest:
            self._write(_event(self._rest.decode("utf-8", "replace")))
            self._rest = b""

    def close(self) -> None:
        """Nothing more comes."""
        with self._lock:
            if not self._closed:
                self._stream.close()
                self._closed = True

    def _write(self, data: bytes) -> None:
        with self._lock:
            if not self._closed:
                self._stream.write(data)


def _event(text: str) -> bytes:
    body = json.dumps({"data": text, "timestamp": iso(now())}, ensure_ascii=False, separators=(",", ":"))
    return f"data: {body}\n\n".encode("utf-8", "surrogatepass")


def events(path: Path) -> Iterator[bytes]:
    """Whole events of a log file, one by one."""
    rest = b""
    with path.open("rb") as stream:
        while chunk := stream.read(READ):
            parts = (rest + chunk).split(b"\n\n")
            rest = parts.pop()
            for part in parts:
                yield part + b"\n\n"


def tail(path: Path, count: int) -> tuple[list[bytes], int]:
    """The first event (the marker) and the last `count` ones, and the byte where the stream goes on."""
    first: bytes | None = None
    kept: deque[bytes] = deque(maxlen=max(count, 0))
    size = 0
    for event in events(path):
        size += len(event)
        if first is None:
            first = event
        else:
            kept.append(event)
    return [*([first] if first else []), *kept], size

"""The log of one Job on disk, stored as the very bytes of its event stream, so that serving it is copying a file.

JSON escapes every newline, so a blank line only ever stands between two events.
Source of the format: huggingface_hub 2.4.0 `hf_api.py` `fetch_job_logs`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from hf_train.local_hub.http import iso, now

MAX_LINE = 1 << 20
"""A longer line is cut into events of this many bytes, so that a Job without a newline eats no memory."""
READ = 1 << 18
_quote = json.encoder.encode_basestring  # leaves U+2028 and the like as they are, as JavaScript's JSON.stringify does


class JobLog:
    """Appends lines. One thread writes; readers read the file.

    Args:
        path: File of the stream.
        clock: What gives the timestamps; one that steps back does not show.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._clock = clock
        self._last = ""
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
        self._write([f"===== Job started at {self._clock():%Y-%m-%d %H:%M:%S} ====="])

    def feed(self, chunk: bytes) -> None:
        r"""Append what the Job printed; lines are cut at `\\n` only, everything else passes through."""
        whole, newline, self._rest = (self._rest + chunk).rpartition(b"\n")
        lines = whole.decode("utf-8", "replace").split("\n") if newline else []
        if len(whole) > MAX_LINE:
            lines = [piece for line in lines for piece in _pieces(line)]
        while len(self._rest) > MAX_LINE:
            at = _character_start(self._rest, MAX_LINE)
            lines.append(self._rest[:at].decode("utf-8", "replace"))
            self._rest = self._rest[at:]
        self._write(lines)

    def say(self, text: str) -> None:
        """A line of the Hub's own."""
        self.flush()
        self._write([text])

    def flush(self) -> None:
        """Write a last line that had no newline."""
        if self._rest:
            self._write([self._rest.decode("utf-8", "replace")])
            self._rest = b""

    def close(self) -> None:
        """Nothing more comes."""
        self.flush()
        with self._lock:
            if not self._closed:
                self._stream.close()
                self._closed = True

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        with self._lock:
            if self._closed:
                return
            self._last = max(self._last, iso(self._clock()))  # all of one width, so text order is time order
            end = f',"timestamp":"{self._last}"}}\n\n'
            text = "".join([f'data: {{"data":{_quote(line)}{end}' for line in lines])
            self._stream.write(text.encode())


def _pieces(line: str) -> Iterator[str]:
    for at in range(0, max(len(line), 1), MAX_LINE):
        yield line[at : at + MAX_LINE]


def _character_start(data: bytes, at: int) -> int:
    """The last place up to `at` where a UTF-8 character begins."""
    for place in range(at, at - 4, -1):
        if data[place] & 0xC0 != 0x80:
            return place
    return at


def tail(path: Path, count: int) -> tuple[bytes, int]:
    """Where to begin for the last `count` events.

    Returns:
        The first event of the log (the marker, which every stream begins with) when the tail begins after it, and the
        offset of the tail.
    """
    with path.open("rb") as stream:
        first = stream.read(READ).partition(b"\n\n")[0] + b"\n\n"
        size = stream.seek(0, 2)
        position, found, after = size, -1, b""
        while position > 0:
            step = min(READ, position)
            position -= step
            stream.seek(position)
            block = stream.read(step)
            window, at = block + after, len(block) + len(after)
            while (at := window.rfind(b"\n\n", 0, at)) >= 0:
                found += 1
                if found == count:
                    start = position + at + 2
                    return (first, max(start, len(first))) if start else (b"", 0)
            after = block[:1]
    return b"", 0


def mend(path: Path) -> None:
    """Cut off an event that was half written when the Hub was killed."""
    path.touch()
    size = path.stat().st_size
    with path.open("rb+") as stream:
        while size > 0:
            start = max(0, size - READ)
            stream.seek(start)
            at = stream.read(size - start).rfind(b"\n\n")
            if at >= 0:
                stream.truncate(start + at + 2)
                return
            size = start + 1 if start else 0
        stream.truncate(0)

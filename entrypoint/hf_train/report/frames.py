"""Where a traceback left the repository: the frame that a review can point at.

Lines of a Job are hostile, so a path is only a proposal here; the caller asks whether the repository has such a file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from hf_train.collect.cleaning import clean, payload

MAX_PATH = 200
MAX_FRAMES = 8
"""Frames of the repository that are kept of one traceback, the innermost first."""
MAX_TRACEBACKS = 32
MAX_NAME = 1000
_COPY = re.compile(r"/(?:.*/)?hf-train\.[A-Za-z0-9]{6}/")
"""The folder that the command runs in: a writable copy of the mount (`jobside/start.sh`, `mktemp`)."""
_HEADER = "Traceback (most recent call last)"
_FILE = re.compile(r'\s*File "([^"\x00-\x1f\x7f]+)", line ([1-9]\d{0,6})\b')


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One place in the repository.

    Attributes:
        path: Path in the repository, with slashes.
        line: Line, from 1.
    """

    path: str
    line: int


@dataclass(slots=True)
class Frames:
    """Reads a log for tracebacks: streaming, constant memory.

    Attributes:
        mount: Where the code lies in the Job.
        folder: Which folder of the repository that is; `.` for the whole.
    """

    mount: str
    folder: str = "."
    _open: bool = field(default=False, init=False)
    _here: deque[Frame] = field(default_factory=lambda: deque(maxlen=MAX_FRAMES), init=False)
    _seen: deque[tuple[str, tuple[Frame, ...]]] = field(
        default_factory=lambda: deque(maxlen=MAX_TRACEBACKS), init=False
    )

    def feed(self, lines: Iterable[str]) -> None:
        """Take the next lines of the log, whole ones."""
        for line in lines:
            # Few lines of a log are of interest, and cleaning is not free.
            if self._open or _HEADER in line:
                for text in clean(line):
                    self._line(text.rstrip("\r"))

    def of(self, cause: str) -> tuple[Frame, ...]:
        """Frames of the newest traceback that ended with this exception, the innermost first.

        Args:
            cause: The line that proves the cause of a failure. Without one nothing is pointed at.
        """
        wanted = _bare(cause)[:MAX_PATH]
        for exception, frames in reversed(self._seen):
            if wanted and frames and exception.startswith(wanted):
                return frames
        return ()

    def _line(self, text: str) -> None:
        if _HEADER in text:
            self._open = True
            self._here.clear()
            return
        bare = payload(text)
        if match := _FILE.match(bare):
            if frame := self._frame(match[1], int(match[2])):
                self._here.appendleft(frame)
        elif bare[:1].strip() and self._open and _bare(bare):
            # Code and markers are indented; the first line that is not is the exception.
            self._seen.append((_bare(bare)[:1000], tuple(self._here)))
            self._open = False

    def _frame(self, name: str, line: int) -> Frame | None:
        if len(name) > MAX_NAME or name.startswith("<"):
            return None
        copy = _COPY.match(name)
        inside = name[copy.end() :] if copy else name.removeprefix(f"{self.mount.rstrip('/')}/")
        path = PurePosixPath(inside)
        if path.is_absolute() or ".." in path.parts or len(inside) > MAX_PATH:
            return None
        return Frame(path=str(PurePosixPath(self.folder) / path), line=line)


def _bare(text: str) -> str:
    return payload(text).strip()

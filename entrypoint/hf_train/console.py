"""Adapter: what the user reads in the step's log, and the files that GitHub gives a step.

Everything goes to stdout: the runner reads stderr separately and first, so a remote line there would be parsed while
commands are stopped on stdout.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from hf_train.text.redact import Redactor, coats
from hf_train.text.unbroken import Unbroken
from hf_train.text.untrusted import bar, clean, is_harmless, printable

MAX_LINES = 50_000
MAX_BYTES = 20 << 20
MAX_TITLE = 250
MAX_MESSAGE = 4000
"""The runner cuts an annotation at 4,096 characters."""
GUTTER = "| "
"""Stands before each remote line, so that problem matchers of other steps (anchored at the line start) stay quiet."""


BAR_S = 1.0
"""A progress bar is shown at most once a second, and at its end."""


class PlainConsole:
    """The console of a terminal: no workflow commands.

    Args:
        redact: Takes secrets out of text.
        stream: Where to print; stdout by default.
        monotonic: Seconds, for progress bars.
    """

    def __init__(
        self, redact: Redactor, stream: TextIO | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._redactor = redact
        self._unbroken = Unbroken(redact)
        self._stream = stream or sys.stdout
        self._monotonic = monotonic
        self._bar = ""
        self._bar_at = 0.0
        self._bar_waits = ""
        self._lines = 0
        self._bytes = 0
        self._dropped = 0
        self._token = ""

    def redact(self, text: str) -> str:
        """The text without any known secret."""
        return self._redactor(text)

    def info(self, text: str = "") -> None:
        """A line of ours; it may quote others (a command from a config file), so it is cleaned as theirs are."""
        self._print("\n".join(printable(text, self._redactor)))

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        """A headline."""
        self.info(f"-- {title}")
        yield

    def notice(self, title: str, message: str) -> None:
        """Something to know."""
        self.info(f"note: {title}: {message}")

    def warning(self, title: str, message: str) -> None:
        """Something to look at."""
        self.info(f"warning: {title}: {message}")

    def error(self, title: str, message: str, file: str = "", line: int = 0) -> None:
        """A failure."""
        self.info(f"error: {f'{file}:{line}: ' if file else ''}{title}: {message}")

    @contextlib.contextmanager
    def untrusted(self) -> Iterator[None]:
        """A window for remote lines."""
        try:
            yield
        finally:
            self._print_all(self._last_bar())
            if self._dropped:
                self._print(f"... {self._dropped} more line(s) are not shown here; the full log is on the Job's page")
                self._dropped = 0

    def whole(self, lines: Sequence[str], *, last: bool = False) -> Sequence[str]:
        """Lines without secrets that are broken over several; what may be the beginning of one waits."""
        ready = self._unbroken.feed(lines)
        return [*ready, *self._unbroken.flush()] if last else ready

    def remote(self, lines: Sequence[str]) -> None:
        """Lines that a Job printed."""
        batch = "\n".join(lines)
        clear = self._redactor(batch) == batch  # one search for all of them, not one for each
        out: list[str] = []
        for line in lines:
            if self._is_full():
                self._dropped += 1
                continue
            for safe in (line,) if clear and is_harmless(line) else printable(line, self._redactor):
                if self._is_full():
                    self._dropped += 1
                    continue
                if self._bar or "%" in safe or "/" in safe:
                    out += self._thinned(safe)
                else:
                    out.append(safe)
                self._lines += 1
                self._bytes += len(safe)
        self._print_all(out)

    def _thinned(self, line: str) -> Sequence[str]:
        """What is printed when this line comes: of a progress bar one state a second, and its last."""
        kind = bar(line)
        if kind and kind == self._bar and self._monotonic() - self._bar_at < BAR_S:
            self._bar_waits = line
            return ()
        before = self._last_bar() if kind != self._bar else ()
        self._bar, self._bar_waits = kind, ""
        if kind:
            self._bar_at = self._monotonic()
        return (*before, line)

    def _last_bar(self) -> Sequence[str]:
        waits, self._bar_waits = self._bar_waits, ""
        return (waits,) if waits else ()

    def _print_all(self, lines: Sequence[str]) -> None:
        if lines:
            self._print("\n".join(GUTTER + line for line in lines))

    def _is_full(self) -> bool:
        return self._lines >= MAX_LINES or self._bytes >= MAX_BYTES

    def _print(self, text: str) -> None:
        """Print. A reader that went away (`| head`) or a full disk ends the talk, not the watch over a paid Job."""
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except OSError:
            silence = os.open(os.devnull, os.O_WRONLY)
            with contextlib.suppress(OSError, ValueError):  # what the stream still holds must not fail at the exit
                os.dup2(silence, self._stream.fileno())
            os.close(silence)


class GitHubConsole(PlainConsole):
    """The console of a runner: groups, annotations and a window in which it obeys nothing."""

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        """A folded group."""
        self._print(f"::group::{_data(self._words(title, MAX_TITLE))}")
        try:
            yield
        finally:
            self._print("::endgroup::")

    def notice(self, title: str, message: str) -> None:
        """A notice annotation."""
        self._annotate("notice", title, message)

    def warning(self, title: str, message: str) -> None:
        """A warning annotation."""
        self._annotate("warning", title, message)

    def error(self, title: str, message: str, file: str = "", line: int = 0) -> None:
        """An error annotation."""
        where = f"file={_property(self._words(file, MAX_TITLE))},line={line}," if file else ""
        self._annotate("error", title, message, where)

    def mask(self, values: Sequence[str]) -> None:
        """Have the runner mask these values in each coat that we know, their lines too: it masks line by line.

        What is shorter than six characters is not masked: a brace of a JSON secret would blank the log, and the runner
        drops every output that holds a masked text.
        """
        for mask in dict.fromkeys(coat for value in values for coat in coats(value)):
            self._print(f"::add-mask::{_data(mask)}")

    @contextlib.contextmanager
    def untrusted(self) -> Iterator[None]:
        """Stop workflow commands with a fresh 256-bit token, whatever happens inside. A window in a window is one."""
        if self._token:
            yield
            return
        self._stop()
        try:
            with super().untrusted():
                yield
        finally:
            self._resume()

    def _stop(self) -> None:
        self._token = secrets.token_hex(32)
        self._print(f"::stop-commands::{self._token}")

    def _resume(self) -> None:
        self._print(f"::{self._token}::")
        self._token = ""

    def _annotate(self, kind: str, title: str, message: str, where: str = "") -> None:
        stopped = bool(self._token)
        if stopped:
            self._resume()
        words = _data(self._words(message, MAX_MESSAGE))
        self._print(f"::{kind} {where}title={_property(self._words(title, MAX_TITLE))}::{words}")
        if stopped:
            self._stop()

    def _words(self, text: str, most: int) -> str:
        """A text of an annotation: cleaned, redacted, cut."""
        return self.redact("\n".join(clean(self.redact(text))))[:most]


def _data(text: str) -> str:
    """Escaped as the runner unescapes message data (actions/toolkit `command.ts`)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escaped as the runner unescapes a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")

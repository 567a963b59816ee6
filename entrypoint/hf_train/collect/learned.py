"""Lines that come again: what differs from one to the next is only digits, and the grammar need not be asked each time.

A training prints the same line a million times with other numbers. The first few are read by the grammar; then the line
itself is made into one pattern, in which the numbers that were taken are captured and every other digit may be any. The
pattern is strict about all that the grammar looks at (names, prefixes, lengths), so a line that matches it would have
been read the same way by the grammar; each other line is still read by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

AFTER = 12
"""Lines of one shape before it is learned: making a pattern costs as much as reading fifty lines."""
_MAX_LINE = 600
_MAX_SHAPES = 2048
_MAX_PATTERNS = 64  # that a log may cost; a log with more shapes than that is read by the grammar
_PER_SHAPE = 3  # numbers grow: one pattern each for few, more and many digits

_INSIDE = re.compile(r"\d\d")
_RUN = re.compile(r"\d+")
_WORDS = re.compile(r"(?<![\w/@.%-])[^\W\d][\w/@.%-]*")
_LENGTHS = ((7, r"\d{1,7}"), (9, r"\d{8,9}"), (12, r"\d{10,12}"))
"""The grammar bounds epochs by 7 digits, batches by 9 and steps by 12."""


class Learned(Generic[T]):
    """Patterns of the lines of one log, and what each of them means."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._known: dict[bytes, list[tuple[re.Pattern[str], T]]] = {}
        self._patterns = 0

    def match(self, text: str) -> tuple[T, list[float]] | None:
        """The meaning of a known line and its captured numbers in order, or None."""
        if not self._known:
            return None
        for pattern, meaning in self._known.get(_shape(text), ()):
            found = pattern.fullmatch(text)
            if found:
                return meaning, [float(printed) for printed in found.groups()]
        return None

    def see(self, text: str, meaning: T, spans: Sequence[tuple[int, int]], start: int) -> None:
        """Take a line that the grammar read, and learn it when it has come often enough.

        Args:
            text: The line.
            meaning: What it says, without its numbers.
            spans: Where the numbers stand that were taken, in order, without overlap.
            start: Where the line begins behind its prefixes, in which the number of digits counts.
        """
        if self._patterns >= _MAX_PATTERNS or len(text) > _MAX_LINE:
            return
        shape = _shape(text)
        if len(self._seen) >= _MAX_SHAPES:
            self._seen.clear()
        count = self._seen[shape] = self._seen.get(shape, 0) + 1
        if count < AFTER:
            return
        self._seen[shape] = 0
        known = self._known.setdefault(shape, [])
        pattern = _pattern(text, spans, start) if len(known) < _PER_SHAPE else None
        if pattern is not None:
            self._patterns += 1
            known.insert(0, (pattern, meaning))


def _shape(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(None, b"0123456789")


def _pattern(text: str, spans: Sequence[tuple[int, int]], start: int) -> re.Pattern[str] | None:
    """The pattern of all lines that differ from this one only in digits that the grammar does not look at."""
    words = [found.span() for found in _WORDS.finditer(text, start)]
    # In front of the first word another number of digits may make, or unmake, a clock that is a prefix.
    start = max(start, words[0][0] if words else len(text))
    parts: list[str] = []
    at = 0
    for first, last in [*spans, (len(text), len(text))]:
        outside = _digits(text, at, first, start, words)
        number = _number(text[first:last])
        if outside is None or number is None or first < at or _INSIDE.match(text[last - 1 : last + 1]):
            return None
        parts += [outside, f"({number})" if last > first else ""]
        at = last
    return re.compile("".join(parts))


def _number(printed: str) -> str | None:
    """A captured number: its sign and its marks as they are, its digits free within what a float can hold."""
    whole, mark, exponent = printed.partition("e" if "e" in printed else "E")
    if len(exponent.lstrip("+-")) > 2:
        return None
    if "." in whole:
        before, _, after = whole.partition(".")
        body = _RUN.sub(r"\\d{1,12}", before) + r"\." + _RUN.sub(r"\\d{1,24}", after)
    else:
        lengths = [pattern for longest, pattern in _LENGTHS if len(whole.lstrip("+-")) <= longest]
        if not lengths:
            return None
        body = _RUN.sub(lambda _: lengths[0], whole)
    return body.replace("+", r"\+") + mark + _RUN.sub(r"\\d{1,2}", exponent).replace("+", r"\+")


def _digits(text: str, first: int, last: int, start: int, words: Sequence[tuple[int, int]]) -> str | None:
    """The text between two captured numbers: words and their digits as they are, other digits free."""
    parts: list[str] = []
    at = first
    for run in _RUN.finditer(text, first, last):
        begin, end = run.span()
        if any(low <= begin < high for low, high in words):
            continue
        parts.append(re.escape(text[at:begin]))
        lengths = [pattern for longest, pattern in _LENGTHS if end - begin <= longest]
        parts.append(rf"\d{{{end - begin}}}" if begin < start or not lengths else lengths[0])
        at = end
    parts.append(re.escape(text[at:last]))
    return "".join(parts)

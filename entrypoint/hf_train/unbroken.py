"""Secrets that are broken over lines: wrapped by a terminal, or printed in two pieces. Pure.

A line whose end may be the beginning of a secret waits for the next one. Fewer than four characters are no reason to
wait (every second line ends like some secret begins); they may be shown, and the rest is taken out all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hf_train.redact import Redactor, spans_of
from hf_train.untrusted import clean

LEAST = 4
MOST_HELD = 64
"""Lines that wait at most; no wrapped secret has more, and a secret like `aaaaaa` would hold lines for ever."""


@dataclass(slots=True)
class _Piece:
    """A line that waits: the line, and where its text without the white space around stands in the joined text."""

    line: str
    at: int
    body: str


class Unbroken:
    """Lines as they come, without secrets that are broken over several of them.

    Args:
        redactor: Knows the secrets.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._coats = tuple(dict.fromkeys(whole for coat in redactor.coats for whole in (coat, *_wrapped(coat))))
        self._prefixes: dict[str, list[str]] = {}
        for coat in self._coats:
            for end in range(LEAST, len(coat)):
                self._prefixes.setdefault(coat[end - LEAST : end], []).append(coat[:end])
        self._heads = {coat[start : start + LEAST] for coat in self._coats for start in range(1, LEAST)}
        self._held: list[_Piece] = []
        self._text = ""

    def feed(self, lines: Sequence[str]) -> Sequence[str]:
        """Lines that can be shown now, in order."""
        if not self._coats:
            return lines
        out: list[str] = []
        for line in lines:
            if self._is_clear(line):
                self._text = line[-(LEAST - 1) :]
                out.append(line)
            else:
                out += self._take(line)
        return out

    def flush(self) -> Sequence[str]:
        """What still waits: no next line will come."""
        return self._release()

    def _is_clear(self, line: str) -> bool:
        """The common case, cheaply: nothing waits, and nothing can begin at its end or end at its beginning."""
        tail = line[-LEAST:]
        return (
            not self._held
            and tail not in self._prefixes
            and line[:LEAST] not in self._heads
            and line.isprintable()
            and not line.startswith(" ")
            and not tail.endswith(" ")
            and len(line) >= LEAST
        )

    def _take(self, line: str) -> Sequence[str]:
        body = line.strip() if line.isprintable() else "".join(clean(line)).strip()
        self._held.append(_Piece(line, len(self._text), body))
        self._text += body
        if len(self._held) < MOST_HELD and self._may_go_on():
            return ()
        return self._release()

    def _may_go_on(self) -> bool:
        return any(self._text.endswith(prefix) for prefix in self._prefixes.get(self._text[-LEAST:], ()))

    def _release(self) -> Sequence[str]:
        held, text = self._held, self._text
        self._held, self._text = [], text[-(LEAST - 1) :]
        if len(held) == 1 and held[0].body[:LEAST] not in self._heads:
            return [held[0].line]
        spans = [span for coat in self._coats if coat in text for span in spans_of(coat, text)]
        return [_shown(one, spans) for one in held]


def _shown(piece: _Piece, spans: Sequence[tuple[int, int]]) -> str:
    """The line, without what of it belongs to a secret that goes beyond it."""
    end = piece.at + len(piece.body)
    cuts = sorted(
        (max(a, piece.at), min(b, end)) for a, b in spans if a < end and b > piece.at and (a < piece.at or b > end)
    )
    if not cuts:
        return piece.line
    kept: list[str] = []
    at = piece.at
    for start, stop in cuts:
        if start >= at:
            kept += [piece.body[at - piece.at : start - piece.at], "***"]
        at = max(at, stop)
    shown = "".join([*kept, piece.body[at - piece.at :]])
    return piece.line.replace(piece.body, shown, 1) if piece.body in piece.line else shown


def _wrapped(coat: str) -> list[str]:
    """A secret with blanks in it, as it is read when a line ended at one of them."""
    return [coat[:at] + coat[at + 1 :] for at, sign in enumerate(coat) if sign.isspace()]

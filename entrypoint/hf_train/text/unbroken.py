"""Secrets that are broken over lines: wrapped by a terminal, or printed in two pieces. Pure.

A line whose end may be the beginning of a secret waits for the next one. A few characters (fewer than `LEAST`) are no
reason to wait, for every second line ends like some secret begins; they may be shown, and the rest is taken out all the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hf_train.text.redact import Redactor, spans_of
from hf_train.text.untrusted import clean

LEAST = 4
LEAST_OF_LONG = 8
"""The same for a secret of more than 64 characters (a key, a service account): its hex digits are full of any four."""
LONG = 64
SPARE = 64
"""So many lines more than the longest secret has characters may wait; one like `aaaaaa` would hold lines for ever."""


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
        # A line whose last characters stand in no secret needs no other look.
        self._tails: dict[int, set[str]] = {LEAST: set(), LEAST_OF_LONG: set()}
        self._heads: set[str] = set()
        for coat in self._coats:
            least = _least(coat)
            self._tails[least].update(coat[end - least : end] for end in range(least, len(coat)))
            self._heads.update(coat[start : start + LEAST] for start in range(1, least))
        self._most = max(map(len, self._coats), default=0) + SPARE
        self._held: list[_Piece] = []
        self._text = ""

    def feed(self, lines: Sequence[str]) -> Sequence[str]:
        """Lines that can be shown now, in order."""
        if not self._coats:
            return lines
        out: list[str] = []
        for line in lines:
            if self._is_clear(line):
                self._text = line[1 - LEAST_OF_LONG :]
                out.append(line)
            else:
                out += self._take(line)
        return out

    def flush(self) -> Sequence[str]:
        """What still waits: no next line will come."""
        return self._release()

    def _is_clear(self, line: str) -> bool:
        """The common case, cheaply: nothing waits, and nothing can begin at its end or end at its beginning."""
        return (
            not self._held
            and line[-LEAST:] not in self._tails[LEAST]
            and line[-LEAST_OF_LONG:] not in self._tails[LEAST_OF_LONG]
            and line[:LEAST] not in self._heads
            and line.isprintable()
            and line[:1] != " "
            and line[-1:] != " "
            and len(line) >= LEAST_OF_LONG
        )

    def _take(self, line: str) -> Sequence[str]:
        body = line.strip() if line.isprintable() else "".join(clean(line)).strip()
        self._held.append(_Piece(line, len(self._text), body))
        self._text += body
        if len(self._held) < self._most and self._may_go_on():
            return ()
        return self._release()

    def _may_go_on(self) -> bool:
        for least, tails in self._tails.items():
            tail = self._text[-least:]
            if tail in tails and any(
                stop < len(coat) and self._text.endswith(coat[:stop])
                for coat in self._coats
                if _least(coat) == least
                for _, stop in spans_of(tail, coat)
            ):
                return True
        return False

    def _release(self) -> Sequence[str]:
        held, text = self._held, self._text
        self._held, self._text = [], text[1 - LEAST_OF_LONG :]
        if len(held) == 1 and held[0].body[:LEAST] not in self._heads:
            return [held[0].line]
        spans = [span for coat in self._coats if coat in text for span in spans_of(coat, text)]
        return [_shown(one, spans) for one in held]


def _least(coat: str) -> int:
    return LEAST if len(coat) <= LONG else LEAST_OF_LONG


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

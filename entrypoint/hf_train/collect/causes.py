"""Why a training failed, as far as its log tells.

While the log streams, lines that may matter are kept (a bounded number of the first and of the last); only at the end
are they held against the signatures, so that a log full of the word "error" stays cheap. What was caught and survived
is forgotten: a line counts only when neither an end sign nor three steps of progress follow it. Tracebacks are taken
apart by rank; a launcher's traceback is never the cause.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from hf_train.collect.cleaning import payload, rank_of, without_rank
from hf_train.collect.ledger import Ledger
from hf_train.collect.signatures import HINTS, SIGNATURES

NEEDLES = (
    "rror", "ERROR", "xception", "raceback", "illed", "xit", "ignal", "SIG", "ssert", "No space",
    "of memory", "ed memory", "ate memory", "ough memory", "return code", "what()",
    "ailed", "imeout", "IME LIMIT", "enied", "ot found", "No module", "CUDA", "GPU", "\u00d7 ", "egmentation", "bort",
    "erminated", "nvalid", "s nan", "d nan", "t nan", "nan or", "or NaN", " is inf", "open file",
    "orbidden", "gated", "Read-only", "template", "required", "unrecognized",
    "expired", "rank ", "Root Cause", "SignalException", "direct cause", "handling of",
    "Could not", "ush_to_hub", "reate_commit", "pload",
)  # fmt: skip
"""A segment with none of these is never looked at."""

_HEADER = "Traceback (most recent call last)"
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Failure|Interrupt|Exit|Timeout|NotFound)(?:\s*:(?:\s|$)|\s*$)"
)
_EXCEPTION_WORDS = ("Error", "Exception", "Failure", "Interrupt", "Exit", "Timeout", "NotFound")
_LAUNCHER = re.compile(
    r"\b(?:ChildFailedError|CalledProcessError|ProcessExitedException|ProcessRaisedException|SystemExit)\b"
)
_FRAME = re.compile(r'^\s*(?:File "|\^+|~*\^|raise |return |self\.|result = |frame #)')
_LINK = ("direct cause of the following", "handling of the above exception")
_UPLOADING = re.compile(
    r"\bin (?:upload_\w+|create_commit|push_to_hub|_?preupload\w*|_upload\w*|_push_from_checkpoint|upload)\b"
)
_ROOT = re.compile(r"^\s*rank\s*: (\d{1,5}) \(local_rank")
_EXIT_CODE = re.compile(r"(?i)\bexit(?:ed with)?[ _]?code:? [1-9]\d{0,2}\b|Training job failed\b")
_PREFIXED = frozenset("[(0123456789>")
_KEPT = 250
_SURVIVED = 3  # steps of progress after a line that make it harmless
_CONTEXT = 8  # segments after an exception that may still be its message
_CONSEQUENCES = frozenset({"network", "nccl"})


class _Line(NamedTuple):
    text: str
    rank: int | None
    number: int
    advances: int
    exception: bool = False
    launcher: bool = False
    context: bool = False
    chain: int = 0


@dataclass(frozen=True)
class Cause:
    """Why it failed.

    Attributes:
        code: One of `signatures.CODES`.
        line: The line that proves it, or None when the log does not hold it.
        rank: The rank that printed it.
        hint: What to do.
        tail: The last lines up to the failure.
    """

    code: str
    line: str | None
    rank: int | None
    hint: str
    tail: tuple[str, ...]


class _Kept:
    """The first and the last of many lines, with the survived ones forgotten."""

    def __init__(self) -> None:
        self.first: list[_Line] = []
        self.last: deque[_Line] = deque(maxlen=_KEPT)

    def add(self, line: _Line, *, stale: bool) -> None:
        if stale:
            self.first.clear()
            self.last.clear()
        if len(self.first) < _KEPT:
            self.first.append(line)
        else:
            self.last.append(line)

    def newest(self) -> _Line | None:
        return self.last[-1] if self.last else self.first[-1] if self.first else None

    def lines(self) -> list[_Line]:
        return self.first + list(self.last)


class Causes:
    """Collects the failures of one log."""

    def __init__(self, ledger: Ledger) -> None:
        self.recent: deque[str] = deque(maxlen=24)
        self._ledger = ledger
        self._exceptions = _Kept()
        self._others = _Kept()
        self._open: dict[int | None, _Line] = {}
        self._chains: dict[int | None, int] = {}
        self._linked: set[int | None] = set()
        self._ignored = False
        self._last_exception: dict[int | None, int] = {}
        self._root_next = False
        self._root_rank: int | None = None
        self._uploading = -1000
        self._tail: tuple[str, ...] = ()

    def read(self, text: str) -> None:
        """Look at one segment that holds one of `NEEDLES`."""
        rank = rank_of(text)
        if _HEADER in text:
            self._header(text, rank)
            return
        bare = without_rank(text)
        if bare[:1] in _PREFIXED:
            bare = payload(bare)
        if _FRAME.match(bare):
            if "in " in bare and _UPLOADING.search(bare):
                self._uploading = self._ledger.line
            return
        if any(link in bare for link in _LINK):
            self._linked.add(rank)
            return
        if "Exception ignored in" in bare:
            self._ignored = True
            return
        if self._root(bare):
            return
        self._line(text, bare, rank)

    def cause(self) -> Cause | None:
        """The failure that the log ends with, or None when it ends without one."""
        exceptions = [line for line in self._exceptions.lines() if self._fresh(line)]
        others = [line for line in self._others.lines() if self._fresh(line)]
        unfinished = [line for line in self._open.values() if self._fresh(line)]
        best = self._best(exceptions, others, failed=bool(unfinished))
        if best is not None:
            return best
        exited = [line for line in others if _EXIT_CODE.search(line.text)]
        if not unfinished and not exited:
            return None
        return Cause("unknown", None, None, HINTS["unknown"], self._tail or tuple(self.recent))

    def _header(self, text: str, rank: int | None) -> None:
        if rank not in self._open and len(self._open) > 128:
            return
        self._chains.setdefault(rank, 0)
        if rank in self._linked:
            self._linked.discard(rank)
        else:
            self._chains[rank] += 1
        self._open[rank] = self._make(text, rank)
        head = text[: text.find(_HEADER)]
        if not self._ignored and head.strip():
            # An error may stand in front, glued to the header.
            self._others.add(self._make(text, rank), stale=False)

    def _root(self, bare: str) -> bool:
        if "Root Cause (first observed failure)" in bare:
            self._root_next = True
            return True
        found = _ROOT.match(bare) if self._root_next else None
        if found:
            self._root_rank, self._root_next = int(found[1]), False
        return bool(found)

    def _line(self, text: str, bare: str, rank: int | None) -> None:
        number, advances = self._ledger.line, self._ledger.tracker.advances
        stripped = payload(bare).strip() if any(word in bare for word in _EXCEPTION_WORDS) else ""
        if not stripped or not _EXCEPTION.match(stripped[:400]):
            near = rank in self._open or number - self._last_exception.get(rank, -1000) <= _CONTEXT
            self._keep(self._others, _Line(text[:2000], rank, number, advances, context=near))
            return
        self._open.pop(rank, None)
        if self._ignored:
            self._ignored = False
            return
        launcher = bool(_LAUNCHER.search(stripped[:200]))
        if len(self._last_exception) < 256:
            self._last_exception[rank] = number
        chain = self._chains.get(rank, 0)
        self._keep(self._exceptions, _Line(text[:2000], rank, number, advances, True, launcher, False, chain))
        if not launcher:
            self._tail = tuple(self.recent)

    def _keep(self, kept: _Kept, line: _Line) -> None:
        newest = kept.newest()
        kept.add(line, stale=newest is not None and not self._fresh(newest))

    def _make(self, text: str, rank: int | None) -> _Line:
        return _Line(text[:2000], rank, self._ledger.line, self._ledger.tracker.advances)

    def _fresh(self, line: _Line) -> bool:
        ended = self._ledger.succeeded
        if ended is not None and ended > line.number:
            return False
        return self._ledger.tracker.advances - line.advances < _SURVIVED

    def _best(self, exceptions: list[_Line], others: list[_Line], *, failed: bool) -> Cause | None:
        final = {line.rank: line.chain for line in exceptions if not line.launcher}
        found: list[tuple[tuple[int, int, int, int, int], str, _Line]] = []
        for line in exceptions + others:
            last = not line.exception or line.launcher or line.chain >= final.get(line.rank, 0)
            elsewhere = int(None not in (self._root_rank, line.rank) and self._root_rank != line.rank)
            for row, code, trust, fatal in _hits(line, failed=failed or bool(exceptions)):
                named = line.exception or (fatal and not line.text.startswith("terminate called"))
                order = (trust + (0 if last else 3), elsewhere, row, 0 if named else 1, line.number)
                found.append((order, code, line))
        if not found:
            return None
        _, code, line = min(found, key=lambda item: item[0])
        return self._tell(code, line)

    def _tell(self, code: str, line: _Line) -> Cause:
        done = self._ledger.tracker.finished or self._ledger.succeeded is not None
        uploading = 0 <= line.number - self._uploading < 80
        if uploading and code in {"network", "unknown"}:
            code = "upload-failed"
        hint = HINTS[code]
        if uploading and done and code in {"auth", "no-permission", "not-found", "gated"}:
            hint = f"The training finished, the upload to the Hub failed. {hint}"
        rank = line.rank if line.rank is not None else self._root_rank
        text = without_rank(line.text).rstrip()
        return Cause(code, text, rank, hint, self._tail or tuple(self.recent))


def _hits(line: _Line, *, failed: bool) -> list[tuple[int, str, int, bool]]:
    """Rows of the table that a line matches, as ``(row, code, trust, fatal)``; a smaller trust is better.

    Trust: 0 an exception's own text or a fatal line, 1 an exception without a known signature, 2 a process killed from
    outside, 3 network and NCCL (often a consequence), 4 a launcher, 6 a mere mention.
    """
    hits: list[tuple[int, str, int, bool]] = []
    body = payload(without_rank(line.text))
    for row, signature in enumerate(SIGNATURES):
        if line.exception and line.launcher and not signature.launcher:
            continue
        if not (signature.pattern.search(line.text) or signature.pattern.search(body)):
            continue
        strong = signature.fatal or line.exception or (line.context and failed)
        if signature.launcher:
            trust = 2 if signature.code == "oom-host" else 4
        elif not strong:
            trust = 6
        else:
            trust = 3 if signature.code in _CONSEQUENCES else 0
        if strong or failed:
            hits.append((row, signature.code, trust, signature.fatal))
    if line.exception and not line.launcher and not hits:
        hits.append((len(SIGNATURES), "unknown", 1, False))
    return hits

"""Reads the log of any training: streaming, one pass, constant memory, never an evaluation.

reader = LogReader()
for chunk in stream:
    reader.feed(chunk)
    live = reader.snapshot()
reading = reader.close()
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

from hf_train.collect.causes import NEEDLES, Cause, Causes
from hf_train.collect.cleaning import Segments, whole_tokens
from hf_train.collect.families import FAMILIES, Family, Read
from hf_train.collect.ledger import Ledger
from hf_train.collect.links import NEEDLES as LINK_NEEDLES
from hf_train.collect.links import Links
from hf_train.collect.reading import LogReading, Progress, Status
from hf_train.collect.signatures import HINTS

_SHAPE = 400  # longer lines are routed anew each time
_ROUTES = 8192
_NO_DIGITS = dict.fromkeys(range(ord("0"), ord("9") + 1))


class _Route(NamedTuple):
    families: tuple[Read, ...]
    cause: bool
    link: bool


_NOWHERE = _Route((), cause=False, link=False)


def _any_of(needles: tuple[str, ...], text: str) -> bool:
    for needle in needles:  # noqa: SIM110 - a generator costs three times as much here
        if needle in text:
            return True
    return False


def _offered(family: Family, needles: tuple[str, ...], bare: str) -> bool:
    """Whether a segment, without its digits, may be the family's."""
    return _any_of(needles, bare) and (family.wants is None or family.wants(bare))


class LogReader:
    """Reads one log. The reading does not depend on where the chunks were cut."""

    def __init__(self) -> None:
        self._segments = Segments()
        self._ledger = Ledger()
        self._causes = Causes(self._ledger)
        self._links = Links()
        self._rows = tuple(
            (family, tuple(needle.translate(_NO_DIGITS) for needle in family.needles), family.make(self._ledger))
            for family in FAMILIES
        )
        self._routes: dict[bytes | None, _Route] = {}
        self._cut: str | None = None
        self._reading: LogReading | None = None

    def feed(self, chunk: bytes | str) -> None:
        """Take the next part of the log.

        Args:
            chunk: Bytes as they came, cut anywhere; or text.

        Raises:
            ValueError: The reader was closed.
        """
        if self._reading is not None:
            msg = "the reader is closed"
            raise ValueError(msg)
        self._read(self._segments.feed(chunk))

    def snapshot(self) -> Progress:
        """How far the training is now: for a live report, at any time."""
        tracker = self._ledger.tracker
        return Progress(
            step=tracker.step,
            total=tracker.total,
            epoch=tracker.epoch,
            metrics=MappingProxyType(self._ledger.metrics()),
            steps_per_second=tracker.steps_per_second(),
            eta_seconds=tracker.eta_seconds(),
        )

    def close(self) -> LogReading:
        """End of the log. Closing again returns the same reading."""
        if self._reading is None:
            done, last = self._segments.close()
            self._read(done)
            for text in last:
                self._read_cut(text)
            self._reading = self._finish()
        return self._reading

    def _read(self, segments: list[str]) -> None:
        ledger, routes = self._ledger, self._routes
        remember = self._causes.recent.append
        for text in segments:
            ledger.line += 1
            remember(text)
            # Lines that differ only in their digits take the same way; most logs have few such shapes.
            shape = text.encode("utf-8", "replace").translate(None, b"0123456789") if len(text) <= _SHAPE else None
            route = routes.get(shape)
            if route is None:
                route = self._route(text, shape)
                if shape is not None:
                    if len(routes) >= _ROUTES:
                        routes.clear()
                    routes[shape] = route
            if route is _NOWHERE:
                continue
            for read in route.families:
                if read(text):
                    break
            if route.cause:
                self._causes.read(text)
            if route.link and self._links.read(text):
                ledger.success()

    def _route(self, text: str, shape: bytes | None) -> _Route:
        """Who may want lines of this shape. Digits do not count, so the answer holds for the whole shape."""
        bare = text.translate(_NO_DIGITS) if shape is None else shape.decode("utf-8", "replace")
        families = tuple([read for family, needles, read in self._rows if _offered(family, needles, bare)])
        # Boxes hold tables and text of models.
        cause = "│" not in bare and _any_of(NEEDLES, bare)
        link = "://" in bare and _any_of(LINK_NEEDLES, bare)
        return _Route(families, cause, link) if families or cause or link else _NOWHERE

    def _read_cut(self, text: str) -> None:
        """The last line has no end: its last number may be cut, its error still counts."""
        self._ledger.line += 1
        self._causes.recent.append(text)
        # Inside of a cut dict there are no pairs of a line: whose they are stands behind the brace that is missing.
        whole = whole_tokens(text) if text.count("{") <= text.count("}") else ""
        claimed = False
        for family, needles, read in self._rows:
            part = text if family.closed else whole
            if not claimed and _offered(family, needles, part.translate(_NO_DIGITS)):
                claimed = read(part)
        if any(needle in text for needle in NEEDLES):
            self._causes.read(text)
        if not text.rstrip().endswith(("]", "}")):
            self._cut = text

    def _finish(self) -> LogReading:
        segments, ledger, links = self._segments, self._ledger, self._links
        self._warn()
        binary = segments.no_text
        cause = None if binary else self._causes.cause()
        status, cause = self._status(cause, binary=binary)
        tracker = ledger.tracker
        progress = Progress() if binary else self.snapshot()
        curve = {} if binary else ledger.curves.finish(tracker.steps_per_epoch())
        hint = cause.hint if cause else HINTS["no-gpu"] if "no-gpu" in ledger.warnings else None
        return LogReading(
            status=status,
            metrics=progress.metrics,
            progress=progress,
            steps_per_second=progress.steps_per_second,
            model_urls=() if binary else links.model_urls(),
            tracker_urls=() if binary else tuple(links.trackers),
            cause=cause.code if cause else None,
            cause_line=cause.line if cause else None,
            cause_rank=cause.rank if cause else None,
            hint=hint,
            curve=MappingProxyType(curve),
            warnings=tuple(ledger.warnings),
            traceback_tail=tuple(line[:500] for line in cause.tail) if cause else (),
            pushes=() if binary else links.pushes(),
            configured_repos=tuple(ledger.configured),
        )

    def _warn(self) -> None:
        segments, ledger = self._segments, self._ledger
        if segments.packed:
            ledger.warn("compressed-log")
        elif segments.no_text:
            ledger.warn("binary-log")
        elif not ledger.line:
            ledger.warn("empty-log")
        if segments.encoding != "utf-8":
            ledger.warn("utf-16")
        if segments.long_lines:
            ledger.warn("line-too-long")
        if ledger.divergence.skipped_steps:
            ledger.warn("nan-grad")

    def _status(self, cause: Cause | None, *, binary: bool) -> tuple[Status, Cause | None]:
        ledger = self._ledger
        if binary or not ledger.line:
            return "truncated", None
        evidence = ledger.divergence.evidence()
        if cause is not None and cause.code == "nan-loss":
            return "diverged", cause
        if cause is not None:
            if evidence is not None:
                ledger.warn("nan-loss")
            return "failed", cause
        if evidence is not None:
            return "diverged", Cause("nan-loss", evidence.strip()[:1000], None, HINTS["nan-loss"], ())
        if ledger.succeeded is not None or ledger.tracker.finished:
            return "completed", None
        return ("truncated" if self._cut is not None else "running"), None


def read_log(chunks: Iterable[bytes | str]) -> LogReading:
    """Read a whole log.

    Args:
        chunks: The log in parts, cut anywhere.

    Returns:
        Its reading.
    """
    reader = LogReader()
    for chunk in chunks:
        reader.feed(chunk)
    return reader.close()

r"""The Job's log as server-sent events, read in the background, best effort.

Our own reader, because the library's splits like `str.splitlines()` (a U+2028 inside a JSON string kills it), skips
by index on reconnect, and raises on the first HTTP status (huggingface_hub 2.4.0 `hf_api.py`, `_stream_sse_events`).
Here: split on `\n` only; a malformed event is counted and skipped; a replay is de-duplicated by timestamp and content
in constant memory; a socket without a byte for 90 s (keep-alives come every 30 s) is taken for dead; a stream that is
closed in good order is asked for its last event, for a proxy closes one in good order as well.
"""

from __future__ import annotations

import json
import queue
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import httpx2

SILENCE_S = 90.0
CONNECT_S = 10.0
LAST_EVENT_S = 3.0
MAX_DOUBTS = 3
"""How often an answer without any event is taken for a cut one, before it is taken for an empty log."""
BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
MAX_EVENT_BYTES = 1 << 20
BATCH = 500
STARTED = "===== Job started"


class EventParser:
    """Bytes of an event stream to `(timestamp, text)` events. Pure; any chunk borders give the same events.

    Attributes:
        malformed: Events that could not be read, so far.
    """

    def __init__(self) -> None:
        self.malformed = 0
        self._rest = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[tuple[str, str]]:
        """Events that this chunk completes. Every event of a log is one `data:` line, as seen on the wire."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_EVENT_BYTES:
            self._rest = b""
            if not self._skipping:
                self.malformed += 1
            self._skipping = True
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            if len(line) > MAX_EVENT_BYTES:  # also when it came whole: chunk borders decide nothing
                self.malformed += 1
                continue
            if line.startswith(b"data:") and (event := self._event(line[5:])) is not None:
                yield event

    def _event(self, raw: bytes) -> tuple[str, str] | None:
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        text = body.get("data") if isinstance(body, dict) else None
        if not isinstance(text, str):
            self.malformed += 1
            return None
        stamp = body.get("timestamp") if isinstance(body, dict) else None
        return (stamp if isinstance(stamp, str) else ""), text


class ReplayFilter:
    """Lets each event through once, though a reconnect replays the log from its start.

    Events come in the order of their timestamps, so it is enough to know the last timestamp and what was seen at it.
    An event without one belongs to the one before it.

    Attributes:
        truncated: How often a replay began after the last event that was seen: lines were lost on the Hub's side.
    """

    def __init__(self) -> None:
        self.truncated = 0
        self._last = ""
        self._now = ""
        self._at_last: Counter[int] = Counter()
        self._replayed: Counter[int] = Counter()
        self._first_of_connection = False
        self._starts = 0
        self._starts_seen = 1

    def reconnect(self) -> None:
        """A new connection begins."""
        self._now = ""
        self._replayed = Counter()
        self._first_of_connection = bool(self._last)
        self._starts = 0

    def is_new(self, stamp: str, text: str) -> bool:
        """Whether this event was not let through before."""
        if text.startswith(STARTED):
            return self._restarted()
        self._now = stamp = stamp or self._now
        if self._first_of_connection:
            self._first_of_connection = False
            if stamp > self._last:
                self.truncated += 1
        if stamp < self._last:
            return False
        mark = hash(text)
        if stamp == self._last:
            self._replayed[mark] += 1
            if self._replayed[mark] <= self._at_last[mark]:
                return False
            self._at_last[mark] += 1
            return True
        self._last = stamp
        self._at_last = Counter({mark: 1})
        self._replayed = Counter({mark: 1})
        return True

    def _restarted(self) -> bool:
        """A marker of the server: each log begins with one, and a further one is a start over (`attempts`)."""
        self._starts += 1
        new = self._starts > self._starts_seen
        self._starts_seen = max(self._starts, self._starts_seen)
        return new

    def has(self, stamp: str, text: str) -> bool:
        """Whether this event was let through, being the newest one of the log."""
        return stamp < self._last or (stamp == self._last and self._at_last[hash(text)] > 0)


class StreamFeed:
    """A `ports.LogFeed` over HTTP.

    Args:
        url: Address of the log stream.
        token: Token to read it with.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._lines: queue.Queue[list[str]] = queue.Queue(maxsize=200)
        self._filter = ReplayFilter()
        self._parser = EventParser()
        self._malformed = 0
        self._doubts = 0
        self._failures: Counter[str] = Counter()
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="job-log", daemon=True)
        self._thread.start()

    def take(self, timeout_s: float) -> Sequence[str]:
        """New lines; waits up to `timeout_s` for the first."""
        taken: list[str] = []
        try:
            taken += self._lines.get(timeout=timeout_s) if timeout_s > 0 else self._lines.get_nowait()
            while len(taken) < 20 * BATCH:
                taken += self._lines.get_nowait()
        except queue.Empty:
            pass
        return taken

    @property
    def ended(self) -> bool:
        """Whether the stream was closed in good order."""
        return self._ended.is_set()

    @property
    def problems(self) -> tuple[str, ...]:
        """What was wrong with the stream, in words."""
        words = []
        if self._failures:
            listed = ", ".join(f"{name} ({count}x)" for name, count in self._failures.most_common(3))
            words.append(f"The log stream failed: {listed}.")
        if malformed := self._malformed + self._parser.malformed:
            words.append(f"{malformed} malformed log event(s) were skipped.")
        if self._filter.truncated:
            words.append("The Hub replayed a shortened log; some lines may be missing.")
        return tuple(words)

    def resume(self) -> None:
        """Connect again."""
        self._ended.clear()
        self._wake.set()

    def close(self) -> None:
        """Stop reading. The thread is a daemon and dies with its socket's next event or time-out."""
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            received = False
            try:
                for lines in self._connection():
                    received = True
                    self._put(lines)
            except httpx2.HTTPStatusError as error:
                self._failures[f"HTTP {error.response.status_code}"] += 1
            except (httpx2.HTTPError, OSError) as error:
                self._failures[type(error).__name__] += 1
            else:
                if self._has_last_event():
                    self._ended.set()
                    self._put([])  # wakes who waits in take()
            failures = 0 if received else failures + 1
            self._wait(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])

    def _has_last_event(self) -> bool:
        """Whether the newest event of the log has been seen: then the stream ended, else it was cut."""
        parser = EventParser()
        timeout = httpx2.Timeout(LAST_EVENT_S, connect=CONNECT_S)
        seen_any = False
        try:
            with httpx2.stream("GET", f"{self._url}?tail=1", headers=self._headers, timeout=timeout) as answer:
                for chunk in answer.iter_raw() if answer.is_success else ():
                    for stamp, text in parser.feed(chunk):
                        seen_any = True
                        if not text.startswith(STARTED):
                            return self._filter.has(stamp, text)
        except (httpx2.HTTPError, OSError):
            pass  # a live Job's stream stays open, a dying Hub's breaks: what came before that counts
        self._doubts = 0 if seen_any else self._doubts + 1
        return not 0 < self._doubts < MAX_DOUBTS

    def _wait(self, backoff_s: float) -> None:
        """Until it is worth connecting again: after an end in good order, when told to; after a failure, in a while."""
        if self._ended.is_set():
            while self._ended.is_set() and not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
            self._stop.wait(0.2)
        else:
            self._wake.wait(backoff_s)
            self._wake.clear()

    def _put(self, lines: list[str]) -> None:
        while not self._stop.is_set():
            try:
                self._lines.put(lines, timeout=0.5)
            except queue.Full:
                continue
            return

    def _connection(self) -> Iterator[list[str]]:
        """Batches of new lines of one connection."""
        self._malformed += self._parser.malformed
        self._parser = EventParser()
        self._filter.reconnect()
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        with httpx2.stream("GET", self._url, headers=self._headers, timeout=timeout) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_raw():
                if self._stop.is_set():
                    return
                lines = [text for stamp, text in self._parser.feed(chunk) if self._filter.is_new(stamp, text)]
                if lines:
                    yield lines

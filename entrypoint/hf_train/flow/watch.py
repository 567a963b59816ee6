"""Queue, stream, settle: follow one Job to its end.

Two loops that do not depend on each other. The status loop polls the stage, which alone is the verdict, and survives
outages; the log loop is for people, best effort. Both run here in one thread: the log is read by its feed in the
background, and taking lines from it is what passes the time between two looks at the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.flow.verdict import cancel, is_ours, reason_of
from hf_train.ports import Clock, Console, Hub, LogFeed
from hf_train.values import JobRef, JobState, Outcome, Reason, Stage

FIRST_POLL_S = 1.0
LONGEST_PAUSE_S = 300.0
"""However long a Hub asks to wait: there is a look between two heartbeats."""
LAST_POLL_S = 30.0
POLL_GROWTH = 1.6
OUTAGE_TOLERANCE_S = 1800.0
GONE_AFTER_S = 30.0
GONE_POLL_S = 5.0
DRAIN_S = 15.0
RECONNECT_AFTER_LOOKS = 4
TAKE_S = 1.0
HEARTBEAT_S = 300.0
JITTER = 0.1
"""Waits are longer by up to this share, so that the legs of a matrix do not ask in step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """When to stop watching.

    Attributes:
        queue_timeout_s: Longest time without hardware.
        watch_s: Longest time to follow; None for no limit.
        on_watch_timeout: `fail`, `detach` or `cancel`.
    """

    queue_timeout_s: float
    watch_s: float | None = None
    on_watch_timeout: str = "fail"


@dataclass(slots=True)
class Watcher:
    """Follows one Job. `run()` gives the outcome; a signal may raise out of it, and `seen` is what was known then.

    Attributes:
        ref: The Job.
        hub: The Hub.
        console: Where log lines and heartbeats go.
        clock: Time.
        policy: When to stop.
        on_lines: Called with each batch of log lines.
        on_state: Called after each look at the Job.
        nonce: Mark of the launch; a Job that carries another one is not cancelled by a limit of ours.
        so_far: Words about progress and spend for the heartbeat; may be empty.
        over: Why the Job need not go on, asked about once a second; None while it should.
        seen: The last state.
        log_lines: Lines taken so far.
    """

    ref: JobRef
    hub: Hub
    console: Console
    clock: Clock
    policy: Policy
    on_lines: Callable[[Sequence[str]], None]
    on_state: Callable[[JobState], None]
    nonce: str = ""
    so_far: Callable[[], str] = str
    over: Callable[[], Reason | None] = lambda: None
    seen: JobState | None = None
    log_lines: int = 0
    _feed: LogFeed | None = field(default=None, init=False)
    _began: float = field(default=0.0, init=False)
    _next_look: float = field(default=0.0, init=False)
    _interval: float = field(default=FIRST_POLL_S, init=False)
    _queued_since: float = field(default=0.0, init=False)
    _looks: int = field(default=0, init=False)
    _outage_since: float | None = field(default=None, init=False)
    _gone_since: float | None = field(default=None, init=False)
    _last_word: float = field(default=0.0, init=False)
    _looks_since_end: int | None = field(default=None, init=False)
    _lines_at_end: int = field(default=-1, init=False)
    _cut_short: bool = field(default=False, init=False)
    _strange: set[str] = field(default_factory=set, init=False)

    def run(self) -> Outcome:
        """Follow to the end. The Job is cancelled here only by the queue's or the watch's own limit."""
        self._began = self._next_look = self._last_word = self._queued_since = self.clock.monotonic()
        try:
            while True:
                if (outcome := self._look_if_due()) is not None:
                    return outcome
                if (outcome := self._limits()) is not None:
                    return outcome
                self._pass_time()
        finally:
            if self._feed is not None:
                self._feed.close()

    def _look_if_due(self) -> Outcome | None:
        now = self.clock.monotonic()
        if now < self._next_look:
            return None
        try:
            state = self.hub.look(self.ref)
        except TransientHubError as error:
            return self._outage(now, error)
        except JobGone:
            return self._gone(now)
        except RefusedByHub as error:
            self.console.warning("Lost sight of the Job", f"{error.message} The Job may still run: {self.ref.url}")
            return self._outcome(Reason.LOST_SIGHT)
        return self._looked(now, state)

    def _looked(self, now: float, state: JobState) -> Outcome | None:
        self._outage_since = self._gone_since = None
        if state.stage.is_terminal:
            self._drain()
            self._observe(state)
            return self._outcome(reason_of(state))
        self._observe(state)
        if self._looks_since_end is not None:
            self._looks_since_end += 1
        self._wait_longer(now)
        return self._queued(now) if state.stage is Stage.SCHEDULING else None

    def _queued(self, now: float) -> Outcome | None:
        """Without hardware for too long, and by a look of this moment: nothing that may run is cancelled here."""
        deadline = self._queued_since + self.policy.queue_timeout_s
        if now < deadline:
            self._next_look = min(self._next_look, deadline)
            return None
        self.console.info(f"No hardware after {now - self._queued_since:.0f} s; cancelling (waiting was not billed).")
        return self._cancelled(Reason.QUEUE_TIMEOUT)

    def _wait_longer(self, now: float, at_least_s: float = 0.0) -> None:
        """Set the next look. Each Job has a rhythm of its own, made from its id."""
        self._looks += 1
        spread = (hash((self.ref.id, self._looks)) % 1000) / 1000
        self._next_look = now + max(at_least_s, self._interval * (1 + JITTER * spread))
        self._interval = min(self._interval * POLL_GROWTH, LAST_POLL_S)

    def _observe(self, state: JobState) -> None:
        if self.seen is None or self.seen.stage is not state.stage:
            self._interval = FIRST_POLL_S
            self._queued_since = self._queued_since if self.seen is None else self.clock.monotonic()
            message = f" ({state.message})" if state.message else ""
            self.console.info(f"{state.stage_text or state.stage.value}{message}")
        if state.stage is Stage.UNKNOWN and state.stage_text not in self._strange:
            self._strange.add(state.stage_text)
            self.console.warning("Unknown stage", f"The Hub says {state.stage_text!r}; waiting for one that we know.")
        self.seen = state
        self.on_state(state)
        if self._feed is None and (state.stage is not Stage.SCHEDULING):
            self._feed = self.hub.follow(self.ref)

    def _outage(self, now: float, error: TransientHubError) -> Outcome | None:
        self._gone_since = None
        if self._outage_since is None:
            self._outage_since = now
            self.console.info(f"The Hub does not answer ({error}); the Job goes on, asking again.")
        if now - self._outage_since > OUTAGE_TOLERANCE_S:
            self.console.warning("Lost sight of the Job", f"No answer for 30 minutes; it may still run: {self.ref.url}")
            return self._outcome(Reason.LOST_SIGHT)
        self._wait_longer(now, min(error.retry_after_s or 0.0, LONGEST_PAUSE_S))
        return None

    def _gone(self, now: float) -> Outcome | None:
        """A 404 right after the launch is a replica that lags; one that lasts, by the list too, a deleted Job."""
        if self._gone_since is None:
            self._gone_since = now
        self._next_look = now + GONE_POLL_S
        if now - self._gone_since < GONE_AFTER_S:
            return None
        try:
            found = self.hub.find(self.ref.namespace, {"hf-train": "1"})  # its mark may be another run's by now
        except (TransientHubError, RefusedByHub, JobGone) as error:
            if now - self._gone_since > OUTAGE_TOLERANCE_S:
                self.console.warning("Lost sight of the Job", f"{error}. The Job may still run: {self.ref.url}")
                return self._outcome(Reason.LOST_SIGHT)
            self._next_look = now + LAST_POLL_S
            return None
        listed = next((one for one in found if one.ref.id == self.ref.id), None)
        if listed is not None:
            return self._looked(now, listed)
        if self.seen is not None:
            self.seen = replace(self.seen, stage=Stage.DELETED)
        return self._outcome(Reason.DELETED_ON_HUB)

    def _limits(self) -> Outcome | None:
        if (reason := self.over()) is not None:
            self._drain()
            return self._cancelled(reason)
        waited = self.clock.monotonic() - self._began
        if self.policy.watch_s is None or waited <= self.policy.watch_s:
            return None
        if self.policy.on_watch_timeout == "cancel":
            return self._cancelled(Reason.WATCH_TIMEOUT)
        if self.policy.on_watch_timeout == "detach":
            return self._outcome(Reason.DETACHED)
        return self._outcome(Reason.WATCH_TIMEOUT)

    def _pass_time(self) -> None:
        now = self.clock.monotonic()
        wait = max(0.0, min(TAKE_S, self._next_look - now))
        if self._feed is None:
            self.clock.sleep(wait)
        elif not self._feed.ended:
            self._take(wait)
        else:
            self._stream_ended(now, wait)
        if self.clock.monotonic() - self._last_word > HEARTBEAT_S:
            self._heartbeat()

    def _stream_ended(self, now: float, wait: float) -> None:
        """The stream ends when the Job does, so look at once; when it did not, wait some looks and connect again.

        The stage lags behind the last line by a second or two, and each connection replays the log from its start.
        """
        assert self._feed is not None  # noqa: S101  (its caller looked)
        if self._looks_since_end is None:
            self._take_all()
            self._looks_since_end = 0
            if self.log_lines != self._lines_at_end:
                self._next_look = now
                self._interval = FIRST_POLL_S
            self._lines_at_end = self.log_lines
        elif self._looks_since_end >= RECONNECT_AFTER_LOOKS:
            self._looks_since_end = None
            self._feed.resume()
        else:
            self.clock.sleep(wait)

    def _take_all(self) -> None:
        """What the feed holds already: it may be many batches."""
        while self._take(0.0):
            pass

    def _take(self, wait: float) -> bool:
        assert self._feed is not None  # noqa: S101  (its callers looked)
        lines = self._feed.take(wait)
        if lines:
            self.log_lines += len(lines)
            self.on_lines(lines)
        return bool(lines)

    def _heartbeat(self) -> None:
        self._last_word = self.clock.monotonic()
        stage = self.seen.stage.value if self.seen else "not seen yet"
        message = f" ({self.seen.message})" if self.seen and self.seen.message else ""
        free = ", waiting is not billed" if self.seen and self.seen.stage is Stage.SCHEDULING else ""
        so_far = f", {words}" if (words := self.so_far()) else ""
        self.console.info(f"{stage}{message} after {(self._last_word - self._began) / 60:.0f} min{free}{so_far}")

    def _drain(self) -> None:
        """After the end: what is left of the log, for a bounded time."""
        if self._feed is None:
            self._feed = self.hub.follow(self.ref)
        elif not self._feed.ended:
            self._feed.resume()
        deadline = self.clock.monotonic() + DRAIN_S
        while not self._feed.ended and self.clock.monotonic() < deadline:
            self._take(TAKE_S)
        self._cut_short = not self._feed.ended
        self._take_all()

    def _cancelled(self, reason: Reason) -> Outcome:
        if self.nonce and not is_ours(self.hub, self.ref, self.nonce):
            self.console.info(f"Job {self.ref.id} is another run's; it is not cancelled.")
            return self._outcome(reason)
        confirmed = cancel(self.hub, self.ref, self.clock)
        return replace(self._outcome(reason), cancel_wanted=True, cancel_confirmed=confirmed)

    def _outcome(self, reason: Reason) -> Outcome:
        return Outcome(
            state=self.seen,
            reason=reason,
            log_lines=self.log_lines,
            log_problems=(
                *(self._feed.problems if self._feed else ()),
                *(["The end of the log was not seen in time."] if self._cut_short else ()),
            ),
        )

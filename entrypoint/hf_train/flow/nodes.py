"""Several nodes as one Job: the first is followed as any Job is, and beside that the others are looked at.

All of them completed, or the training failed: the node that ended first in another way is the reason, and the rest is
cancelled at that moment. The state that is reported is then the first node's, with the end of the one that failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hf_train.errors import JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow.prepare import patiently
from hf_train.flow.strays import Strays
from hf_train.flow.twins import member
from hf_train.flow.verdict import at_once, cancel_all, is_ours, reason_of
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.report import Report
from hf_train.values import SUPERSEDED, JobRef, JobState, Outcome, Reason, Stage

FIRST_LOOK_S = 1.0
LAST_LOOK_S = 15.0
GROWTH = 1.6
GONE_AFTER_S = 30.0
LAG_S = 2.0
"""So long may a Job that has failed be shown as running: that time passes before it is said who failed first."""
SETTLE_S = 300.0
"""How long the others may run on after the first node completed: torchrun ends them together."""
OUTAGE_S = 1800.0
LIST_LIMIT_S = 30.0
"""So long is the list asked for the further nodes: those that it does not show would run on."""
TAIL_LINES = 40
TAIL_S = 10.0
_UNREACHABLE = (TransientHubError, RefusedByHub, JobGone)
_LEFT = frozenset({Reason.DETACHED, Reason.LOST_SIGHT, Reason.KEPT})
_OURS = frozenset({Reason.QUEUE_TIMEOUT, Reason.WATCH_TIMEOUT})


def members(first: JobState, plan: Plan, ports: Ports) -> tuple[JobState, ...]:
    """The further nodes of a first one, by the Hub's list; fewer when it does not show them all, or does not answer."""
    if not plan.others:
        return ()
    wanted = {"hft-nonce": first.labels.get("hft-nonce", "")}
    try:
        found = patiently(ports.clock, lambda: ports.hub.find(plan.job.namespace, wanted), limit_s=LIST_LIMIT_S)
    except (LostSight, *_UNREACHABLE):
        return ()
    seen = (member(first, spec, found) for spec in plan.others)
    return tuple(one for one in seen if one is not None)


@dataclass(slots=True)
class Group:
    """The further nodes of one launch; for a Job by itself there are none, and nothing happens here.

    Attributes:
        plan: The launch.
        ports: The world.
        strays: Gets what the Hub does not confirm to be cancelled.
        head: The last look at the first node, which is followed.
        on_lines: Takes lines for the log.
        queue_timeout_s: Longest time without hardware.
        others: The last looks at the further nodes.
    """

    plan: Plan
    ports: Ports
    strays: Strays
    head: JobState
    on_lines: Callable[[Sequence[str]], None]
    queue_timeout_s: float
    others: tuple[JobState, ...] = ()
    _began: float | None = field(default=None, init=False)
    _next: float = field(default=0.0, init=False)
    _interval: float = field(default=FIRST_LOOK_S, init=False)
    _gone: dict[str, float] = field(default_factory=dict, init=False)
    _cancelled: set[str] = field(default_factory=set, init=False)

    @property
    def refs(self) -> tuple[JobRef, ...]:
        """Those that have not ended, as far as is known."""
        return tuple(one.ref for one in self.others if not one.stage.is_terminal)

    @property
    def ending(self) -> bool:
        """Whether it is being cancelled already: there is nothing left that could be kept."""
        return bool(self._cancelled)

    @property
    def _short(self) -> bool:
        """Whether the Hub did not show all of the further nodes."""
        return len(self.others) < len(self.plan.others)

    def on(self, report: Report, head: JobState | None = None) -> Report:
        """A report with the nodes as they were seen last, the first one perhaps just now."""
        self.head = head or self.head
        return replace(report, nodes=(self.head, *self.others)) if self.others else report

    def over(self) -> Reason | None:
        """Why the first node need not go on: another one ended, or finds no hardware. Looks when it is time to."""
        now = self.ports.clock.monotonic()
        if not self.others or now < self._next:
            return None
        self._began = now if self._began is None else self._began
        self._next, self._interval = now + self._interval, min(self._interval * GROWTH, LAST_LOOK_S)
        seen = self._look()
        if (down := self._down(self.others)) is not None:
            self.ports.console.info(f"{_name(down)} ended: {_words(down)}. The other nodes are cancelled.")
            self._cancel((self.head.ref, *self.refs))
            return reason_of(down)
        waiting = [one for one in seen if one.stage is Stage.SCHEDULING]
        if not waiting or now - self._began < self.queue_timeout_s:
            return None
        names = ", ".join(map(_name, waiting))
        self.ports.console.info(f"{names}: no hardware after {now - self._began:.0f} s; cancelling all nodes.")
        self._cancel((self.head.ref, *self.refs))
        return Reason.QUEUE_TIMEOUT

    def ended(self, outcome: Outcome) -> Outcome:
        """The outcome of all, from that of the first node. Nothing of a group that is at its end runs on."""
        if not self.plan.others or outcome.state is None:
            return outcome
        self.head = outcome.state
        if outcome.reason in _LEFT or (outcome.reason is Reason.WATCH_TIMEOUT and not outcome.cancel_wanted):
            self._look()
            return outcome
        if self._short:
            self.others = max(members(self.head, self.plan, self.ports), self.others, key=len)
        if outcome.reason is Reason.COMPLETED:
            return self._completed(outcome)
        if outcome.reason in _OURS:
            self._cancel(self.refs)
            return outcome
        self._look()
        if self.refs and self._down(self.others) is None:
            self.ports.clock.sleep(LAG_S)
            self._look()
        self._cancel(self.refs)
        self.head = self.ports.hub.glance(self.head.ref) or self.head
        failed = self._failed(outcome)
        if not self._short:
            return failed
        words = "The training failed, and the Hub does not show all of its nodes: one may still run."
        self.ports.console.warning("Lost sight of a node", words)
        return replace(failed, reason=Reason.LOST_SIGHT)

    def glance(self, head: JobState | None = None) -> None:
        """A last look at the others that may run, at once and within a second."""
        self.head = head or self.head
        found = {one.ref.id: one for one in at_once(self.ports.hub.glance, self.refs) if one is not None}
        self.others = tuple(found.get(one.ref.id, one) for one in self.others)

    def _completed(self, outcome: Outcome) -> Outcome:
        """The first node completed; so must the others, soon."""
        if self._short:
            words = "The Hub does not show all of its nodes, so it is not known whether all of them completed."
            self.ports.console.warning("Lost sight of a node", words)
            return replace(outcome, reason=Reason.LOST_SIGHT)
        clock = self.ports.clock
        began, answered, pause = clock.monotonic(), clock.monotonic(), FIRST_LOOK_S
        while self.refs:
            now = clock.monotonic()
            answered = now if self._look() else answered
            if self._down(self.others) is not None:
                self._cancel(self.refs)
            elif self.refs and now - answered > OUTAGE_S:
                self.ports.console.warning("Lost sight of a node", "No answer for 30 minutes; it may still run.")
                return replace(outcome, reason=Reason.LOST_SIGHT)
            elif self.refs and now == answered and now - began > SETTLE_S:
                return self._late(outcome, now - began)
            elif self.refs:
                clock.sleep(pause)
                pause = min(pause * GROWTH, LAST_LOOK_S)
                continue
            break
        return self._failed(outcome)

    def _late(self, outcome: Outcome, seconds: float) -> Outcome:
        late = next(one for one in self.others if not one.stage.is_terminal)
        words = f"it still ran {seconds:.0f} s after node 0 had completed, and was cancelled"
        self._cancel(self.refs)
        return self._told(outcome, replace(late, stage=Stage.ERROR, message=words))

    def _failed(self, outcome: Outcome) -> Outcome:
        """The outcome with the end of the node that was the first to fail; as it is when none did."""
        down = self._down((self.head, *self.others))
        if down is None or down is self.head:
            return replace(outcome, state=self.head, reason=reason_of(self.head) if down else outcome.reason)
        return self._told(outcome, down)

    def _told(self, outcome: Outcome, down: JobState) -> Outcome:
        self._tail(down)
        newer = {SUPERSEDED: down.labels[SUPERSEDED]} if SUPERSEDED in down.labels else {}
        state = replace(
            self.head,
            stage=down.stage,
            message=f"{_name(down)}: {down.message or down.stage.value}",
            labels={**self.head.labels, **newer},
        )
        return replace(outcome, reason=reason_of(down), state=state)

    def _down(self, nodes: Sequence[JobState]) -> JobState | None:
        """The one that ended first, of those that ended by themselves without completing; by the Hub's clock."""
        ours = [one for one in nodes if one.stage is Stage.CANCELED and one.ref.id in self._cancelled]
        down = [one for one in nodes if one.stage.is_terminal and one.stage is not Stage.COMPLETED and one not in ours]
        return min(down, key=lambda one: one.finished_at.timestamp() if one.finished_at else float("inf"), default=None)

    def _look(self) -> Sequence[JobState]:
        """Look at all that may run. Returns those that were seen in this moment."""
        seen = [one for one in at_once(self._seen, self.refs) if one is not None]
        found = {one.ref.id: one for one in seen}
        self.others = tuple(found.get(one.ref.id, one) for one in self.others)
        return seen

    def _seen(self, ref: JobRef) -> JobState | None:
        """One node now; None when that is not known."""
        try:
            state = self.ports.hub.look(ref)
        except JobGone:
            return self._missing(ref)
        except (TransientHubError, RefusedByHub):
            return None
        self._gone.pop(ref.id, None)
        return state

    def _missing(self, ref: JobRef) -> JobState | None:
        """A 404 may be a replica that lags; one that lasts, by the list too, is a deleted Job."""
        now = self.ports.clock.monotonic()
        if now - self._gone.setdefault(ref.id, now) < GONE_AFTER_S:
            return None
        try:
            found = self.ports.hub.find(ref.namespace, {"hf-train": "1"})
        except _UNREACHABLE:
            return None
        known = next(one for one in self.others if one.ref.id == ref.id)
        listed = next((one for one in found if one.ref.id == ref.id), None)
        return listed or replace(known, stage=Stage.DELETED)

    def _cancel(self, refs: Sequence[JobRef]) -> None:
        """Cancel all of these at once, unless they are another run's by now; what is not confirmed is tried again."""
        if not refs:
            return
        if not is_ours(self.ports.hub, refs[0], self.plan.nonce):
            self.ports.console.info("The nodes are another run's; they are not cancelled.")
            return
        self._cancelled.update(ref.id for ref in refs)
        self.strays.beside.difference_update(ref.id for ref in refs)
        self.strays.owe(cancel_all(self.ports.hub, refs, self.ports.clock))
        self.glance()

    def _tail(self, node: JobState) -> None:
        """The last lines of the node that failed: the log that was followed is the first node's."""
        clock, lines = self.ports.clock, deque[str](maxlen=TAIL_LINES)
        feed, deadline = self.ports.hub.follow(node.ref), self.ports.clock.monotonic() + TAIL_S
        try:
            while clock.monotonic() < deadline:
                new = feed.take(1.0)
                lines.extend(new)
                if not new and feed.ended:
                    break
        finally:
            feed.close()
        if lines:
            self.on_lines([f"hf-train: the last lines of {_name(node)}, Job {node.ref.id}:", *lines])


def _name(node: JobState) -> str:
    return f"node {node.node}"


def _words(node: JobState) -> str:
    return f"{node.stage.value} ({node.message})" if node.message else node.stage.value

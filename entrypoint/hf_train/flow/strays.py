"""Jobs of this launch that must not run: a cancel that the Hub did not confirm, a POST that took effect too late.

Nobody follows such a Job, and it bills. So it is cancelled again with the looks at the Job that is followed, once more
at the end, and until the Hub has confirmed it the state file stays for the cleanup step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.flow.twins import matches
from hf_train.flow.verdict import cancel
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.values import JobRef

EVERY_S = 30.0
LATE_S = 60.0
"""So long after it was sent may a POST without an answer take effect: a proxy may hold it."""
LAST_WAITS_S = (0.0, 1.0, 3.0, 6.0, 10.0, 20.0)
"""Waits before each last try, once the Job that was followed has ended."""


@dataclass(slots=True)
class Strays:
    """What this launch still has to cancel.

    Attributes:
        plan: The launch.
        ports: The world.
        unclear: Whether a POST had no clear answer: its Job may appear minutes later.
        unclear_at: When that was, seconds of the clock.
        beside: Ids of the Jobs that are to run beside the followed one: further nodes of the same training.
    """

    plan: Plan
    ports: Ports
    unclear: bool = False
    beside: set[str] = field(default_factory=set)
    unclear_at: float = float("-inf")
    _refs: dict[str, JobRef] = field(default_factory=dict, init=False)
    _next: float = field(default=0.0, init=False)

    def cancel(self, ref: JobRef) -> bool:
        """Cancel a Job now; it is tried again later when the Hub does not confirm."""
        if cancel(self.ports.hub, ref, self.ports.clock):
            self._refs.pop(ref.id, None)
            return True
        self._refs[ref.id] = ref
        return False

    def owe(self, refs: Sequence[JobRef]) -> None:
        """Note Jobs whose cancel the Hub did not confirm."""
        self._refs.update({ref.id: ref for ref in refs})

    @property
    def owed(self) -> frozenset[str]:
        """Ids of the Jobs whose cancel the Hub has not confirmed."""
        return frozenset(self._refs)

    def look(self, followed: JobRef) -> None:
        """Called after each look at the Job that is followed: try again, at most twice a minute."""
        now = self.ports.clock.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY_S
        self._late(followed)
        self._again()

    def settle(self, followed: JobRef | None, *, hurry: bool) -> Sequence[str]:
        """The last tries, for less than a minute; one only when this step was told to stop.

        Args:
            followed: The Job that may go on; None when none may.
            hurry: Whether to be quick.

        Returns:
            What may still run, in words; empty when nothing does.
        """
        if self.unclear and not hurry:
            self.ports.clock.sleep(max(0.0, self.unclear_at + LATE_S - self.ports.clock.monotonic()))
        asked = not self.unclear if hurry else self._late(followed)
        left = [] if asked else [self._unasked]
        for wait in LAST_WAITS_S[: 1 if hurry else None]:
            if not self._refs:
                break
            self.ports.clock.sleep(wait)
            self._again()
        return left + [
            f"Job {ref.id} may still run: the Hub did not confirm its cancel. Cancel it by hand: {ref.url}"
            for ref in self._refs.values()
        ]

    @property
    def _unasked(self) -> str:
        return (
            f"The launch had no clear answer, so a second Job may run: look for the label hft-nonce={self.plan.nonce}."
        )

    def _late(self, followed: JobRef | None) -> bool:
        """Cancel what an unclear POST made besides the followed Job. Returns whether the Hub said what there is."""
        if not self.unclear:
            return True
        try:
            found = self.ports.hub.find(self.plan.job.namespace, {"hft-nonce": self.plan.nonce})
        except (TransientHubError, RefusedByHub, JobGone):
            return False
        kept = self.beside | ({followed.id} if followed else set())
        for one in found:
            of_ours = any(matches(one, spec) for spec in self.plan.specs)
            if one.ref.id not in kept and not one.stage.is_terminal and of_ours:
                self.cancel(one.ref)
        return True

    def _again(self) -> None:
        for ref in tuple(self._refs.values()):
            if self.cancel(ref):
                self.ports.console.info(f"Cancelled Job {ref.id}.")

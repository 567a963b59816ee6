"""Two small words about one Job: why it ended, and that it is to end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.ports import Clock, Hub
from hf_train.values import JobRef, JobState, Reason, Stage

S = TypeVar("S")
T = TypeVar("T")


def reason_of(state: JobState) -> Reason:
    """Why a Job ended, from its stage and message.

    Source of the wordings: hub-docs `jobs-manage` (`Job timeout`) and the messages that the Hub gives for exit codes.
    """
    if state.stage is Stage.COMPLETED:
        return Reason.COMPLETED
    if state.stage is Stage.CANCELED:
        # A timed-out Job is ERROR today; the wording wins should that ever be CANCELED.
        return Reason.TIMEOUT if "job timeout" in state.message.lower() else Reason.CANCELLED_ON_HUB
    if state.stage is Stage.DELETED:
        return Reason.DELETED_ON_HUB
    text = state.message.lower()
    if "job timeout" in text:
        return Reason.TIMEOUT
    if "oomkilled" in text or "exit code: 137" in text:
        return Reason.OUT_OF_MEMORY
    return Reason.FAILED


def is_ours(hub: Hub, ref: JobRef, nonce: str) -> bool:
    """Whether a Job is this launch's to cancel: another run may have taken it over, or we only attached to its Job.

    Without an answer within a second it is: a Job that nobody cancels bills.
    """
    state = hub.glance(ref)
    return state is None or state.labels.get("hft-nonce", nonce) == nonce


def cancel(hub: Hub, ref: JobRef, clock: Clock, *, tries: int = 2) -> bool:
    """Cancel a Job. Returns whether the Hub took it; never raises for an answer of the Hub."""
    for attempt in range(tries):
        try:
            hub.cancel(ref)
        except JobGone:
            return True
        except RefusedByHub:
            return False
        except TransientHubError:
            if attempt + 1 < tries:
                clock.sleep(0.2)
        else:
            return True
    return False


def cancel_all(hub: Hub, refs: Sequence[JobRef], clock: Clock) -> Sequence[JobRef]:
    """Cancel several Jobs at once. Returns those that the Hub did not confirm."""
    done = at_once(lambda ref: cancel(hub, ref, clock), refs)
    return [ref for ref, confirmed in zip(refs, done, strict=True) if not confirmed]


def at_once(call: Callable[[S], T], items: Sequence[S]) -> Sequence[T]:
    """Call for each item at the same time, and give the results in order. A signal does not wait for what hangs."""
    if len(items) < 2:
        return [call(item) for item in items]
    results: dict[int, T] = {}
    failures: list[BaseException] = []

    def work(at: int, item: S) -> None:
        try:
            results[at] = call(item)
        except BaseException as error:  # noqa: BLE001  (raised again below, where somebody can handle it)
            failures.append(error)

    threads = [threading.Thread(target=work, args=one, daemon=True) for one in enumerate(items)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [results[at] for at in range(len(items))]

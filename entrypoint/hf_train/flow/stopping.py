"""The workflow was cancelled: cancel the Job first, talk later."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from hf_train.errors import Interrupted, JobGone, RefusedByHub, TransientHubError
from hf_train.flow.launch import by_nonce
from hf_train.flow.strays import Strays
from hf_train.flow.verdict import at_once, cancel, is_ours
from hf_train.flow.watch import Watcher
from hf_train.ports import Ports
from hf_train.values import JobRef, JobState, Outcome, Reason, Stage

UNSEEN_WAITS_S = (0.0, 0.6, 1.2, 1.8)
"""Waits before each look for a Job whose POST a signal interrupted: the Hub may make it after we hung up. In all well
below the 10 s that a runner leaves between the first signal and SIGKILL."""
END_WAITS_S = (0.0, 0.3, 0.5, 0.8)
"""Waits before each look for the end of a Job that was cancelled."""
_UNREACHABLE = (TransientHubError, RefusedByHub, JobGone)


def while_watching(
    watcher: Watcher, stop: Interrupted, ports: Ports, *, keep: bool, beside: Sequence[JobRef] = ()
) -> Outcome:
    """A signal while a Job was followed.

    Args:
        watcher: What was known of the Job.
        stop: The signal.
        ports: The world.
        keep: Whether the Job is to run on.
        beside: Further nodes of it, which end with it.
    """
    ours = refs = () if keep else (watcher.ref, *beside)
    if watcher.nonce:  # each by itself: another run may have taken over some of them, and stopped there
        mine = at_once(lambda ref: is_ours(ports.hub, ref, watcher.nonce), refs)
        ours = tuple(ref for ref, is_mine in zip(refs, mine, strict=True) if is_mine)
        for ref in refs:
            if ref not in ours:
                ports.console.info(f"Job {ref.id} is another run's; it is not cancelled.")
    keep, confirmed = not ours, bool(ours)
    for ref, (seen, ends) in zip(ours, at_once(lambda ref: _end(ref, ports), ours), strict=True):
        confirmed = confirmed and ends
        if ref == watcher.ref:
            watcher.seen = seen or watcher.seen
    return Outcome(
        state=watcher.seen,
        reason=Reason.KEPT if keep else Reason.CANCELLED,
        signum=stop.signum,
        cancel_wanted=not keep,
        cancel_confirmed=confirmed,
        log_lines=watcher.log_lines,
    )


def _end(ref: JobRef, ports: Ports) -> tuple[JobState | None, bool]:
    """Cancel a Job, and look at it for a moment: the Hub takes a cancel at once and may end the Job a little later.

    Returns:
        What was seen of it, None when nothing was, and whether it ends: by the Hub's answer or, should that be lost on
        the way, by what was seen.
    """
    confirmed = cancel(ports.hub, ref, ports.clock)
    seen, blind = None, 0
    for wait in END_WAITS_S:
        ports.clock.sleep(wait)
        if (state := ports.hub.glance(ref)) is None:
            if (blind := blind + 1) > 1:
                break
            continue
        seen = state
        if state.stage.is_terminal:
            return state, True
    return seen, confirmed


def _ended(state: JobState, ports: Ports) -> tuple[JobState | None, bool]:
    return (state, True) if state.stage.is_terminal else _end(state.ref, ports)


def before_watch(strays: Strays, stop: Interrupted, waits: Sequence[float], *, keep: bool) -> Outcome:
    """A signal while the code was sent or the POST was on its way: the Job may exist, so it is looked for.

    Args:
        strays: The launch, and whether a POST of it had no answer.
        stop: The signal.
        waits: Seconds before each look.
        keep: Whether the Job is to run on, if there is one.
    """
    if keep:
        return Outcome(state=None, reason=Reason.KEPT, signum=stop.signum, cancel_confirmed=True)
    plan, ports = strays.plan, strays.ports
    state: JobState | None = None
    confirmed, known = True, set[str]()
    for wait in waits:
        ports.clock.sleep(wait)
        try:
            found = by_nonce(plan, ports)
        except _UNREACHABLE:
            confirmed = False
            continue
        confirmed = confirmed or bool(found)
        known.update(one.ref.id for one in found)
        for one, (seen, ends) in zip(found, at_once(lambda one: _ended(one, ports), found), strict=True):
            confirmed = confirmed and ends
            state = seen or one if state is None or not one.node else state
        if len(found) >= len(plan.specs):
            break
    if confirmed and not strays.unclear and len(known) >= len(plan.specs):  # else a POST may still take effect
        ports.files.forget()
    return Outcome(state=state, reason=Reason.CANCELLED, signum=stop.signum, cancel_confirmed=confirmed)


def after_a_bug(strays: Strays, *, keep: bool) -> None:
    """A bug of ours: nobody follows the Job any more, and outside a workflow no cleanup step comes after.

    Args:
        strays: The launch.
        keep: Whether the Job is to run on, if there is one.
    """
    plan, ports = strays.plan, strays.ports
    label = f"hft-nonce={plan.nonce}"
    if keep or plan.detach:
        ports.console.warning("Not followed any more", f"A Job with the label {label} may run on.")
        return
    ended = before_watch(strays, Interrupted(signal.SIGTERM), UNSEEN_WAITS_S[:1], keep=False)
    if not ended.cancel_confirmed:
        ports.console.warning("Not cancelled", f"A Job with the label {label} may run on: cancel it by hand.")
    elif ended.state is not None and ended.state.stage is not Stage.COMPLETED:
        ports.console.warning("Cancelled", f"Job {ended.state.ref.id}: nobody would have followed it any more.")

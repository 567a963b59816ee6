"""The workflow was cancelled: cancel the Job first, talk later."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from hf_train.errors import Interrupted, JobGone, RefusedByHub, TransientHubError
from hf_train.flow.launch import by_nonce
from hf_train.flow.verdict import cancel, is_ours
from hf_train.flow.watch import Watcher
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.values import Outcome, Reason

UNSEEN_WAITS_S = (0.0, 0.6, 1.2, 1.8)
"""Waits before each look for a Job whose POST a signal interrupted: the Hub may make it after we hung up. In all well
below the 10 s that a runner leaves between the first signal and SIGKILL."""
END_WAITS_S = (0.0, 0.3, 0.5, 0.8)
"""Waits before each look for the end of a Job that was cancelled."""
_UNREACHABLE = (TransientHubError, RefusedByHub, JobGone)


def while_watching(watcher: Watcher, stop: Interrupted, ports: Ports, *, keep: bool) -> Outcome:
    """A signal while a Job was followed.

    Args:
        watcher: What was known of the Job.
        stop: The signal.
        ports: The world.
        keep: Whether the Job is to run on.
    """
    if not keep and watcher.nonce and not is_ours(ports.hub, watcher.ref, watcher.nonce):
        ports.console.info(f"Job {watcher.ref.id} is another run's; it is not cancelled.")
        keep = True
    confirmed = not keep and cancel(ports.hub, watcher.ref, ports.clock)
    if not keep:
        confirmed = _seen_to_end(watcher, ports) or confirmed
    return Outcome(
        state=watcher.seen,
        reason=Reason.KEPT if keep else Reason.CANCELLED,
        signum=stop.signum,
        cancel_wanted=not keep,
        cancel_confirmed=confirmed,
        log_lines=watcher.log_lines,
    )


def _seen_to_end(watcher: Watcher, ports: Ports) -> bool:
    """Whether a Job that was to be cancelled is seen to have ended.

    The Hub takes a cancel at once and may end the Job a moment later; what is told should be the end. And an answer to
    the cancel that was lost on the way is made up for here.
    """
    blind = 0
    for wait in END_WAITS_S:
        ports.clock.sleep(wait)
        state = ports.hub.glance(watcher.ref)
        if state is None:
            if (blind := blind + 1) > 1:
                break
            continue
        watcher.seen = state
        if state.stage.is_terminal:
            return True
    return False


def before_watch(plan: Plan, stop: Interrupted, ports: Ports, waits: Sequence[float], *, keep: bool) -> Outcome:
    """A signal while the code was sent or the POST was on its way: the Job may exist, so it is looked for.

    Args:
        plan: The launch.
        stop: The signal.
        ports: The world.
        waits: Seconds before each look.
        keep: Whether the Job is to run on, if there is one.
    """
    if keep:
        return Outcome(state=None, reason=Reason.KEPT, signum=stop.signum, cancel_confirmed=True)
    state, confirmed = None, True
    for wait in waits:
        ports.clock.sleep(wait)
        try:
            found = by_nonce(plan, ports)
        except _UNREACHABLE:
            confirmed = False
            continue
        for one in found:
            state, confirmed = one, one.stage.is_terminal or cancel(ports.hub, one.ref, ports.clock)
        if found:
            break
    if confirmed and state is not None:
        ports.files.forget()
    return Outcome(state=state, reason=Reason.CANCELLED, signum=stop.signum, cancel_confirmed=confirmed)


def after_a_bug(plan: Plan, ports: Ports, *, keep: bool) -> None:
    """A bug of ours: nobody follows the Job any more, and outside a workflow no cleanup step comes after.

    Args:
        plan: The launch.
        ports: The world.
        keep: Whether the Job is to run on, if there is one.
    """
    label = f"hft-nonce={plan.nonce}"
    if keep or plan.detach:
        ports.console.warning("Not followed any more", f"A Job with the label {label} may run on.")
        return
    ended = before_watch(plan, Interrupted(signal.SIGTERM), ports, UNSEEN_WAITS_S[:1], keep=False)
    if not ended.cancel_confirmed:
        ports.console.warning("Not cancelled", f"A Job with the label {label} may run on: cancel it by hand.")
    elif ended.state is not None and not ended.state.stage.is_terminal:
        ports.console.warning("Cancelled", f"Job {ended.state.ref.id}: nobody would have followed it any more.")

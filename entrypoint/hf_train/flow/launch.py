"""Submit once: attach to what is already paid for, and never pay twice for one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow import twins
from hf_train.flow.prepare import Prepared, patiently
from hf_train.flow.spend import check_after, check_before
from hf_train.flow.twins import Twin
from hf_train.flow.watch import cancel
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.values import JobState, Snapshot

VISIBLE_AFTER_S = (2.0, 5.0, 15.0)
"""Waits before each look for a Job whose POST had no clear answer: a list may lag behind a launch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Launched:
    """A Job to watch.

    Attributes:
        state: Its first state.
        snapshot: What was sent.
        reused: Why no new Job was started, in words; empty when one was.
    """

    state: JobState
    snapshot: Snapshot | None
    reused: str = ""


def send(plan: Plan, ports: Ports) -> Snapshot | None:
    """Bring the code and the local volumes into the bucket."""
    for _, survey in plan.folders:
        patiently(ports.clock, lambda survey=survey: ports.workspace.upload(survey, plan.job.namespace))  # type: ignore[misc]
    code = plan.code
    if code is None:
        return None
    return patiently(ports.clock, lambda: ports.workspace.upload(code, plan.job.namespace))


def launch(prepared: Prepared, context: Context, ports: Ports, *, reuse: bool, snapshot: Snapshot | None) -> Launched:
    """Attach, reuse or submit.

    Raises:
        RefusedByHub: The Hub does not take the Job; nothing was spent.
        RefusedByPolicy: It would break a limit over several runs.
        LostSight: It is not known whether the Job was started; its nonce is in the message.
    """
    plan = prepared.plan
    if reuse and (twin := twins.earlier(plan, context, ports)) is not None:
        return _attached(twin, plan, ports, snapshot)
    check_before(plan, context, ports)
    ports.files.remember(_state(plan, ports, ""))
    state = _submit_once(prepared, ports)
    ports.files.remember(_state(plan, ports, state.ref.id))
    if reuse and (twin := twins.elder(plan, context, ports, state)) is not None:
        if not cancel(ports.hub, state.ref, ports.clock):
            ports.console.warning("Launched twice", f"Job {state.ref.id} was NOT cancelled: {state.ref.url}")
        return _attached(twin, plan, ports, snapshot)
    check_after(plan, context, ports, state)
    return Launched(state=state, snapshot=snapshot)


def _attached(twin: Twin, plan: Plan, ports: Ports, snapshot: Snapshot | None) -> Launched:
    state = twin.state
    ports.files.remember(_state(plan, ports, state.ref.id if not state.stage.is_terminal else ""))
    twins.take_over(state, plan, ports)
    return Launched(state=state, snapshot=snapshot, reused=twin.why)


def by_nonce(plan: Plan, ports: Ports) -> Sequence[JobState]:
    """Jobs of this very launch, newest first."""
    return ports.hub.find(plan.job.namespace, {"hft-nonce": plan.nonce})


def _state(plan: Plan, ports: Ports, job_id: str) -> dict[str, str]:
    return {"endpoint": ports.hub.endpoint, "namespace": plan.job.namespace, "nonce": plan.nonce, "job-id": job_id}


def _submit_once(prepared: Prepared, ports: Ports) -> JobState:
    plan = prepared.plan
    for last_try in (False, True):
        try:
            return ports.hub.submit(plan.job, prepared.secrets)
        except JobGone as error:
            raise RefusedByHub("Not found", f"The Hub has no namespace {plan.job.namespace!r}.", "") from error
        except TransientHubError as error:
            ports.console.info(f"No clear answer to the launch ({error}); looking for the Job before anything else.")
            if (adopted := _adopt(plan, ports)) is not None:
                return adopted
            if last_try:
                raise LostSight(
                    "Launch not confirmed",
                    f"{error}. No Job with the label hft-nonce={plan.nonce} was found in {plan.job.namespace}.",
                    f"Check with: hf jobs ls -a --namespace {plan.job.namespace} --label hft-nonce={plan.nonce}",
                ) from error
    raise AssertionError("unreachable")


def _adopt(plan: Plan, ports: Ports) -> JobState | None:
    for wait in VISIBLE_AFTER_S:
        ports.clock.sleep(wait)
        try:
            found = by_nonce(plan, ports)
        except TransientHubError:
            continue
        if found:
            *extras, oldest = found
            for extra in extras:
                cancel(ports.hub, extra.ref, ports.clock)
            return oldest
    return None

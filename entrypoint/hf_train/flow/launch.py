"""Submit once: attach to what is already paid for, and never pay twice for one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub, RefusedByPolicy, TransientHubError, UserError
from hf_train.flow import twins
from hf_train.flow.prepare import Prepared, patiently
from hf_train.flow.spend import check_after, check_before
from hf_train.flow.strays import Strays
from hf_train.flow.twins import Twin
from hf_train.flow.verdict import cancel_all
from hf_train.plan import Plan
from hf_train.ports import Ports, Survey
from hf_train.values import JobSpec, JobState, Secret, Snapshot

VISIBLE_AFTER_S = (2.0, 5.0, 15.0)
"""Waits before each look for a Job whose POST had no clear answer: a list may lag behind a launch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Launched:
    """A Job to watch.

    Attributes:
        state: Its first state.
        snapshot: What was sent.
        reused: Why no new Job was started, in words; empty when one was.
        strays: Jobs of the launch that are still to be cancelled; None when it was another step's.
        others: First states of the further nodes.
    """

    state: JobState
    snapshot: Snapshot | None
    reused: str = ""
    strays: Strays | None = None
    others: tuple[JobState, ...] = ()


def send(plan: Plan, ports: Ports) -> Snapshot | None:
    """Bring the code and the local volumes into the bucket."""

    def upload(survey: Survey) -> Snapshot:
        namespace = plan.job.namespace
        return patiently(ports.clock, lambda: ports.workspace.upload(survey, namespace), tell=ports.console.info)

    for _, survey in plan.folders:
        upload(survey)
    return upload(plan.code) if plan.code else None


def launch(prepared: Prepared, context: Context, strays: Strays, *, reuse: bool, snapshot: Snapshot | None) -> Launched:
    """Attach, reuse or submit.

    Args:
        prepared: What is launched.
        context: Where the run stands.
        strays: Gets what the launch leaves to be cancelled, also when it does not come to its end.
        reuse: Whether a Job of the same training will do.
        snapshot: What was sent.

    Raises:
        RefusedByHub: The Hub does not take the Job; nothing was spent.
        RefusedByPolicy: It would break a limit over several runs.
        LostSight: It is not known whether the Job was started; its nonce is in the message.
    """
    plan, ports = strays.plan, strays.ports
    if reuse and (twin := twins.earlier(plan, context, ports)) is not None:
        return _attached(twin, strays, snapshot)
    check_before(plan, context, ports)
    ports.files.remember(remembered(plan, ports, ""))
    state, *others = _submit_all(prepared, ports, strays)
    ports.files.remember(remembered(plan, ports, "" if strays.unclear else state.ref.id))
    if reuse and (twin := twins.elder(plan, context, ports, state)) is not None:
        for ref in cancel_all(ports.hub, [state.ref, *(one.ref for one in others)], ports.clock):
            strays.owe([ref])
            ports.console.warning("Launched twice", f"Job {ref.id} was NOT cancelled: {ref.url}")
        return _attached(twin, strays, snapshot)
    strays.beside.update(one.ref.id for one in others)
    try:
        check_after(plan, context, ports, state, others)
    except RefusedByPolicy as error:
        if (left := strays.settle(state.ref, hurry=False)) or strays.unclear:  # the cleanup stays armed
            raise LostSight(error.title, "\n".join((error.message, *left)), error.hint) from error
        raise
    return Launched(state=state, snapshot=snapshot, strays=strays, others=tuple(others))


def _attached(twin: Twin, strays: Strays, snapshot: Snapshot | None) -> Launched:
    state, plan, ports = twin.state, strays.plan, strays.ports
    known = not (state.stage.is_terminal or strays.unclear)
    ports.files.remember(remembered(plan, ports, state.ref.id if known else ""))
    for one, spec in reversed(tuple(zip((state, *twin.others), plan.specs, strict=True))):
        if not twins.take_over(one, spec, ports):  # the first node is last: it is never taken without the others
            break
    strays.beside.update(one.ref.id for one in twin.others)
    return Launched(state=state, snapshot=snapshot, reused=twin.why, strays=strays, others=twin.others)


def by_nonce(plan: Plan, ports: Ports) -> Sequence[JobState]:
    """Jobs of this very launch, newest first. Labels are free text, so the spec is compared as well."""
    found = ports.hub.find(plan.job.namespace, {"hft-nonce": plan.nonce})
    return [one for one in found if any(twins.matches(one, spec) for spec in plan.specs)]


def remembered(plan: Plan, ports: Ports, job_id: str) -> dict[str, str]:
    """What the cleanup step needs."""
    state = {"endpoint": ports.hub.endpoint, "namespace": plan.job.namespace, "nonce": plan.nonce, "job-id": job_id}
    return {**state, "nodes": str(len(plan.specs))} if plan.others else state


def _submit_all(prepared: Prepared, ports: Ports, strays: Strays) -> Sequence[JobState]:
    """The Job of each node, the first node last: where it is, the others are. All of them are launched, or none stays.

    Returns:
        Their states, the first node's first.
    """
    states: list[JobState] = []
    for spec in reversed(prepared.plan.specs):
        try:
            states.insert(0, _submit_once(spec, prepared.secrets, ports, strays))
        except UserError as error:
            if not states:
                raise
            number = f"node {len(prepared.plan.specs) - len(states) - 1} of {len(prepared.plan.specs)}"
            words = f"{error.message}\nThat was {number}; those before it were cancelled."
            strays.owe(cancel_all(ports.hub, [one.ref for one in states], ports.clock))
            if (left := strays.settle(None, hurry=False)) or strays.unclear:  # the cleanup stays armed
                raise LostSight(error.title, "\n".join((words, *left)), error.hint) from error
            raise type(error)(error.title, words, error.hint) from error
    return states


def _submit_once(spec: JobSpec, secrets: Mapping[str, Secret], ports: Ports, strays: Strays) -> JobState:
    """One Job by at most two POSTs. After one without a clear answer there may be a Job, so no later "no" is one."""
    plan, unclear = strays.plan, ""
    for _ in range(2):
        try:
            return ports.hub.submit(spec, secrets)
        except (JobGone, RefusedByHub) as error:
            if unclear:
                raise _not_confirmed(plan, f"{unclear}, then: {error}") from error
            if isinstance(error, JobGone):
                raise RefusedByHub("Not found", f"The Hub has no namespace {plan.job.namespace!r}.", "") from error
            raise
        except TransientHubError as error:
            unclear, strays.unclear, strays.unclear_at = str(error), True, ports.clock.monotonic()
            ports.console.info(f"No clear answer to the launch ({error}); looking for the Job before anything else.")
            if (adopted := _adopt(spec, strays, unclear)) is not None:
                return adopted
    raise _not_confirmed(plan, unclear)


def _not_confirmed(plan: Plan, why: str) -> LostSight:
    return LostSight(
        "Launch not confirmed",
        f"{why}. No Job with the label hft-nonce={plan.nonce} was found in {plan.job.namespace}.",
        f"Check with: hf jobs ls -a --namespace {plan.job.namespace} --label hft-nonce={plan.nonce}",
    )


def _adopt(spec: JobSpec, strays: Strays, unclear: str) -> JobState | None:
    """The Job of a POST without a clear answer; None when the Hub says that there is none.

    Raises:
        LostSight: The Hub does not say, so one more POST could be one Job too many.
    """
    plan, ports, answered = strays.plan, strays.ports, False
    for wait in VISIBLE_AFTER_S:
        ports.clock.sleep(wait)
        try:
            found = [one for one in by_nonce(plan, ports) if twins.matches(one, spec)]
        except (TransientHubError, RefusedByHub, JobGone):
            continue
        answered = True
        if found:
            *extras, oldest = found
            for extra in extras:
                strays.cancel(extra.ref)
            return oldest
    if not answered:
        raise _not_confirmed(plan, unclear)
    return None

"""Never two Jobs of one training: attach to what is already paid for, also when two launches race.

The Hub has no launch that happens only once for a key, and its lists may lag. So a launch looks for the key before its
POST and once more after it: of several live Jobs the oldest stays, by the Hub's own clock and then by id, and every
other launch cancels its own Job, before it has left the queue. All launches judge by the same order, so one stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow.prepare import patiently
from hf_train.inputs.across import LEASE_MOUNT
from hf_train.plan import Plan
from hf_train.plan.lease import ENV as LEASE_ENV
from hf_train.plan.lease import LABEL
from hf_train.ports import Ports
from hf_train.values import JobSpec, JobState, Stage, Volume

LOOK_LIMIT_S = 60.0
LISTED_AFTER_S = (0.25, 1.0, 2.0)
"""Waits before each look after the POST, until the list shows our own Job: then it shows the older ones as well. The
first one lets pass what was launched in the very same millisecond, where the ids decide."""
SNAPSHOTS = "snapshots/"
KEPT_LABELS = ("hft-mode", LABEL)
_UNREACHABLE = (LostSight, TransientHubError, RefusedByHub, JobGone)


@dataclass(frozen=True, kw_only=True, slots=True)
class Twin:
    """A Job of the same training.

    Attributes:
        state: The Job, the first one of several nodes.
        why: Why it is taken, in words.
        others: The further nodes.
    """

    state: JobState
    why: str
    others: tuple[JobState, ...] = ()


def earlier(plan: Plan, context: Context, ports: Ports) -> Twin | None:
    """Before the POST: a Job of this very training that runs, or that completed in this workflow run.

    Raises:
        LostSight: The Hub does not list its Jobs, so this training may run already and would be paid for twice.
    """
    wanted = {"hft-key": plan.key}
    try:
        found = patiently(ports.clock, lambda: ports.hub.find(plan.job.namespace, wanted), limit_s=LOOK_LIMIT_S)
    except _UNREACHABLE as error:
        raise LostSight(
            "Running Jobs not known",
            f"The Hub does not say whether this training runs already ({error}); nothing was launched.",
            "Try again later, or set reuse: never to launch without looking.",
        ) from error
    return _chosen(found, plan, context)


def elder(plan: Plan, context: Context, ports: Ports, mine: JobState) -> Twin | None:
    """After the POST: a Job of this very training that was there before ours."""
    for wait in LISTED_AFTER_S:
        ports.clock.sleep(wait)
        try:
            found = ports.hub.find(plan.job.namespace, {"hft-key": plan.key})
        except _UNREACHABLE:
            continue
        own = next((one for one in found if one.ref.id == mine.ref.id), None)
        if own is not None:
            return _chosen([one for one in found if _age(one) < _age(own)], plan, context)
    return None


def take_over(state: JobState, spec: JobSpec, ports: Ports) -> bool:
    """Write our labels on a Job that we attached to: from now on it is this run's, for sweep, cleanup and collect.

    Only inside the family: the Job of another pull request stays its own. A label that is not written changes nothing
    but who cleans up.

    Returns:
        Whether the Job has the labels that it should have.
    """
    before, ours = state.labels, spec.labels
    if state.stage.is_terminal or before.get("hft-family") != ours.get("hft-family"):
        return True
    kept = {name: before[name] for name in KEPT_LABELS if name in before}
    try:
        ports.hub.relabel(state.ref, {**{name: value for name, value in ours.items() if name != LABEL}, **kept})
    except _UNREACHABLE:
        return False
    return True


def matches(state: JobState, spec: JobSpec) -> bool:
    """Whether a Job is what a spec says. Labels are free text, so all that makes the training is compared as well."""
    return (
        (state.image, state.command, state.flavor) == (spec.image, spec.command, spec.flavor)
        and set(state.secrets) == set(spec.secrets)
        and _own(state.env) == _own(spec.env)
        and _mounts(state.volumes) == _mounts(spec.volumes)
    )


def _own(env: Mapping[str, str]) -> Mapping[str, str]:
    """Without the lease: with or without it the training is the same."""
    return {name: value for name, value in env.items() if name != LEASE_ENV}


def _mounts(volumes: Sequence[Volume]) -> set[tuple[str | bool | None, ...]]:
    """Volumes as they are compared: without the lease, and without the mark of a launch in a writable copy's path."""
    return {
        (
            one.mount.rstrip("/"),
            one.kind,
            one.source,
            one.revision,
            SNAPSHOTS if not one.read_only and one.path.startswith(SNAPSHOTS) else one.path.strip("/"),
        )
        for one in volumes
        if one.mount != LEASE_MOUNT
    }


def _chosen(found: Sequence[JobState], plan: Plan, context: Context) -> Twin | None:
    """The oldest live Job; else one that completed in this workflow run."""
    same = sorted((one for one in found if matches(one, plan.job)), key=_age)
    whole = [(state, others) for state in same if (others := _beside(state, found, plan)) is not None]
    for state, others in whole:
        if not state.stage.is_terminal:  # a stage that we do not know may be billed
            why = f"Attached to Job {state.ref.id}, which already runs this very training."
            return Twin(state=state, why=why, others=others)
    for state, others in whole:
        completed = all(one.stage is Stage.COMPLETED for one in (state, *others))
        if completed and context.run_id and state.labels.get("hft-run") == context.run_id:
            why = f"Job {state.ref.id} of this workflow run had completed this very training; nothing new was paid."
            return Twin(state=state, why=why, others=others)
    return None


def _beside(first: JobState, found: Sequence[JobState], plan: Plan) -> tuple[JobState, ...] | None:
    """The further nodes of a first one; None when one is missing or did not complete: such a group is at its end.

    The first node is launched last, so where it is, the others were before.
    """
    seen = [member(first, spec, found) for spec in plan.others]
    others = tuple(one for one in seen if one and (not one.stage.is_terminal or one.stage is Stage.COMPLETED))
    return others if len(others) == len(plan.others) else None


def member(first: JobState, spec: JobSpec, found: Sequence[JobState]) -> JobState | None:
    """The Job of a further node's spec, of the same launch as the first one.

    There may be two: a POST that took effect late and was cancelled, or the Jobs of a launch that lost the race and
    then wrote its nonce on those it attached to. So one that has failed comes last, and of the others the oldest is it.
    """
    nonce = first.labels.get("hft-nonce", "")
    same = [one for one in found if one.labels.get("hft-nonce", "") == nonce and matches(one, spec)]
    return min(
        same, key=lambda one: (one.stage.is_terminal and one.stage is not Stage.COMPLETED, _age(one)), default=None
    )


def _age(state: JobState) -> tuple[float, str]:
    return (state.created_at.timestamp() if state.created_at else 0.0, state.ref.id)

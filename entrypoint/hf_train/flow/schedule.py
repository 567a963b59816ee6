"""Schedules on the Hub: set one from the spec of a run, once for each name, and remove it. Never two, never none.

A replacement is made before the old one is removed, so that a launch that fails leaves what was there. What a step that
was killed in between left, the next `set` clears away: of all schedules of a name the newest stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hf_train.errors import BadInput, LostSight, RefusedByHub, RefusedByPolicy, TransientHubError
from hf_train.flow.inquiry import create_repo
from hf_train.flow.launch import VISIBLE_AFTER_S, send
from hf_train.flow.prepare import Prepared, Request, patiently, prepare, with_image
from hf_train.inputs import Inputs
from hf_train.plan import label
from hf_train.plan.schedule import MINE, NAME_LABEL, Schedule, is_id, same, scheduled
from hf_train.ports import Clock, Ports, Schedules
from hf_train.values import LocalVolume, Scheduled

LIMIT_S = 60.0


class Change(StrEnum):
    """What a `set` does, in words for people."""

    NONE = "unchanged"
    NEW = "created"
    REPLACED = "replaced"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A schedule that is ready to be set.

    Attributes:
        prepared: The plan, its spec with the labels of a schedule.
        schedule: What was asked for; a pause by hand is taken over.
        there: What the Hub has of this name and repository, newest first.
        change: What has to be done.
    """

    prepared: Prepared
    schedule: Schedule
    there: tuple[Scheduled, ...]
    change: Change


def of_schedule(request: Request, *, dry_run: bool) -> Request:
    """The request without what belongs to a run that somebody follows.

    Args:
        request: What was asked for.
        dry_run: Whether it is only shown; a pull request may do that.

    Raises:
        BadInput: An input cannot hold for a Job that nobody follows.
        RefusedByPolicy: It comes from a pull request.
    """
    inputs, context = request.inputs, request.context
    if not dry_run and (context.pull is not None or context.comment is not None):
        raise RefusedByPolicy(
            "No schedule from a pull request",
            "It would run, and cost, after the pull request is closed, and replace that of the branch.",
            "Set it on push to the branch; hf-train schedule set --dry-run shows it here.",
        )
    return replace(request, inputs=_unattended(inputs))


def _unattended(inputs: Inputs) -> Inputs:
    problems = [
        f"volumes: {one.folder} is sent once, and all runs of the schedule would write to it; mount a bucket instead"
        for one in inputs.volumes
        if isinstance(one, LocalVolume) and not one.read_only
    ]
    if inputs.output:
        problems.append(
            "output: all runs of the schedule would write to one folder, and each would go on from the one before; "
            "push to the Hub with job-token, or mount a bucket of your own"
        )
    if inputs.publish:
        problems.append("publish: no step is there to push what a scheduled run leaves; give job-token, and push there")
    if inputs.local:
        problems.append("local: the embedded Hub ends with this command; set HF_ENDPOINT to one that runs")
    if problems:
        raise BadInput(problems)
    return replace(inputs, mode="detach", lease=None, smoke=None, retry=0, watch_timeout=None)


def propose(
    request: Request, schedule: Schedule, ports: Ports, schedules: Schedules, *, offline: bool, renew: bool, build: bool
) -> Proposal:
    """Make the plan and look at what is there; nothing is sent, and no image built unless `build`.

    Args:
        request: What was asked for, from `of_schedule`.
        schedule: When and how.
        ports: The world.
        schedules: What the Hub has.
        offline: Without a token.
        renew: Replace it even when nothing differs.
        build: Build and push the image when it is not there yet.

    Raises:
        UserError: As `prepare`.
        BadInput: It has no name, and there is no repository to take one from: what an image is called can change.
    """
    if schedule.name is None and not request.context.repository:
        raise BadInput([*request.problems, "name: give --name; only a workflow has a repository to take it from"])
    prepared = prepare(request, ports, offline=offline, pin=False)
    if build:
        prepared = with_image(prepared, request, ports)
    if prepared.plan.others:  # huggingface_hub 2.4.0 `create_scheduled_job` takes no network group
        raise BadInput(["nodes: a scheduled Job joins no network group; run several nodes from a workflow's schedule"])
    job = scheduled(prepared.plan.job, schedule)
    prepared = replace(prepared, plan=replace(prepared.plan, job=job))
    there = () if offline else named(job.labels, job.namespace, schedules, ports.clock)
    if there and schedule.suspend is None:
        schedule = replace(schedule, suspend=there[0].suspend or None)
    if len(there) == 1 and not renew and same(there[0], job, schedule):
        change = Change.NONE
    else:
        change = Change.REPLACED if there else Change.NEW
    return Proposal(prepared=prepared, schedule=schedule, there=there, change=change)


def named(labels: Mapping[str, str], namespace: str, schedules: Schedules, clock: Clock) -> tuple[Scheduled, ...]:
    """Schedules of the same name and repository, newest first.

    The workflow and the branch do not count, unlike in `family`: a schedule that moved to another workflow is still
    the same one, and must not stay behind and bill.
    """
    found = patiently(
        clock, lambda: schedules.find(namespace, {NAME_LABEL: labels[NAME_LABEL], **MINE}), limit_s=LIMIT_S
    )
    return tuple(one for one in found if one.labels.get("hft-repo") == labels.get("hft-repo"))


def apply(proposal: Proposal, ports: Ports, schedules: Schedules) -> Scheduled:
    """Do it: send the code, make the new one, remove the old. Gives the one that is there in the end.

    Raises:
        RefusedByHub: The Hub does not take it, or does not let the old one go; what was there is there.
        LostSight: It is not known what is there.
    """
    if proposal.change is Change.NONE:
        return proposal.there[0]
    create_repo(proposal.prepared.new_repo, ports)
    send(proposal.prepared.plan, ports)
    made = _create_once(proposal, ports, schedules)
    return _only_one(made, proposal, ports, schedules)


def _create_once(proposal: Proposal, ports: Ports, schedules: Schedules) -> Scheduled:
    plan, schedule = proposal.prepared.plan, proposal.schedule
    for last_try in (False, True):
        try:
            return schedules.create(
                plan.job,
                proposal.prepared.secrets,
                schedule.cron.text,
                suspend=schedule.suspend,
                concurrency=schedule.concurrency or None,
            )
        except TransientHubError as error:
            ports.console.info(f"No clear answer ({error}); looking for the schedule before anything else.")
            if (found := _of_nonce(proposal, ports, schedules)) is not None:
                return found
            if last_try:
                raise LostSight(
                    "Schedule not confirmed",
                    f"{error}. None with the label hft-nonce={plan.nonce} was found in {plan.job.namespace}.",
                    "Run it again: it leaves one schedule of this name.",
                ) from error
    raise AssertionError("unreachable")


def _of_nonce(proposal: Proposal, ports: Ports, schedules: Schedules) -> Scheduled | None:
    plan = proposal.prepared.plan
    for wait in VISIBLE_AFTER_S:
        ports.clock.sleep(wait)
        try:
            found = schedules.find(plan.job.namespace, {"hft-nonce": plan.nonce})
        except TransientHubError:
            continue
        if found:
            return found[0]
    return None


def _only_one(made: Scheduled, proposal: Proposal, ports: Ports, schedules: Schedules) -> Scheduled:
    """Keep the newest. The list is read once more: of two `set` at the same moment both keep the same one."""
    job = proposal.prepared.plan.job
    known = {one.id: one for one in (*proposal.there, made)}
    known |= {one.id: one for one in named(job.labels, job.namespace, schedules, ports.clock)}
    keep = max(known.values(), key=_age)
    for one in known.values():
        if one.id != keep.id:
            _replaced(one, keep, made, ports, schedules)
    return keep


def _replaced(old: Scheduled, keep: Scheduled, made: Scheduled, ports: Ports, schedules: Schedules) -> None:
    try:
        remove(old, schedules, ports.clock)
    except RefusedByHub as error:
        if keep.id != made.id:
            raise
        # A clear no: the old one is there, so ours can go.
        remove(made, schedules, ports.clock)
        raise RefusedByHub(error.title, f"{error.message} Schedule {old.id} is as it was.", error.hint) from error
    except LostSight as error:
        raise LostSight(
            "Two schedules",
            f"{keep.id} was made, and it is not known whether {old.id} was removed: {error.message}",
            "Run it again: it leaves one schedule of this name.",
        ) from error


def remove(one: Scheduled, schedules: Schedules, clock: Clock) -> None:
    """Remove one."""
    patiently(clock, lambda: schedules.remove(one.namespace, one.id), limit_s=LIMIT_S)


def chosen(name: str, repository: str, found: Sequence[Scheduled]) -> tuple[Scheduled, ...]:
    """Which of hf-train's schedules a name or an id means.

    Args:
        name: A name or an id.
        repository: `owner/name` of this repository; empty where that is not known, and then any fits.
        found: All of the namespace.

    Raises:
        RefusedByHub: There is none.
        BadInput: Schedules of several repositories have this name.
    """
    if is_id(name):
        wanted = [one for one in found if one.id == name]
    else:
        mine = [one for one in found if one.labels.get(NAME_LABEL) == name]
        wanted = [one for one in mine if not repository or one.labels.get("hft-repo") == label(repository)]
    if not wanted:
        names = ", ".join(sorted({one.labels.get(NAME_LABEL, "") for one in found})) or "none"
        raise RefusedByHub("Not found", f"hf-train set no schedule {name!r} here; there is: {names}.", "")
    owners = {one.labels.get("hft-repo", "") for one in wanted}
    if len(owners) > 1:
        ids = ", ".join(f"{one.id} ({one.labels.get('hft-repo') or 'no repository'})" for one in wanted)
        raise BadInput([f"NAME: several repositories have a schedule {name!r}; name one by its id: {ids}"])
    return tuple(wanted)


def _age(one: Scheduled) -> tuple[float, str]:
    return (one.created_at.timestamp() if one.created_at else 0.0, one.id)

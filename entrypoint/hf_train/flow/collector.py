"""Collect: finish the report of a Job that its own step does not follow any more: a detached one, or a lost one.

What the report is made from comes from the run file that the launch left in the bucket (`runfile`), never from the
Job's labels, which anybody in the namespace can write. A report that is finished is marked there, so a second collect
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hf_train import runfile
from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub
from hf_train.flow.handover import LIMIT_S, found, mark
from hf_train.flow.pipeline import resume
from hf_train.flow.prepare import Request, patiently
from hf_train.plan import label
from hf_train.ports import Clock, Ports, Reports
from hf_train.report import Report
from hf_train.runfile import RunFile
from hf_train.values import JobState, Reason

GLANCE_S = 10
"""Seconds that the log of a Job that still runs is read, to say how far it is."""
NEVER_S = 10**9


class Fate(StrEnum):
    """What a collect made of a Job, in words for people."""

    REPORTED = "its report is finished"
    LIVE = "it has not ended; its comment says how far it is"
    BEFORE = "its report was finished before"
    STRANGE = "it is not collected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """One Job, and what was made of it.

    Attributes:
        job: The Job.
        fate: What was made of it.
        why: Why it is not collected, in words.
        report: Its report, when one was written now.
        code_before: Exit code of the report that was finished before.
    """

    job: JobState
    fate: Fate
    why: str = ""
    report: Report | None = None
    code_before: int = 0


def collect(
    job: JobState,
    context: Context,
    reports: Reports,
    clock: Clock,
    world: Callable[[RunFile], Ports],
    *,
    superseded: bool,
) -> Collected:
    """Finish, or bring up to date, the report of one Job.

    Args:
        job: The Job, seen just now.
        context: Where this collect runs; a Job of another repository is not touched.
        reports: The bucket of reports.
        clock: Time.
        world: Gives the world to report to, for a launch.
        superseded: Whether a newer Job of its family has the sticky comment now.
    """
    try:
        run, done = patiently(clock, lambda: found(job, reports), limit_s=LIMIT_S)
    except (LostSight, RefusedByHub, JobGone) as error:
        return Collected(job=job, fate=Fate.STRANGE, why=f"the bucket could not be read: {error}")
    if done is not None:
        return Collected(job=job, fate=Fate.BEFORE, code_before=done)
    if run is None:
        return Collected(job=job, fate=Fate.STRANGE, why="the file that its launch left in the bucket was not found")
    if job.node:
        return Collected(job=job, fate=Fate.STRANGE, why=f"it is node {job.node} of several; name the first")
    if why := runfile.fits(run, job):
        return Collected(job=job, fate=Fate.STRANGE, why=why)
    if context.repository and run.context.repository != context.repository:
        return Collected(job=job, fate=Fate.STRANGE, why=f"it was launched by {label(run.context.repository)}")
    ports = world(run)
    plan = replace(run.plan, detach=False, watch_s=GLANCE_S)
    report = resume(_request(run, superseded), ports, plan, run.snapshot, job)
    if report.outcome is None or report.outcome.reason is Reason.DETACHED:
        return Collected(job=job, fate=Fate.LIVE, report=report)
    if report.outcome.reason is Reason.LOST_SIGHT or not _said(report):  # the next collect tries again
        return Collected(job=job, fate=Fate.REPORTED, report=report)
    if problem := mark(report, plan, reports, ports):
        ports.console.warning("Collect", f"The report is finished, but the bucket does not say so: {problem}")
    return Collected(job=job, fate=Fate.REPORTED, report=report)


def newest_of_families(jobs: Sequence[JobState]) -> frozenset[str]:
    """Ids of the Jobs that are the newest of their family: theirs is the sticky comment."""
    newest: dict[str, JobState] = {}
    for job in jobs:
        family = job.labels.get("hft-family") or job.ref.id
        if family not in newest or _age(job) > _age(newest[family]):
            newest[family] = job
    return frozenset(job.ref.id for job in newest.values())


def _age(job: JobState) -> tuple[float, str]:
    return (job.created_at.timestamp() if job.created_at else 0.0, job.ref.id)


def _request(run: RunFile, superseded: bool) -> Request:
    """The run as it was asked for, but for what a look from outside must not do: to cancel."""
    inputs = replace(
        run.inputs,
        mode="wait",
        on_cancel="keep",
        queue_timeout=NEVER_S,
        watch_timeout=GLANCE_S,
        on_watch_timeout="detach",
        comment="never" if superseded else run.inputs.comment,
    )
    return Request(inputs=inputs, context=run.context, environ={}, nonce=run.plan.nonce, earlier=run.earlier)


def _said(report: Report) -> bool:
    """Whether GitHub took all that there was to say; else the next collect says it again."""
    return not any("could not be written" in problem for problem in report.problems)

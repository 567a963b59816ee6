"""A new push makes the Job of an older commit worthless: cancel it, wait for it, or leave it.

Only Jobs of the same family are looked at: the same repository, workflow (or comment key) and pull request or ref; only
live ones of another commit; and only those of an earlier workflow run, so that a re-run of an old commit never ends the
training of a newer one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow.prepare import patiently
from hf_train.flow.verdict import cancel
from hf_train.flow.watch import HEARTBEAT_S
from hf_train.inputs import Inputs
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.values import SUPERSEDED, JobState

LOOK_LIMIT_S = 60.0
QUEUE_LOOK_S = 30.0
QUEUE_LIMIT_S = 5.5 * 3600
_UNREACHABLE = (LostSight, TransientHubError, RefusedByHub, JobGone)


def make_room(plan: Plan, inputs: Inputs, context: Context, ports: Ports) -> None:
    """Do what `supersede` says with the Jobs of older commits.

    Raises:
        LostSight: `queue`, and an older Job did not end in the time that this step may take.
    """
    what = inputs.supersede or ("cancel" if context.pull else "keep")
    if what == "keep" or not plan.job.labels.get("hft-family"):
        return
    if what == "queue":
        _wait(plan, ports)
        return
    for job in _older(plan, ports):
        sha = plan.job.labels.get("hft-sha", "")
        with contextlib.suppress(*_UNREACHABLE):  # only so that the older run can say why it was cancelled
            ports.hub.relabel(job.ref, {**job.labels, SUPERSEDED: sha})
        if cancel(ports.hub, job.ref, ports.clock):
            ports.console.info(f"Cancelled Job {job.ref.id}: it trains {_short(job)}, superseded by {sha[:7]}.")
        else:
            ports.console.warning("Supersede", f"Job {job.ref.id} of {_short(job)} was NOT cancelled: {job.ref.url}")


def _older(plan: Plan, ports: Ports) -> Sequence[JobState]:
    """Live Jobs of the family's older commits; none when the Hub does not say."""
    ours = plan.job.labels
    wanted = {"hft-family": ours["hft-family"]}
    try:
        found = patiently(ports.clock, lambda: ports.hub.find(plan.job.namespace, wanted), limit_s=LOOK_LIMIT_S)
    except _UNREACHABLE:
        ports.console.warning("Supersede", "The Hub could not be asked for Jobs of older commits.")
        return []
    return [
        job
        for job in found
        if not job.stage.is_terminal
        and job.labels.get("hf-train") == "1"
        and job.labels.get("hft-repo") == ours.get("hft-repo")
        and job.labels.get("hft-key") != plan.key  # the push changed nothing that is trained: it will be attached to
        and job.labels.get("hft-sha", "") not in {"", ours.get("hft-sha", "")}
        and _earlier(job.labels.get("hft-run", ""), ours.get("hft-run", ""))
    ]


def _wait(plan: Plan, ports: Ports) -> None:
    began = said = ports.clock.monotonic()
    limit = plan.watch_s or QUEUE_LIMIT_S
    while older := _older(plan, ports):
        now = ports.clock.monotonic()
        if now - began > limit:
            raise LostSight(
                "Older Job not done",
                f"Job {older[0].ref.id} of {_short(older[0])} still runs after {(now - began) / 60:.0f} min; "
                "nothing was launched.",
                "supersede: cancel would end it.",
            )
        if now == began or now - said >= HEARTBEAT_S:
            said = now
            ports.console.info(f"Waiting for Job {older[0].ref.id} of {_short(older[0])} to end (supersede: queue).")
        ports.clock.sleep(QUEUE_LOOK_S)


def _earlier(run: str, ours: str) -> bool:
    """Whether a workflow run is earlier than ours: ids grow. What is no number is not."""
    return run.isdecimal() and ours.isdecimal() and int(run) < int(ours)


def _short(job: JobState) -> str:
    return job.labels.get("hft-sha", "")[:7] or "an older commit"

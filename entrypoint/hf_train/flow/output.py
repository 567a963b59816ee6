"""The output folder: there before the Job, one Job at a time, and its record read when the Job has ended."""

from __future__ import annotations

import json

from hf_train.collect.record import MAX_BYTES, Record, read_record, wanted
from hf_train.context import Context
from hf_train.errors import LostSight, RefusedByHub, RefusedByPolicy
from hf_train.flow.prepare import patiently
from hf_train.plan import Plan
from hf_train.plan.output import RECORDS, Output, output_of
from hf_train.ports import Ports
from hf_train.values import JobState, Outcome

LOOK_LIMIT_S = 30.0
ABOUT = "about.json"
"""Says whose a folder is, for people who tidy the bucket."""


def make_folder(plan: Plan, context: Context, ports: Ports, *, reuse: bool) -> None:
    """Make the folder, before there is a Job: a volume must exist.

    Args:
        plan: The plan; without an output folder nothing is done.
        context: Where the run was started.
        ports: The world.
        reuse: Whether a live Job of the same training is attached to. When it is not, there must be none: two that
            write checkpoints into one folder spoil both.

    Raises:
        RefusedByPolicy: A Job writes into the folder now.
        RefusedByHub: The bucket may not be written.
        LostSight: The Hub does not answer.
    """
    output = output_of(plan.job)
    if output is None:
        return
    if not reuse:
        _alone(output, plan, ports)
    about = {"repository": context.repository, "sha": context.head_sha, "run": context.comment_key, "key": plan.key}
    text = json.dumps({"version": 1, **about}) + "\n"
    path = f"{output.folder}/{RECORDS}/{ABOUT}"
    patiently(ports.clock, lambda: ports.reports.save(output.bucket, [path], text))


def _alone(output: Output, plan: Plan, ports: Ports) -> None:
    jobs = patiently(ports.clock, lambda: ports.hub.find(plan.job.namespace, {"hft-key": plan.key}))
    live = next((one for one in jobs if not one.stage.is_terminal), None)
    if live is not None:
        raise RefusedByPolicy(
            "Output folder in use",
            f"Job {live.ref.id} of this very training writes to {output.address} now, and reuse is never.",
            "Wait for it or cancel it; with reuse: auto this run attaches to it.",
        )


def record_of(plan: Plan, state: JobState | None, outcome: Outcome, ports: Ports) -> Record:
    """What the Job left in its output folder, however it ended; what cannot be read is a problem in words.

    Not after a signal: the runner gives us seconds, and the Job's own side may still be writing.
    """
    output = output_of(plan.job)
    if output is None or state is None or not state.stage.is_terminal or outcome.signum is not None:
        return Record()
    folder, metrics_file = output.record(state.ref.id), plan.expect.metrics_file
    paths = {f"{folder}/{name}": name for name in wanted(metrics_file)}
    try:
        found = patiently(
            ports.clock, lambda: ports.reports.contents(output.bucket, list(paths), MAX_BYTES), limit_s=LOOK_LIMIT_S
        )
    except (LostSight, RefusedByHub) as error:
        return Record(problems=(f"The output folder could not be read: {error.message}",))
    if not found and state.started_at is not None:
        return Record(problems=("The Job left no record in its output folder.",))
    return read_record({paths[path]: content for path, content in found.items()}, metrics_file)

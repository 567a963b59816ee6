"""The run file in the bucket: left by the launch, found by a later collect, marked when the report is finished."""

from __future__ import annotations

import json

from hf_train import runfile
from hf_train.errors import ExitCode, JobGone, LostSight, RefusedByHub
from hf_train.flow.prepare import Request, patiently
from hf_train.plan import BUCKET, Plan
from hf_train.ports import Ports, Reports
from hf_train.report import Report, as_json
from hf_train.runfile import RunFile
from hf_train.values import JobState, Snapshot

LIMIT_S = 30.0


def leave(plan: Plan, request: Request, snapshot: Snapshot | None, ports: Ports) -> str:
    """Leave the run file, before there is a Job. Returns the problem, empty when there is none."""
    run = RunFile(plan=plan, inputs=request.inputs, context=request.context, snapshot=snapshot, earlier=request.earlier)
    text = runfile.written(run)
    if ports.console.redact(text) != text:
        return "its file in the bucket would hold a secret"
    return _saved(ports, ports.reports, plan, "run.json", text)


def mark(report: Report, plan: Plan, reports: Reports, ports: Ports) -> str:
    """Note that a report is finished. Returns the problem, empty when there is none."""
    return _saved(ports, reports, plan, "report.json", ports.console.redact(as_json(report)))


def found(job: JobState, reports: Reports) -> tuple[RunFile | None, int | None]:
    """The run file of a Job, and the exit code of its report when that was finished before.

    Raises:
        RefusedByHub: The bucket may not be read.
        TransientHubError: An answer that may be better next time.
    """
    texts = reports.newest(f"{job.ref.namespace}/{BUCKET}", runfile.folder(job.labels.get("hft-nonce", "")), 2)
    runs = [run for text in texts if (run := runfile.read(text)) is not None]
    finished = [text for text in texts if runfile.read(text) is None]
    return (runs[0] if runs else None), (_exit_code(finished[0]) if runs and finished else None)


def _exit_code(text: str) -> int:
    """What a finished report says; a report that cannot be read is never a green one."""
    try:
        code = json.loads(text)["exit-code"]
    except (ValueError, TypeError, KeyError):
        return int(ExitCode.LOST_SIGHT)
    return code if type(code) is int and 0 <= code < 256 else int(ExitCode.LOST_SIGHT)


def _saved(ports: Ports, reports: Reports, plan: Plan, name: str, text: str) -> str:
    bucket, path = f"{plan.job.namespace}/{BUCKET}", f"{runfile.folder(plan.nonce)}/{name}"
    try:
        patiently(ports.clock, lambda: reports.save(bucket, [path], text), limit_s=LIMIT_S)
    except (LostSight, RefusedByHub, JobGone) as error:
        return str(error)
    return ""

"""Where the reports of earlier runs lie, and how a run's own gets there.

Reports are stored in the private bucket `jobs-artifacts`, so that they are found without any git history:

    reports/REPOSITORY/keys/KEY/commits/SHA/     the run of this key (workflow / job / matrix leg) at a commit
    reports/REPOSITORY/keys/KEY/branches/NAME/   the runs of this key on a branch
    reports/REPOSITORY/keys/KEY/tags/NAME/       and on a tag
    reports/REPOSITORY/runs/ID/                  all legs of a workflow run
    reports/REPOSITORY/jobs/ID/                  one Job

A file's name begins with its time, so names sort by age. What is trusted of their contents: see `stored`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from hf_train.errors import LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.judge.gate import overall
from hf_train.plan import BUCKET
from hf_train.ports import Ports
from hf_train.report import Report, as_json, verdict_of
from hf_train.values import Reason

ROOT = "reports"
LOOK_LIMIT_S = 30.0
QUEUE = re.compile(r"gh-readonly-queue/(?P<base>.+)/pr-\d+-(?P<sha>[0-9a-f]{40})")
"""Branch of a merge queue; it names the base branch and the commit that the pull request is laid upon."""


def save(report: Report, ports: Ports) -> str:
    """Store a completed run's report for later ones. Returns the problem, empty when it went well.

    A run that diverged, failed its gate, or published nothing where a model was expected does not become a baseline.
    One whose gate could not be judged does: else the first run of a gate with `baseline` would never get one.
    """
    reason = verdict_of(report).reason
    good = reason == Reason.COMPLETED or (reason == Reason.GATE_UNKNOWN and overall(report.judged) == "unknown")
    if report.plan is None or report.state is None or not good or report.findings.diverged:
        return ""
    bucket = f"{report.plan.job.namespace}/{BUCKET}"
    name = f"{ports.clock.now():%Y%m%dT%H%M%S}-{report.state.ref.id}.json"
    places = [f"{folder}/{name}" for folder in _folders(report)]
    content = ports.console.redact(as_json(report))
    try:
        patiently(ports.clock, lambda: ports.reports.save(bucket, places, content), limit_s=LOOK_LIMIT_S)
    except (LostSight, RefusedByHub) as error:
        return error.message
    return ""


def _folders(report: Report) -> Iterator[str]:
    """Where a run belongs. Under a commit only what was trained at exactly that commit."""
    context, family, home = report.context, family_of(report), home_of(report)
    sha = tested(report)
    if sha and not (report.snapshot and report.snapshot.dirty):
        yield f"{family}/commits/{sha}"
    # `workflow_run` and a checkout with `ref:` train other code than that of the event's branch.
    ref = context.ref if sha == context.sha else ""
    if context.pull is None and ref.startswith("refs/heads/") and not QUEUE.fullmatch(ref.removeprefix("refs/heads/")):
        yield f"{family}/branches/{folder_name(ref.removeprefix('refs/heads/'))}"
    if ref.startswith("refs/tags/"):
        yield f"{family}/tags/{folder_name(ref.removeprefix('refs/tags/'))}"
    if context.run_id:
        yield f"{home}/runs/{folder_name(context.run_id)}"
    if report.state:
        yield f"{home}/jobs/{folder_name(report.state.ref.id)}"


def tested(report: Report) -> str:
    """The commit that was trained: what lay in the workspace (often a merge commit of GitHub's), else the event's."""
    return (report.snapshot.sha if report.snapshot else "") or report.context.sha


def home_of(report: Report) -> str:
    """Folder of the repository."""
    return f"{ROOT}/{folder_name(report.context.repository or 'local')}"


def family_of(report: Report) -> str:
    """Folder of the runs that can be compared: the same workflow, job and matrix leg."""
    return f"{home_of(report)}/keys/{folder_name(report.key)}"


def folder_name(text: str) -> str:
    """A name as one folder of the bucket; one that had to be changed gets a hash, so that no two become the same."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:80] or "none"
    return plain if plain == text else f"{plain}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"

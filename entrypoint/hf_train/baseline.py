"""Which earlier run to compare with: the base commit's, else the base branch's newest, else what `baseline` names.

Reports are stored in the bucket under the family of the run (repository and comment key), by commit and by branch, so
that a shallow clone finds them too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hf_train.collect.files import read_metrics_file
from hf_train.context import Context
from hf_train.plan import BUCKET
from hf_train.ports import Ports
from hf_train.report import Report, as_json, verdict_of

ROOT = "reports"


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """What this run is compared with.

    Attributes:
        name: Where it comes from, for people.
        runs: Metrics, the one to compare with first.
    """

    name: str = ""
    runs: tuple[Mapping[str, float], ...] = ()


def find(context: Context, key: str, namespace: str, wanted: str | None, count: int, ports: Ports) -> Baseline:
    """Look for the baseline.

    Args:
        context: Where this run stands.
        key: Key of the run's comment; reports of one key are one family.
        namespace: Owner of the bucket.
        wanted: The input `baseline`: a file of the workspace, `branch:NAME`, `commit:SHA`, or `none`; None to choose.
        count: How many earlier runs are wanted at most.
        ports: The world.
    """
    if wanted == "none":
        return Baseline()
    bucket, family = f"{namespace}/{BUCKET}", _family(context, key)
    kind, _, name = (wanted or "").partition(":")
    if kind == "commit":
        places = [(f"commit {name[:7]}", f"{family}/commits/{_safe(name)}")]
    elif kind == "branch":
        places = [(f"branch {name}", f"{family}/branches/{_safe(name)}")]
    elif wanted:
        text = ports.workspace.read_text(wanted)
        metrics = _finite(read_metrics_file(text).values) if text is not None else {}
        return Baseline(name=wanted, runs=(metrics,)) if metrics else Baseline()
    else:
        places = _usual(context, family)
    for label, folder in places:
        runs = tuple(filter(None, (_metrics(text) for text in ports.reports.newest(bucket, folder, count))))
        if len(runs) >= (count if count > 1 and label.startswith("branch") else 1):
            return Baseline(name=label, runs=runs)
    return Baseline()


def save(report: Report, key: str, ports: Ports) -> str:
    """Store a completed run's report for later ones. Returns the problem, empty when there is none."""
    if report.plan is None or report.state is None or verdict_of(report).reason != "completed":
        return ""
    context, bucket = report.context, f"{report.plan.job.namespace}/{BUCKET}"
    family, name = _family(context, key), f"{ports.clock.now():%Y%m%dT%H%M%S}-{report.state.ref.id}.json"
    sha = context.head_sha or (report.snapshot.sha if report.snapshot else "")
    places = [f"{family}/commits/{_safe(sha)}/{name}"] if sha else []
    if context.pull is None and context.ref.startswith("refs/heads/"):
        places.append(f"{family}/branches/{_safe(context.ref.removeprefix('refs/heads/'))}/{name}")
    problems = [ports.reports.save(bucket, place, as_json(report)) for place in places]
    return next((problem for problem in problems if problem), "")


def _usual(context: Context, family: str) -> list[tuple[str, str]]:
    pull = context.pull
    if pull is not None:
        base = (
            [(f"base commit {pull.base_sha[:7]}", f"{family}/commits/{_safe(pull.base_sha)}")] if pull.base_sha else []
        )
        branch = [(f"branch {pull.base_ref}", f"{family}/branches/{_safe(pull.base_ref)}")] if pull.base_ref else []
        return [*base, *branch]
    if context.ref.startswith("refs/heads/"):
        name = context.ref.removeprefix("refs/heads/")
        return [(f"branch {name}", f"{family}/branches/{_safe(name)}")]
    return []


def _family(context: Context, key: str) -> str:
    return f"{ROOT}/{_safe(context.repository or 'local')}/{_safe(key)}"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:100] or "none"


def _metrics(text: str) -> Mapping[str, float]:
    """The metrics of a stored report; empty when it cannot be read."""
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    metrics = document.get("metrics") if isinstance(document, dict) else None
    return _finite(metrics) if isinstance(metrics, dict) else {}


def _finite(metrics: Mapping[str, object]) -> dict[str, float]:
    numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}


def widest(conditions: Sequence[int]) -> int:
    """How many earlier runs the widest condition wants; at least one, for the deltas."""
    return max([1, *conditions])

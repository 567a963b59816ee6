"""Step outputs and `report.json`: one object, a promise of the public interface."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from hf_train.judge.directions import direction
from hf_train.judge.gate import overall
from hf_train.report.model import Report
from hf_train.report.nodes import nodes_json
from hf_train.report.output import output_folder
from hf_train.report.schema import VERSION
from hf_train.report.table import shown_metrics
from hf_train.report.verdict import verdict_of
from hf_train.values import Stage

MAX_SHOWN = 100
MAX_METRICS = 60_000
"""Characters of the `metrics` output; `report.json` has all of them."""
_LINE_ENDS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


def values(report: Report) -> dict[str, Any]:
    """The outputs with their own types. Non-finite metrics are null: JSON has no NaN."""
    verdict = verdict_of(report)
    model, ref = report.findings.model, report.ref
    stage = Stage.SKIPPED.value if report.skipped else ""
    if report.state:
        stage = report.state.stage_text or report.state.stage.value
    cost, seconds = report.cost_usd, report.duration_s
    return {
        "job-id": ref.id if ref else "",
        "job-url": ref.url if ref else "",
        "stage": stage,
        "reason": verdict.reason,
        "exit-code": int(verdict.code),
        "model-repo": model.repo if model else "",
        "model-revision": model.revision if model else "",
        "model-url": model.url if model else "",
        "metrics": _finite({m.name: m.value for m in report.findings.metrics}),
        "deltas": deltas(report),
        "gate": overall(report.judged),
        "cost-usd": _rounded(cost, 6),
        "duration-s": _rounded(seconds, 3),
        "image": report.plan.job.image if report.plan else "",
        "snapshot": report.snapshot.digest if report.snapshot else "",
        "comment-url": report.comment_url,
        "comment-file": report.comment_file,
        "report-file": report.report_file,
    }


def deltas(report: Report) -> dict[str, float]:
    """This run minus the baseline, where both are known."""
    known = {m.name: m.value for m in report.findings.metrics if math.isfinite(m.value)}
    differences = {name: known[name] - base for name, base in report.base.items() if name in known}
    return {name: value for name, value in differences.items() if math.isfinite(value)}


def outputs(report: Report) -> Mapping[str, str]:
    """The outputs as strings of one line; an unknown number is empty."""
    whole = values(report)
    if report.plan and report.plan.expect.metrics:  # the named ones first: they are kept when there are too many
        named = [name for name in report.plan.expect.metrics if name in whole["metrics"]]
        whole["metrics"] = {name: whole["metrics"][name] for name in (*named, *whole["metrics"])}
    return {name: _text(value) for name, value in whole.items()}


def as_json(report: Report) -> str:
    """`report.json`: the outputs and, beside them, what stands behind them. Its keys are those of `report.schema`."""
    verdict = verdict_of(report)
    findings = report.findings
    plan = report.plan
    given = plan.expect.directions if plan else {}
    document = {
        "schema": VERSION,
        **values(report),
        "headline": verdict.headline,
        "level": verdict.level,
        "diverged": findings.diverged,
        "cause": findings.cause,
        "cause-line": findings.cause_line,
        "cause-frame": {"path": report.frame.path, "line": report.frame.line} if report.frame else None,
        "hint": findings.hint,
        "model-note": findings.model_note,
        "shown": [m.name for m in shown_metrics(report)][:MAX_SHOWN],
        "release": (
            {"tag": report.release.tag, "hub-tag": report.release.hub_tag, "url": report.release.url}
            if report.release
            else None
        ),
        "model-card-revision": findings.model.card if findings.model else "",
        "model-private": findings.model.private if findings.model else None,
        "sources": {m.name: m.source for m in findings.metrics},
        "directions": {m.name: way for m in findings.metrics if (way := direction(m.name, given))},
        "baseline": {"name": report.base_name, "metrics": _finite(report.base)} if report.base_name else None,
        "conditions": [
            {
                "condition": one.condition.text,
                "judgement": one.judgement,
                "value": _rounded(one.value),
                "bound": _rounded(one.bound),
                "why": one.why,
            }
            for one in report.judged
        ],
        "non-finite": {m.name: str(m.value) for m in findings.metrics if not math.isfinite(m.value)},
        "also-published": [{"repo": o.repo, "kind": o.kind, "revision": o.revision} for o in findings.others],
        "curve": {
            name: [list(p) for p in points if all(map(math.isfinite, p))] for name, points in findings.curve.items()
        },
        "trackers": list(findings.tracker_urls),
        "gpus": [
            {
                "name": one.name,
                "samples": one.samples,
                "mean-pct": _rounded(one.mean_pct, 2),
                "max-pct": _rounded(one.max_pct, 2),
                "memory-max-bytes": one.memory_max_bytes,
                "memory-total-bytes": one.memory_total_bytes,
            }
            for one in findings.gpus
        ],
        "output": folder.address if (folder := output_folder(report)) else "",
        "resumed-from-step": findings.resumed_from,
        "checkpoint-step": findings.checkpoint,
        "problems": [*report.problems, *findings.problems, *(report.outcome.log_problems if report.outcome else ())],
        "log-lines": report.outcome.log_lines if report.outcome else 0,
        "queued-s": _rounded(report.state.queued_s if report.state else None, 3),
        "reused": report.reused,
        "skipped": report.skipped,
        "repository": report.context.repository,
        "sha": report.context.head_sha or (report.snapshot.sha if report.snapshot else ""),
        "pull": report.context.pull.number if report.context.pull else None,
        "run-url": report.context.run_url,
        "comment-key": report.key,
        "flavor": plan.job.flavor if plan else "",
        "command": list(plan.job.command) if plan else [],
        "key": plan.key if plan else "",
        "worst-case-usd": plan.budget.worst_case_usd if plan else None,
        "pr-cost-usd": _rounded(report.pr_cost_usd, 6),
        "earlier": [
            {
                "kind": one.kind,
                "job-id": one.ref.id,
                "job-url": one.ref.url,
                "reason": one.reason,
                "duration-s": _rounded(one.seconds, 3),
                "cost-usd": _rounded(one.usd, 6),
            }
            for one in report.earlier
        ],
        "nodes": nodes_json(report),
        "hf-jobs-run": plan.equal_line if plan else "",
        "notes": list(plan.notes) if plan else [],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return _bounded(value)
    return _LINE_ENDS.sub(" ", str(value))


def _bounded(values: Mapping[str, object]) -> str:
    """A JSON object of bearable size: cut between two members, never inside one."""
    members: list[str] = []
    size = 2
    for name, value in values.items():
        member = f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}"
        size += len(member) + 2
        if size > MAX_METRICS:
            break
        members.append(member)
    return "{" + ", ".join(members) + "}"


def _rounded(value: float | None, digits: int | None = None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits)


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}

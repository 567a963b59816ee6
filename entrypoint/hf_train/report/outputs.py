"""Step outputs and `report.json`: one object, a promise of the public interface."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from hf_train.gate import overall
from hf_train.report.model import Report
from hf_train.report.verdict import verdict_of
from hf_train.values import Stage

SCHEMA = "hf-train/report/1"


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
        "metrics": {m.name: m.value if math.isfinite(m.value) else None for m in report.findings.metrics},
        "deltas": deltas(report),
        "gate": overall(report.judged),
        "cost-usd": None if cost is None else round(cost, 6),
        "duration-s": None if seconds is None else round(seconds, 3),
        "image": report.plan.job.image if report.plan else "",
        "snapshot": report.snapshot.digest if report.snapshot else "",
        "comment-url": report.comment_url,
        "comment-file": report.comment_file,
        "report-file": report.report_file,
    }


def deltas(report: Report) -> dict[str, float]:
    """This run minus the baseline, where both are known."""
    known = {m.name: m.value for m in report.findings.metrics if math.isfinite(m.value)}
    return {name: known[name] - base for name, base in report.base.items() if name in known}


def outputs(report: Report) -> Mapping[str, str]:
    """The outputs as strings; an unknown number is empty."""
    return {name: _text(value) for name, value in values(report).items()}


def as_json(report: Report) -> str:
    """`report.json`: the outputs and, beside them, what stands behind them."""
    verdict = verdict_of(report)
    findings = report.findings
    plan = report.plan
    document = {
        "schema": SCHEMA,
        **values(report),
        "headline": verdict.headline,
        "level": verdict.level,
        "diverged": findings.diverged,
        "cause": findings.cause,
        "cause-line": findings.cause_line,
        "hint": findings.hint,
        "model-note": findings.model_note,
        "sources": {m.name: m.source for m in findings.metrics},
        "baseline": {"name": report.base_name, "metrics": dict(report.base)} if report.base_name else None,
        "conditions": [
            {
                "condition": one.condition.text,
                "judgement": one.judgement,
                "value": one.value if one.value is not None and math.isfinite(one.value) else None,
                "bound": one.bound,
                "why": one.why,
            }
            for one in report.judged
        ],
        "non-finite": {m.name: str(m.value) for m in findings.metrics if not math.isfinite(m.value)},
        "also-published": [{"repo": o.repo, "kind": o.kind, "revision": o.revision} for o in findings.others],
        "curve": {name: [list(p) for p in points if math.isfinite(p[1])] for name, points in findings.curve.items()},
        "trackers": list(findings.tracker_urls),
        "problems": [*report.problems, *findings.problems, *(report.outcome.log_problems if report.outcome else ())],
        "log-lines": report.outcome.log_lines if report.outcome else 0,
        "queued-s": report.state.queued_s if report.state else None,
        "reused": report.reused,
        "skipped": report.skipped,
        "repository": report.context.repository,
        "sha": report.context.head_sha or (report.snapshot.sha if report.snapshot else ""),
        "pull": report.context.pull.number if report.context.pull else None,
        "run-url": report.context.run_url,
        "flavor": plan.job.flavor if plan else "",
        "command": list(plan.job.command) if plan else [],
        "key": plan.key if plan else "",
        "worst-case-usd": plan.budget.worst_case_usd if plan else None,
        "hf-jobs-run": plan.equal_line if plan else "",
        "notes": list(plan.notes) if plan else [],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    return str(value)

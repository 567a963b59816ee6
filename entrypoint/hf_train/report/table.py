"""The table of metrics, beside the baseline. Short enough for a phone: the tail is folded."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.report.compare import delta
from hf_train.report.model import Phase, Report
from hf_train.report.words import DASH, cell, code, number
from hf_train.values import Metric, Reason

FOLD = 15
"""Rows that stay open, results before speeds and counters; for one or two more nothing is folded."""
_COUNTERS = frozenset({"step", "global_step"})
_QUIET = (
    "runtime",
    "per_second",
    "total_flos",
    "epoch",
    "learning_rate",
    "grad_norm",
    "num_tokens",
    "_memory",
    "memory/",
)


def shown_metrics(report: Report) -> Sequence[Metric]:
    """The named ones in the named order; else all, results before speeds and counters."""
    metrics = report.findings.metrics
    wanted = report.plan.expect.metrics if report.plan else ()
    if wanted:
        by_name = {metric.name: metric for metric in metrics}
        return [by_name[name] for name in wanted if name in by_name]
    return sorted(metrics, key=lambda metric: is_quiet(metric.name))


def is_quiet(name: str) -> bool:
    """Whether a metric is a speed or a counter, which stands behind the results."""
    return name in _COUNTERS or any(word in name for word in _QUIET)


def table(report: Report, rows: int) -> list[str]:
    """The metrics as Markdown.

    Args:
        report: The run.
        rows: Rows at most.
    """
    metrics = shown_metrics(report)
    wanted = report.plan.expect.metrics if report.plan else ()
    missing = [name for name in wanted if name not in {metric.name for metric in metrics}]
    if not metrics and not missing:
        completed = report.outcome is not None and report.outcome.reason is Reason.COMPLETED
        return ["No metrics were found."] if completed and report.phase is Phase.ENDED else []
    gap = " |  | " if report.base_name else ""
    lines = [
        f"| {cell(m.name, 64)} | {number(m.value)}{_beside(report, m)} | {cell(m.source, 64)} |" for m in metrics[:rows]
    ]
    lines += [f"| {cell(name, 64)} | {DASH}{gap} | not found |" for name in missing[:rows]]
    cut = len(lines) if wanted else min(FOLD, sum(not is_quiet(m.name) for m in metrics)) or FOLD
    cut = cut if len(lines) > cut + 2 else len(lines)
    told = [*_head(report), *lines[:cut]]
    if lines[cut:]:
        told += ["", "<details>", f"<summary>{len(lines) - cut} more metrics</summary>", ""]
        told += [*_head(report), *lines[cut:], "", "</details>"]
    notes = [f"+{len(metrics) - rows} more in the summary of the workflow run."] if len(metrics) > rows else []
    # Its name would make the column too wide for a phone.
    notes += [f"Base: {code(report.base_name, 60)}"] if report.base_name else []
    return [*told, "", " · ".join(notes)] if notes else told


def _head(report: Report) -> list[str]:
    title = "So far" if report.phase is Phase.RUNNING else "This run"
    if report.base_name:
        return [f"| Metric | {title} | Base | Δ | Source |", "|:--|--:|--:|--:|:--|"]
    return [f"| Metric | {title} | Source |", "|:--|--:|:--|"]


def _beside(report: Report, metric: Metric) -> str:
    """The cells of the baseline and of the difference, when there is a baseline."""
    if not report.base_name:
        return ""
    base, given = report.base.get(metric.name), report.plan.expect.directions if report.plan else {}
    return f" | {DASH if base is None else number(base)} | {delta(metric.name, metric.value, base, given)}"

"""What a comment says of a run without a result yet: where it stands, since when, what it costs."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from hf_train.report.model import Phase, Report
from hf_train.report.words import code, duration, money, one_line

MAX_PROBLEMS = 20


def status(report: Report) -> list[str]:
    """What a live comment says: where the run stands, since when, what it has cost."""
    if report.skipped:
        return [one_line(report.skipped)]
    if report.refused:
        lines = report.refused.message.splitlines()
        more = f"and {len(lines) - MAX_PROBLEMS} more" if len(lines) > MAX_PROBLEMS else ""
        return [f"- {code(line)}" for line in (*lines[:MAX_PROBLEMS], more, report.refused.hint) if line.strip()]
    if report.reused:
        return [f"♻️ {one_line(report.reused)}"]
    if report.phase is Phase.ENDED or report.plan is None:
        return []
    limits = [f"{code(report.plan.job.flavor)}, at most {duration(report.plan.job.timeout_s)}"]
    if report.plan.budget.worst_case_usd is not None:
        limits.append(f"at most {money(report.plan.budget.worst_case_usd)}")
    text = " · ".join([*_progress(report), *limits])
    return [text[0].upper() + text[1:]]


def _progress(report: Report) -> list[str]:
    """How far a living Job is, by the Hub's clock and the log's own steps."""
    state, (step, total) = report.state, report.findings.progress
    if report.phase is Phase.QUEUED:
        waited = state.queued_s if state else None
        words = [f"waiting for {duration(waited)}"] if waited else []
        return [*words, code(state.message)] if state and state.message else words
    words = ["no training line yet"] if report.phase is Phase.STARTING else []
    if report.findings.resumed_from is not None:
        words.append(f"resumed from step {report.findings.resumed_from:,}")
    if step is not None:
        words.append(f"**Step {step:,}/{total:,}** ({100 * step // total} %)" if total else f"**Step {step:,}**")
    if report.eta_s is not None:
        words.append(f"about {duration(report.eta_s)} left")
    if report.duration_s is not None:
        words.append(f"running for {duration(report.duration_s)}{_moment(report)}")
    return [*words, f"{money(report.cost_usd)} so far"]


def _moment(report: Report) -> str:
    """When the numbers of a living comment were true: it is written every few minutes only."""
    state = report.state
    if state is None or state.started_at is None or state.running_s is None or not math.isfinite(state.running_s):
        return ""
    try:
        return f" at {clock(state.started_at + timedelta(seconds=state.running_s))}"
    except OverflowError:
        return ""


def clock(moment: datetime) -> str:
    """`14:05 UTC`."""
    return moment.strftime("%H:%M UTC")

"""From outcome and findings to a verdict: one row per reason, one exit code each. Never green when it is not known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hf_train.errors import ExitCode
from hf_train.judge.gate import overall
from hf_train.report.model import Phase, Report
from hf_train.report.words import duration
from hf_train.values import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the reader is told first.

    Attributes:
        code: Exit code of the process.
        reason: Machine word.
        sign: One emoji.
        headline: A few words.
        level: `success`, `warning`, `failure` or `neutral`.
    """

    code: ExitCode
    reason: str
    sign: str
    headline: str
    level: str


_ROWS: dict[Reason, tuple[ExitCode, str, str, str]] = {
    Reason.COMPLETED: (ExitCode.OK, "✅", "Training completed", "success"),
    Reason.DETACHED: (ExitCode.OK, "🚀", "Training goes on, detached", "neutral"),
    Reason.SKIPPED: (ExitCode.OK, "⏭️", "Training skipped", "neutral"),
    Reason.FAILED: (ExitCode.FAILED, "❌", "Training failed", "failure"),
    Reason.OUT_OF_MEMORY: (ExitCode.FAILED, "❌", "Training failed: killed, most likely out of memory", "failure"),
    Reason.TIMEOUT: (ExitCode.TIMED_OUT, "⏱️", "Training timed out", "failure"),
    Reason.CANCELLED_ON_HUB: (ExitCode.CANCELLED_ON_HUB, "🚫", "Job was cancelled on the Hub", "failure"),
    Reason.DELETED_ON_HUB: (ExitCode.CANCELLED_ON_HUB, "🚫", "Job was deleted on the Hub", "failure"),
    Reason.CANCELLED: (ExitCode.INTERRUPTED, "🚫", "Cancelled with the workflow", "failure"),
    Reason.KEPT: (ExitCode.INTERRUPTED, "🏃", "Workflow cancelled, the Job runs on", "failure"),
    Reason.NOT_PUBLISHED: (ExitCode.NOT_PUBLISHED, "❌", "Trained, but nothing was published", "failure"),
    Reason.GATE_FAILED: (ExitCode.GATE_FAILED, "❌", "Trained, but the gate failed", "failure"),
    Reason.GATE_UNKNOWN: (ExitCode.GATE_FAILED, "❓", "Trained, but the gate could not be judged", "failure"),
    Reason.QUEUE_TIMEOUT: (ExitCode.LOST_SIGHT, "⌛", "No hardware in time", "failure"),
    Reason.WATCH_TIMEOUT: (ExitCode.LOST_SIGHT, "⌛", "This step stopped watching", "failure"),
    Reason.LOST_SIGHT: (ExitCode.LOST_SIGHT, "❓", "Lost sight of the Job", "failure"),
}


LIVE_HEADLINES = ("Training is queued", "Training is starting", "Training is running")
"""What is said of a run that goes on."""


def verdict_of(report: Report) -> Verdict:
    """The verdict. Only the Job's stage makes a training red or green; the log at most adds a warning."""
    if report.skipped:
        return _row(Reason.SKIPPED)
    if report.refused:
        headline = f"Not started: {report.refused.title}"
        return Verdict(
            code=report.refused.exit_code, reason=Reason.REFUSED.value, sign="⛔", headline=headline, level="failure"
        )
    if report.phase is Phase.QUEUED:
        return Verdict(code=ExitCode.OK, reason="queued", sign="🕐", headline=LIVE_HEADLINES[0], level="neutral")
    if report.phase is Phase.STARTING:
        return Verdict(code=ExitCode.OK, reason="starting", sign="⏳", headline=LIVE_HEADLINES[1], level="neutral")
    if report.phase is Phase.RUNNING or report.outcome is None:
        return Verdict(code=ExitCode.OK, reason="running", sign="🏃", headline=LIVE_HEADLINES[2], level="neutral")
    reason = report.outcome.reason
    if reason is Reason.COMPLETED:
        return _completed(report)
    row = _row(reason)
    if report.state and reason is Reason.CANCELLED_ON_HUB and (sha := report.state.superseded_by):
        return _with(row, headline=f"Superseded by {sha[:7]}, a newer push")
    if reason in {Reason.CANCELLED, Reason.KEPT} and report.outcome.signum == 15:
        return _with(row, code=ExitCode.TERMINATED)
    if reason is Reason.TIMEOUT and report.plan is not None:
        return _with(row, headline=f"Training timed out after {duration(report.plan.job.timeout_s)}")
    if reason is Reason.FAILED and (code := exit_code_in(report)) is not None:
        return _with(row, headline=f"Training failed with exit code {code}")
    if reason is Reason.CANCELLED and not report.outcome.cancel_confirmed and report.ref is not None:
        return _with(row, headline="Cancelled with the workflow; the Hub did not confirm that the Job stopped")
    return row


def headline_of(reason: str) -> str:
    """The few words for a machine word, when no report is at hand.

    Args:
        reason: A `Reason`, or the word of a phase.
    """
    if reason == Reason.REFUSED.value:
        return "Not started"
    row = next((row for known, row in _ROWS.items() if known.value == reason), None)
    return row[2] if row else f"Training is {reason}"


def exit_code_in(report: Report) -> int | None:
    """The command's exit code, when the Hub's message names it (`Job failed with exit code: 1. Reason: Error`)."""
    state = report.state
    match = re.search(r"exit code:? (\d{1,3})\b", state.message) if state else None
    return int(match[1]) if match else None


def _completed(report: Report) -> Verdict:
    expect = report.plan.expect if report.plan else None
    if expect and expect.require_model and report.findings.model is None:
        return _row(Reason.NOT_PUBLISHED)
    gate = overall(report.judged)
    if gate == "fail" or (report.judged and report.findings.diverged):
        return _row(Reason.GATE_FAILED)
    if gate == "unknown":
        return _row(Reason.GATE_UNKNOWN)
    row = _row(Reason.COMPLETED)
    if report.findings.diverged:
        return _with(row, sign="⚠️", headline="Training completed, but diverged (NaN or infinite loss)", level="warning")
    return row


def _row(reason: Reason) -> Verdict:
    code, sign, headline, level = _ROWS[reason]
    return Verdict(code=code, reason=reason.value, sign=sign, headline=headline, level=level)


def _with(
    row: Verdict,
    *,
    code: ExitCode | None = None,
    sign: str | None = None,
    headline: str | None = None,
    level: str | None = None,
) -> Verdict:
    return Verdict(
        code=row.code if code is None else code,
        reason=row.reason,
        sign=sign or row.sign,
        headline=headline or row.headline,
        level=level or row.level,
    )

"""The check run: one verdict beside the commit."""

from __future__ import annotations

from hf_train.report.comment import fitting
from hf_train.report.model import Phase, Report
from hf_train.report.verdict import verdict_of

_CONCLUSIONS = {"success": "success", "warning": "neutral", "failure": "failure", "neutral": "neutral"}


def check_conclusion(report: Report) -> str | None:
    """GitHub's word for the verdict; None while the run lives."""
    verdict = verdict_of(report)
    if report.phase is not Phase.ENDED or verdict.reason == "detached":
        return None
    if verdict.reason in {"cancelled", "cancelled-on-hub", "deleted-on-hub"}:
        return "cancelled"
    return "timed_out" if verdict.reason == "timeout" else _CONCLUSIONS[verdict.level]


def check_summary(report: Report) -> tuple[str, str]:
    """Title and Markdown of the check."""
    return verdict_of(report).headline, fitting(report, [], 20)

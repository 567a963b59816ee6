"""The job summary: the comment's body with every metric."""

from __future__ import annotations

from hf_train.report.comment import body
from hf_train.report.model import Report

MAX_ROWS = 1000


def summary(report: Report) -> str:
    """Markdown for `GITHUB_STEP_SUMMARY`."""
    return "\n".join(body(report, MAX_ROWS)) + "\n"

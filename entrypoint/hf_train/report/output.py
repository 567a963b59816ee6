"""What a report says of the output folder."""

from __future__ import annotations

from hf_train.plan.output import Output, output_of
from hf_train.report.model import Phase, Report
from hf_train.report.words import code
from hf_train.values import Reason


def output_folder(report: Report) -> Output | None:
    """Where the output of the run lies; None when it has none, or there never was a Job."""
    return output_of(report.plan.job) if report.plan and report.state else None


def output_words(report: Report) -> list[str]:
    """How the run and its checkpoints hang together, in words."""
    findings, words = report.findings, []
    if findings.resumed_from is not None:
        words.append(f"resumed from step {findings.resumed_from:,}")
    if findings.checkpoint is not None:
        words.append(f"newest checkpoint of step {findings.checkpoint:,}")
    output, completed = output_folder(report), report.outcome and report.outcome.reason is Reason.COMPLETED
    if output and output.resume and findings.checkpoint is not None and report.phase is Phase.ENDED and not completed:
        words.append("the next run of this training goes on from there")
    return words


def output_line(report: Report) -> str:
    """The line of the comment; empty without an output folder."""
    output = output_folder(report)
    return " · ".join([f"**Output** {code(output.address)}", *output_words(report)]) if output else ""

"""The check run: one verdict beside the commit, and at most a few remarks beside its lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from hf_train.failure import title_of
from hf_train.report.comment import fitting
from hf_train.report.model import Phase, Report
from hf_train.report.verdict import verdict_of
from hf_train.report.words import number, one_line
from hf_train.values import Annotation

MAX_ANNOTATIONS = 3
NOWHERE = ".github"
"""The path of a remark that belongs to no line: the API asks for one, and this one is not in anybody's diff."""
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


def check_annotations(report: Report) -> tuple[Annotation, ...]:
    """What a review can point at: where the traceback left the repository, and what the gate did not let through."""
    if report.phase is not Phase.ENDED or verdict_of(report).level != "failure":
        return ()
    return tuple(islice(_annotations(report), MAX_ANNOTATIONS))


def _annotations(report: Report) -> Iterator[Annotation]:
    if report.frame:
        title = title_of(report.findings.cause) or "Training failed"
        message = one_line(report.findings.cause_line, 1000) or "The training failed here."
        yield Annotation(path=report.frame.path, line=report.frame.line, level="failure", title=title, message=message)
    for one in report.judged:
        if one.judgement == "pass":
            continue
        numbers = "" if one.value is None or one.bound is None else f" ({number(one.value)}, {number(one.bound)})"
        why = one_line(one.why, 200)
        yield Annotation(
            path=NOWHERE,
            line=1,
            level="failure" if one.judgement == "fail" else "warning",
            title="Gate failed" if one.judgement == "fail" else "Gate not known",
            message=f"{one_line(one.condition.text, 200)}{numbers}{f': {why}' if why else ''}",
        )

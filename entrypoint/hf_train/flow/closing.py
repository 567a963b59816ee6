"""What a killed run left on the pull request: a comment and a check that go on saying that it runs."""

from __future__ import annotations

from collections.abc import Callable

from hf_train.context import Context
from hf_train.flow.reporter import marker
from hf_train.inputs import Inputs
from hf_train.ports import Pulls
from hf_train.report import Phase, Report, check_conclusion, check_summary, comment
from hf_train.report.marks import lives
from hf_train.report.verdict import LIVE_HEADLINES
from hf_train.values import JobState, Outcome, Reason


def close(
    context: Context, inputs: Inputs, pulls: Pulls, job: JobState | None, fate: str, redact: Callable[[str], str]
) -> list[str]:
    """Say that the run was ended before it could report, where a comment or check of this very run says that it runs.

    What stands on the pull request decides, and nothing that the run left on disk: other steps can write there.

    Args:
        context: Where this step runs, which is where the run ran.
        inputs: How the run reports: its key, and whether it comments and checks.
        pulls: GitHub, with the run as its origin.
        job: The run's Job by the Hub's word, None when that is not known.
        fate: What became of the Job, in words.
        redact: Takes secrets out.

    Returns:
        What was done, or why it could not be, in words.
    """
    key = inputs.comment_key or context.comment_key
    report = Report(
        context=context,
        key=key,
        phase=Phase.ENDED,
        state=job,
        outcome=Outcome(state=job, reason=Reason.LOST_SIGHT),
        problems=(f"The run was ended before it could report. {fate}",),
    )
    said = []
    if context.pull is not None and inputs.comment != "never":
        number, first = context.pull.number, marker(key)
        if lives(pulls.previous_comment(number, first), context.origin):
            _, problem = pulls.upsert_comment(number, first, redact(comment(report, first)))
            said.append(f"The comment could not be closed: {problem}." if problem else "The comment was closed.")
    if inputs.check and pulls.pending_check(context.head_sha, key) in LIVE_HEADLINES:
        title, summary = check_summary(report)
        problem = pulls.write_check(context.head_sha, key, check_conclusion(report), title, redact(summary))
        said.append(f"The check could not be closed: {problem}." if problem else "The check was closed.")
    return said

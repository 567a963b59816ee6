"""The hidden second line of a comment: a fingerprint of the result, and which run of the workflow wrote it.

It holds a hash and two numbers only, so nothing foreign hides in it.
"""

from __future__ import annotations

import hashlib
import json
import re

from hf_train.report.model import Report
from hf_train.report.verdict import LIVE_HEADLINES, verdict_of
from hf_train.report.words import number

_LIVE = re.compile(r"\n<!-- hf-train-result:[0-9a-f]{16}:(?P<origin>[0-9.]+) -->\n### \S+ (?P<headline>[^\n·]*)\n")
_MARK = re.compile(r"\n<!-- hf-train-result:([0-9a-f]{16})(?::(\d{1,19})\.(\d{1,9}))? -->\n")


def result_mark(report: Report) -> str:
    """The line. Ids of workflow runs grow with time, so they put the comments of two runs in order."""
    context = report.context
    run = f":{context.run_id}.{context.run_attempt}" if re.fullmatch(r"\d{1,19}", context.run_id) else ""
    return f"<!-- hf-train-result:{_fingerprint(report)}{run} -->"


def tells_the_same(body: str, report: Report) -> bool:
    """Whether a comment tells this very result: the same verdict and, as far as they are shown, the same numbers."""
    found = _MARK.search(body)
    return bool(found and found[1] == _fingerprint(report))


def age(body: str) -> tuple[int, int]:
    """Run and attempt that wrote a comment, to be compared; (0, 0) when it does not say."""
    found = _MARK.search(body)
    return (int(found[2]), int(found[3])) if found and found[2] else (0, 0)


def lives(body: str, origin: str) -> bool:
    """Whether a comment says that a run goes on, and was written by this very one.

    Args:
        body: The comment, which must be one of ours.
        origin: `RUN.ATTEMPT` of the run.
    """
    found = _LIVE.search(body)
    return bool(found and origin and found["origin"] == origin and found["headline"] in LIVE_HEADLINES)


def _fingerprint(report: Report) -> str:
    what = [verdict_of(report).reason, sorted((m.name, number(m.value)) for m in report.findings.metrics)]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]

"""The hidden line of a comment: the fingerprint of its result, and the run that wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from hf_train.context import Context
from hf_train.flow.reporter import marker
from hf_train.report import Report, age, comment, tells_the_same
from hf_train.report.merge import merge
from hf_train.values import Findings, Metric, Reason
from unit.makers import ON_GITHUB, report
from unit.report.hostile import reports
from unit.words import examples


def body(one: Report) -> str:
    """Its comment."""
    return comment(one, marker(one.key))


def test_the_same_result_of_another_run_is_the_same() -> None:
    later = replace(ON_GITHUB, run_id="9999999999", run_attempt=3)
    assert tells_the_same(body(report()), report(context=later))
    assert not tells_the_same(body(report()), report(Reason.FAILED))
    other = Findings(metrics=(Metric(name="loss", value=0.4, source="log"),))
    assert not tells_the_same(body(report()), report(findings=other))
    assert not tells_the_same("", report())


@pytest.mark.case(91)
@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (ON_GITHUB, (1658821493, 1)),
        (replace(ON_GITHUB, run_id="7", run_attempt=12), (7, 12)),
        (Context(), (0, 0)),
        (replace(ON_GITHUB, run_id="7 --><b>"), (0, 0)),
    ],
)
def test_the_run_that_wrote_it(context: Context, expected: tuple[int, int]) -> None:
    text = body(report(context=context))
    assert age(text) == expected
    assert re.fullmatch(r"<!-- hf-train-result:[0-9a-f]{16}(:\d+\.\d+)? -->", text.split("\n")[1])


def test_a_comment_without_the_line_has_no_age() -> None:
    assert age("") == age(f"{marker('k')}\n{merge([])}\n") == (0, 0)


@examples(30)
@given(reports())
def test_nothing_foreign_stands_in_the_line(one: Report) -> None:
    line = body(one).split("\n")[1]
    assert re.fullmatch(r"<!-- hf-train-result:[0-9a-f]{16}:1658821493\.1 -->", line)
    assert age(body(one)) == (1658821493, 1)
    assert tells_the_same(body(one), one)

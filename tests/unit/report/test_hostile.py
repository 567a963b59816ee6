"""Text that leaves by API: whatever a Job, a repo or a branch is named, the comment's tree is the one that we wrote."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import NoReturn
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.flow.reporter import marker
from hf_train.report import Report, as_json, check_summary, comment, outputs, summary, verdict_of
from hf_train.report.words import anchor, block, cell, code, link, one_line
from unit.makers import MODEL, report
from unit.report.hostile import CANARY, TEXT, reports
from unit.report.situations import SITUATIONS
from unit.report.tree import foreign_nodes
from unit.words import examples


def _links(one: Report) -> list[str]:
    """Addresses that we mean to link to: the Job, the commit, the run, the models, and trackers that are plain."""
    context = one.context
    sha = context.head_sha or (one.snapshot.sha if one.snapshot else "")
    models = [one.findings.model, *one.findings.others]
    trackers = [url for url in one.findings.tracker_urls if re.fullmatch(r"https://wandb\.ai/[!-'*-;=?-Z_a-z~]*", url)]
    return [
        f"{context.server_url}/{context.repository}/commit/{sha}",
        context.run_url,
        one.ref.url if one.ref else "",
        *(model.url for model in models if model),
        *(
            f"{context.server_url}/{context.repository}/blob/{sha}/{quote(f.path, errors='replace')}#L{f.line}"
            for f in [one.frame]
            if f
        ),
        *trackers,
    ]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _no_constants(word: str) -> NoReturn:
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.case(36, 37, 38)
@examples(50)
@given(reports())
def test_a_hostile_report_is_told_in_our_own_tree(one: Report) -> None:
    text = comment(one, marker(one.key))
    assert foreign_nodes(text, _links(one)) == []
    assert _units(text) <= 60_000
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\U000e0000-\U000e007f]", text)
    assert text.startswith(marker(one.key) + "\n")
    _, checked = check_summary(one)
    assert foreign_nodes(checked, _links(one)) == []
    assert foreign_nodes(summary(one), _links(one)) == []


@examples(30)
@given(reports())
def test_outputs_and_report_are_strict_json(one: Report) -> None:
    given = outputs(one)
    assert all("\n" not in value and "\r" not in value for value in given.values())
    json.loads(given["metrics"], parse_constant=_no_constants)
    document = json.loads(as_json(one), parse_constant=_no_constants)
    assert document["exit-code"] == int(verdict_of(one).code)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_situations_are_told_in_our_own_tree(name: str) -> None:
    one = SITUATIONS[name]
    assert foreign_nodes(comment(one, marker(one.key)), _links(one)) == []


def test_the_tree_sees_what_gets_out() -> None:
    bare = comment(report(), marker("k"))
    links = _links(report())
    for planted in (
        f"{CANARY}", "[x](https://evil.test)", "![x](https://evil.test)", "<img src=x>", "# big", "@octo/team",
        "see #12",
        "https://evil.test", "www.evil.test", "a@evil.test", "<https://evil.test>", "<b>x</b>", "<!-- hidden -->",
        "<details open>\n", "| `a` | 1 | `b` | 2 |", "~~x~~", "1. x", "---", "fixes octo/proj#1", "0123abc",
    ):  # fmt: skip
        assert foreign_nodes(f"{bare}\n\n{planted}\n", links) != [] or planted.startswith("| `a`"), planted


# ---- the parts ----


@pytest.mark.case(36)
@given(TEXT, st.integers(1, 300))
def test_a_foreign_text_stays_in_its_code_span(text: str, limit: int) -> None:
    assert foreign_nodes(code(text, limit), []) == []
    assert foreign_nodes(link(text, "https://ok.test/x"), ["https://ok.test/x"]) == []
    row = f"| A | B |\n|:--|--:|\n| {cell(text, limit)} | {cell(text, limit)} |"
    assert foreign_nodes(row, []) == []
    assert foreign_nodes(block(text, "sh"), []) == []


@given(st.text(max_size=60))
def test_a_code_span_says_what_was_said(text: str) -> None:
    tokens = __import__("markdown_it").MarkdownIt("commonmark").parseInline(code(text))
    said = "".join(child.content for child in tokens[0].children or [])
    assert said == one_line(text)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://a.test/)x", "https://a.test/(x", "https://a.test/ x", "https://a.test/\n",
     "//a.test", "",
     "https://a.test/<x>", 'https://a.test/"x"', "ftp://a.test", "https://a.test/`", "https://a.test/\\"],
)  # fmt: skip
def test_an_odd_address_is_no_link(url: str) -> None:
    assert link("x", url) == "`x`"
    assert anchor("x", url) == "x"


def test_a_block_keeps_blanks_and_tabs_and_lines() -> None:
    text = "if x:\n    a \\\n\tb\n\n  c"
    assert block(text, "sh") == f"```sh\n{text}\n```"
    assert block("a\n```\nb") == "````\na\n```\nb\n````"


@pytest.mark.case(38)
@given(st.text())
def test_a_marker_is_one_comment_of_html(key: str) -> None:
    line = marker(key)
    assert re.fullmatch(r"<!-- hf-train:[^<>\n\r]* -->", line)
    assert "--" not in line[4:-3]
    assert len(line) < 300


def test_long_keys_that_differ_have_markers_that_differ() -> None:
    assert marker("x" * 500 + "a") != marker("x" * 500 + "b")


# ---- the size ----


@pytest.mark.parametrize(
    ("name", "kept"),
    [("five-thousand-metrics", "+4950 more in the summary"), ("a-long-command", "| `eval_loss` | 0.4012 |")],
)
def test_what_is_too_long_loses_the_least(name: str, kept: str) -> None:
    text = comment(SITUATIONS[name], marker("k"))
    assert _units(text) <= 60_000
    assert kept in text
    assert MODEL.url in text or SITUATIONS[name].findings.model is None


@pytest.mark.case(94)
@examples(15)
@given(reports(), st.integers(1, 4), st.sampled_from(["😀", "x", "\n", "`", "é|"]))
def test_a_comment_is_never_too_long(one: Report, power: int, unit: str) -> None:
    much = unit * 10**power * 4
    findings = replace(
        one.findings,
        cause_line=much,
        metrics=one.findings.metrics * 10**power,
        others=one.findings.others * 10**power,
        problems=(much,) * 50,
    )
    plan = one.plan and replace(one.plan, notes=(much,) * 1000, job=replace(one.plan.job, command=(much,)))
    text = comment(replace(one, findings=findings, plan=plan, key=much, problems=tuple("ab" * 99)), marker(much))
    assert _units(text) <= 60_000
    assert "###" in text

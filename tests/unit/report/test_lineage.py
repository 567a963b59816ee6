"""The lineage in a model card: the section and the metadata, each once, whatever the training wrote there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hf_train.context import Context
from hf_train.report import Report
from hf_train.report.lineage import body, facts, with_lineage
from hf_train.text.sections import marks
from unit.makers import MODEL, ON_GITHUB, plan, report

BEGIN, END = marks("lineage")
PUBLIC = replace(ON_GITHUB, private=False)
CARD = """---
license: mit  # as the base model
tags:
- trl
model-index:
- name: m
  results: []
---

# Model

Text.
"""


def _report(context: Context = PUBLIC) -> Report:
    made = plan(volumes=("hf://datasets/acme/data@" + "9" * 40 + ":/data", "hf://buckets/alice/out:/out:rw"))
    return report(context=context, plan=replace(made, job=replace(made.job, image="python@sha256:" + "1" * 64)))


def _front(card: str) -> Any:
    return yaml.safe_load(card.split("---\n")[1])


def test_what_stands_in_the_metadata() -> None:
    assert facts(_report(), MODEL) == {
        "version": facts(_report(), MODEL)["version"],
        "repository": "octo/proj",
        "commit": "a" * 40,
        "run": "https://github.com/octo/proj/actions/runs/1658821493",
        "job": _report().state.ref.url,  # type: ignore[union-attr]
        "trained-commit": "d" * 40,
        "image": "python@sha256:" + "1" * 64,
        "flavor": "t4-small",
        "data": ["hf://datasets/acme/data@" + "9" * 40, "hf://buckets/alice/out"],
        "snapshot": "5" * 64,
        "duration-s": 724,
        "cost-usd": 0.0871,
    }


def test_the_card_keeps_all_that_it_had() -> None:
    card, problem = with_lineage(CARD, _report(), MODEL)
    assert problem == ""
    assert card.startswith(CARD.partition("\n---\n")[0]), "comments and order stay"
    assert card.endswith("-->\n\n# Model\n\nText.\n")
    front = _front(card)
    assert front.pop("hf-train") == facts(_report(), MODEL)
    assert front == yaml.safe_load(CARD.split("---\n")[1])
    for words in ("octo/proj", "a" * 40, "1658821493", "9" * 40, "sha256:" + "1" * 64, "$0.0871", "d" * 40):
        assert words in card.partition(BEGIN)[2].partition(END)[0]


def test_a_second_run_replaces_the_first() -> None:
    first, _ = with_lineage(CARD, _report(), MODEL)
    other = replace(MODEL, revision="e" * 40)
    second, problem = with_lineage(first, _report(), other)
    assert problem == ""
    assert second == with_lineage(CARD, _report(), other)[0]
    assert with_lineage(second, _report(), other)[0] == second
    assert (second.count(BEGIN), second.count("hf-train:\n"), second.count("<details>")) == (1, 1, 1)


@pytest.mark.parametrize(
    ("card", "starts"),
    [("", "---\nhf-train:\n"), ("# Only text\n", "---\nhf-train:\n"), ("---\n---\nText\n", "---\nhf-train:\n")],
)
def test_a_card_without_metadata_gets_some(card: str, starts: str) -> None:
    made, problem = with_lineage(card, _report(), MODEL)
    assert (problem, made[: len(starts)]) == ("", starts)
    assert with_lineage(made, _report(), MODEL)[0] == made


@pytest.mark.parametrize(
    "front",
    [
        "- a\n- b\n",
        "{license: mit}\n",
        "license: [mit\n",
        "a: &a [1]\nb: *a\n",
        "'hf-train': {job: x}\n",
        "? hf-train\n: 1\n",
        "a: " + "[" * 60 + "]" * 60 + "\n",
        "a: !!python/object/apply:os.system [x]\n",
        "x: |\n  text\n...\n",
        "license: mit\na: 2026-99-99\n",
    ],
)
def test_metadata_that_cannot_be_added_to_stays_as_it_is(front: str) -> None:
    card = f"---\n{front}---\n# Model\n"
    made, problem = with_lineage(card, _report(), MODEL)
    assert problem
    assert made.startswith(f"---\n{front}---\n")
    assert made.count(BEGIN) == 1


@pytest.mark.parametrize(
    "front", ["hf-train:\n  job: forged\n  data:\n  - a\n\n  - b\nlicense: mit\n", "hf-train: 1\n"]
)
def test_a_forged_key_is_replaced(front: str) -> None:
    made, problem = with_lineage(f"---\n{front}---\n# Model\n", _report(), MODEL)
    assert (problem, _front(made)["hf-train"]) == ("", facts(_report(), MODEL))


@pytest.mark.parametrize(
    "text",
    [
        "<!--", "```", "~~~~", "<pre>", "<script>", "<textarea>", "<![CDATA[", "<details>", BEGIN, END,
        f"{END}\n<!--", f"{BEGIN}\n{BEGIN}", f"```\n{BEGIN}", f"<!-- {BEGIN}",
    ],
)  # fmt: skip
def test_a_hostile_text_neither_swallows_nor_forges_the_section(text: str) -> None:
    made, _ = with_lineage(f"---\nlicense: mit\n---\n{text}\nThe rest.\n", _report(), MODEL)
    assert (made.count(BEGIN), made.count(END)) == (1, 1)
    assert "The rest." in made
    seen = MarkdownIt("gfm-like", {"linkify": False}).render(made.partition("\n---\n")[2])
    assert "<td" in seen
    assert seen.index("Weights") < seen.index("The rest.")
    assert with_lineage(made, _report(), MODEL)[0] == made


_LINES = [
    "---",
    "hf-train:",
    "  job: x",
    "license: mit",
    "a: *a",
    "",
    BEGIN,
    END,
    "<!--",
    "```",
    "# T",
    "\ufeff",
    "x\r",
]


@given(st.lists(st.sampled_from(_LINES), max_size=14).map("\n".join))
def test_any_card_comes_to_rest(card: str) -> None:
    made, _ = with_lineage(card, _report(), MODEL)
    assert with_lineage(made, _report(), MODEL)[0] == made
    assert made.count(BEGIN) == 1


@pytest.mark.parametrize(
    ("repository", "model", "named"), [(False, False, True), (True, True, True), (True, False, False)]
)
def test_a_public_card_does_not_name_a_private_repository(repository: bool, model: bool, named: bool) -> None:
    one, link = _report(replace(ON_GITHUB, private=repository)), replace(MODEL, private=model)
    text = with_lineage(CARD, one, link)[0]
    assert ("octo/proj" in text, "a" * 40 in text, "1658821493" in text) == (named, named, named)
    assert ("octo/proj" in body(one, link), "repository" in facts(one, link)) == (named, named)


def test_on_a_laptop_there_is_less_to_say() -> None:
    text, problem = with_lineage(CARD, _report(Context()), MODEL)
    assert problem == ""
    assert "Workflow run" not in text
    assert "repository" not in _front(text)["hf-train"]

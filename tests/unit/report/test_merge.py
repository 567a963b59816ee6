"""The legs of a matrix in one table: golden files, and what a hostile report can and cannot say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train import __version__
from hf_train.report import Report, as_json
from hf_train.report.merge import MAX_LEGS, Places, merge, parse_report
from hf_train.values import Findings, Metric, Reason
from unit.makers import METRICS, MODEL, report
from unit.report.hostile import TEXT, reports
from unit.report.situations import HOSTILE
from unit.report.tree import foreign_nodes
from unit.words import examples

GOLDEN = Path(__file__).parents[2] / "golden" / "merge"
Legs = tuple[Sequence[Report], Sequence[tuple[str, str]], int, Places]
NAN = float("nan")


def leg(name: str, loss: float, accuracy: float, reason: Reason = Reason.COMPLETED, **changes: Any) -> Report:
    """A leg with these numbers."""
    metrics = (
        Metric(name="eval_loss", value=loss, source="log"),
        Metric(name="eval_accuracy", value=accuracy, source="log"),
        Metric(name="train_runtime", value=700.0, source="log"),
    )
    findings = Findings(metrics=metrics, model=MODEL)
    return report(reason, **{"key": f"train / sft / {name}", "findings": findings, **changes})


FAILED = report(
    Reason.FAILED,
    key="train / sft / lr=1e-2",
    findings=Findings(cause="oom-gpu", cause_line="torch.OutOfMemoryError: CUDA out of memory"),
)
DIVERGED = leg(
    "lr=1", NAN, 0, findings=Findings(metrics=(Metric(name="eval_loss", value=NAN, source="log"),), diverged=True)
)
PRIVATE = leg("lr=3e-5", 0.39, 0.91, findings=Findings(metrics=METRICS, model=replace(MODEL, private=True)))
SITUATIONS: Mapping[str, Legs] = {
    "three-legs": (
        [leg("lr=1e-5", 0.45, 0.9), leg("lr=2e-5", 0.4, 0.93), leg("lr=5e-5", 0.41, 0.95)], (), 3, Places(),
    ),
    "a-leg-failed-and-one-diverged": ([leg("lr=1e-5", 0.45, 0.9), FAILED, DIVERGED], (), 0, Places()),
    "legs-without-a-report": (
        [leg("lr=1e-5", 0.45, 0.9), leg("lr=2e-5", 0.4, 0.93)],
        [("report-lr-5e-5", "there is no report.json"), ("report-lr-1e-4", "it is not JSON")],
        6,
        Places(),
    ),
    "no-leg-has-a-report": ([], [("a/report.json", "it is not JSON")], 0, Places()),
    "one-leg": ([leg("lr=1e-5", 0.45, 0.9)], (), 0, Places()),
    "a-tie": ([leg("seed=1", 0.4, 0.9), leg("seed=2", 0.4, 0.8)], (), 0, Places()),
    "other-workflows": (
        [leg("a", 0.4, 0.9), replace(leg("b", 0.5, 0.9), key="nightly / dpo")], (), 0, Places(),
    ),
    "a-gate-that-failed": ([leg("lr=1e-5", 0.45, 0.9), leg("lr=2e-5", 0.1, 0.99, Reason.GATE_FAILED)], (), 0, Places()),
    "metrics-without-a-direction": (
        [
            leg(name, 0, 0, findings=Findings(metrics=(Metric(name="score", value=value, source="log"),)))
            for name, value in (("a", 1.0), ("b", 2.0))
        ],
        (), 0, Places(),
    ),
    "a-private-model-on-a-public-repository": ([PRIVATE], (), 0, Places(public=True)),
    "many-metrics": (
        [
            leg(f"seed={seed}", 0, 0, findings=Findings(metrics=tuple(
                Metric(name=f"eval/task_{i:02}/acc", value=i / 40 + seed / 100, source="log") for i in range(20)
            )))
            for seed in (1, 2)
        ],
        (), 0, Places(),
    ),
    "a-cancelled-and-a-skipped-leg": (
        [
            leg("lr=1e-5", 0.45, 0.9, Reason.CANCELLED, findings=Findings()),
            replace(leg("lr=2e-5", 0.4, 0.93), skipped="no token", state=None, outcome=None, findings=Findings()),
        ],
        (), 0, Places(),
    ),
    "hostile-legs": (
        [
            leg(HOSTILE, 0.4, 0.9, findings=Findings(metrics=(Metric(name=HOSTILE, value=1.0, source=HOSTILE),))),
            replace(FAILED, findings=Findings(cause=HOSTILE, cause_line=HOSTILE)),
        ],
        [(HOSTILE, HOSTILE)], 0, Places(),
    ),
}  # fmt: skip


def read(one: Report) -> Mapping[str, Any]:
    """As the command reads it."""
    return parse_report(as_json(one))


def text_of(name: str) -> str:
    """The table of a situation."""
    legs, missing, expected, places = SITUATIONS[name]
    return merge([read(one) for one in legs], missing, expected, places)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_table_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    text = text_of(name).replace(f"hf-train {__version__}", "hf-train VERSION") + "\n"
    path = GOLDEN / f"{name}.md"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "run pytest --update-golden tests/unit/report, and read the new file"
    assert text == path.read_text(encoding="utf-8"), "run pytest --update-golden tests/unit/report, and read the diff"


def test_no_golden_table_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.md")} == set(SITUATIONS)


def links_of(legs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Addresses that we mean to link to."""
    named = [one[key] for one in legs for key in ("job-url", "run-url", "comment-url")]
    models = [f"https://huggingface.co/{one['model-repo']}/tree/{one['model-revision']}" for one in legs]
    return [*(url for url in named if url.startswith(("https://huggingface.co/jobs/", "https://github.com/"))), *models]


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_tables_are_told_in_our_own_tree(name: str) -> None:
    assert foreign_nodes(text_of(name), links_of([read(one) for one in SITUATIONS[name][0]])) == []


@pytest.mark.case(36)
@examples(15)
@given(st.lists(reports(), max_size=4), st.lists(st.tuples(TEXT, TEXT), max_size=2), st.booleans())
def test_hostile_legs_are_told_in_our_own_tree(
    legs: list[Report], missing: list[tuple[str, str]], public: bool
) -> None:
    told = [read(one) for one in legs]
    text = merge(told, missing, 9, Places(public=public))
    assert foreign_nodes(text, links_of(told)) == []
    assert len(text.encode("utf-16-le")) // 2 <= 60_000


@examples(40)
@given(st.sampled_from(["headline", "job-url", "model-repo", "run-url", "comment-url", "comment-key", "stage"]), TEXT)
def test_no_field_of_a_report_gets_out(field: str, text: str) -> None:
    whole = {**read(leg("a", 0.4, 0.9)), field: f"https://github.com/{text}" if field.endswith("url") else text}
    assert foreign_nodes(merge([whole, whole]), links_of([whole])) == []


@pytest.mark.parametrize("url", ["https://evil.test/jobs/alice/1", "https://huggingface.co.evil.test/jobs/a/1", "x"])
def test_a_link_leads_to_the_hub_and_to_github_only(url: str) -> None:
    whole = {**read(leg("a", 0.4, 0.9)), "job-url": url, "run-url": url, "comment-url": url, "model-repo": "../x"}
    assert "](" not in merge([whole])


def test_other_hubs_and_servers_have_their_links() -> None:
    places = Places(hub="https://hub.test", github="https://ghe.test")
    whole = {
        **read(leg("a", 0.4, 0.9)),
        "job-url": "https://hub.test/jobs/a/1",
        "run-url": "https://ghe.test/o/p/actions/runs/1",
    }
    assert re.findall(r"\]\((https://[^/)]+)", merge([whole], places=places)) == ["https://hub.test"] * 2 + [
        "https://ghe.test"
    ]


@pytest.mark.case(40)
def test_a_private_model_is_not_named_where_strangers_read() -> None:
    whole = read(PRIVATE)
    assert "alice/tiny-sft" in merge([whole])
    assert "alice/tiny-sft" not in merge([whole], places=Places(public=True))


@pytest.mark.parametrize("legs", [MAX_LEGS, 3])
def test_a_table_of_any_size_fits(legs: int) -> None:
    long = "x" * 5000
    metrics = tuple(Metric(name=f"{i}{long}", value=i / 7, source="log") for i in range(100))
    whole = read(leg(long, 0, 0, findings=Findings(metrics=metrics, model=MODEL)))
    text = merge([{**whole, "comment-key": f"{i} {long}"} for i in range(legs)])
    assert len(text.encode("utf-16-le")) // 2 <= 60_000
    assert f"{legs} legs: {legs} completed" in text


def test_the_best_is_a_leg_that_completed() -> None:
    rows = text_of("a-leg-failed-and-one-diverged").split("\n")
    assert [row for row in rows if row.startswith("| 🏆")] == [row for row in rows if "`lr=1e-5`" in row]
    assert "🏆" not in text_of("one-leg")
    assert "🏆" not in text_of("metrics-without-a-direction")
    assert text_of("a-tie").count("| 🏆") == 2
    assert "| 🏆 `lr=1e-5`" in text_of("a-gate-that-failed")


def test_legs_that_do_not_agree_on_a_direction_have_no_best() -> None:
    one, other = read(leg("a", 0.4, 0.9)), {**read(leg("b", 0.5, 0.8)), "directions": {"eval_loss": "higher"}}
    text = merge([one, other])
    assert "🏆" not in text
    assert "**" not in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"), ("\x00\xff", "not JSON"), ("[" * 100_000, "nested too deeply"), ("[]", "no object"),
        ("{}", "has no schema"), ("NaN", "NaN is not JSON"), ('{"schema": 2}', "has no job-id"),
        ("1" * 5000, "no object"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_said_in_a_few_words(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_report(text)


def test_a_number_that_no_float_holds_is_a_fault() -> None:
    for number in ("1e999", "9" * 400):
        text = re.sub(r'"cost-usd": [0-9.]+', f'"cost-usd": {number}', as_json(leg("a", 0.4, 0.9)))
        with pytest.raises(ValueError, match="cost-usd is no number"):
            parse_report(text)


@examples(100)
@given(st.text(max_size=50) | st.binary(max_size=50).map(lambda b: b.decode("utf-8", "replace")))
def test_any_text_is_a_report_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_report(text)


def test_a_report_of_another_version_is_said() -> None:
    document = {**json.loads(as_json(leg("a", 0.4, 0.9))), "schema": 2}
    with pytest.raises(ValueError, match="schema is not 1"):
        parse_report(json.dumps(document))

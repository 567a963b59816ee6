"""Stored reports and result files may be anything: they give finite numbers or words, and never raise."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_train.collect.results import read_results
from hf_train.report import as_json
from hf_train.report.stored import MAX_CURVES, MAX_NAMES, MAX_POINTS, Stored, looks_stored, read_stored
from unit.makers import METRICS, report

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner), max_leaves=20
)
KEYS = ("metrics", "curve", "job-id", "run-url", "pull", "comment-key")


def test_a_report_of_ours_is_read_back() -> None:
    made = report()
    text = as_json(made)
    assert looks_stored(text)
    one = read_stored(text)
    assert isinstance(one, Stored)
    assert one.metrics == {metric.name: metric.value for metric in METRICS}
    assert one.curve["loss"][0] == (0.0, 2.0)
    assert (one.job, one.run, one.pull, one.key) == ("6" * 24, 1658821493, 7, "train / sft")


@given(st.text())
@example("1" * 5000)
@example('{"schema": 1' + "0" * 5000 + "}")
@example("\ud800")
def test_any_text_is_a_report_or_words(text: str) -> None:
    looks_stored(text)
    found = read_stored(text)
    assert isinstance(found, Stored) or found.startswith(("it ", "its "))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES)))
def test_any_values_give_finite_numbers_of_bounded_size(values: dict[str, object]) -> None:
    found = read_stored(json.dumps({"schema": 1, "metrics": {}, **values}))
    if isinstance(found, str):
        return
    assert all(math.isfinite(value) for value in found.metrics.values())
    assert len(found.metrics) <= MAX_NAMES
    assert len(found.curve) <= MAX_CURVES
    assert all(len(points) <= MAX_POINTS for points in found.curve.values())
    assert all(math.isfinite(number) for points in found.curve.values() for point in points for number in point)


@given(st.binary(max_size=200))
def test_any_bytes_in_result_files_do_no_harm(content: bytes) -> None:
    names = ("own.json", "all_results.json", "trainer_state.json", "README.md", "runs/events.out.tfevents.1.host")
    found = read_results(dict.fromkeys(names, content), "own.json")
    assert [source.kind for source in found.sources] == [
        "metrics-file", "all_results.json", "trainer_state.json", "model-index", "tensorboard"
    ]  # fmt: skip


def test_what_cannot_be_read_is_told_by_its_name() -> None:
    found = read_results({"all_results.json": b"{", "trainer_state.json": b"[]"}, "own.json")
    text = " ".join(found.problems)
    assert "all_results.json: not JSON" in text
    assert "trainer_state.json: not a JSON object" in text
    assert "own.json is not in the repo" in text


@pytest.mark.parametrize("version", [0, -1, 10**6, 1.0, "1", None, True, [1]])
def test_a_schema_that_is_not_known(version: object) -> None:
    found = read_stored(json.dumps({"schema": version, "metrics": {"a": 1}}))
    assert isinstance(found, str)
    assert found.startswith("its schema is ")


def test_what_is_too_much_is_cut() -> None:
    many = {
        "schema": 1,
        "metrics": {f"m{number}": number for number in range(MAX_NAMES + 5)},
        "curve": {f"c{number}": [[step, 1] for step in range(MAX_POINTS + 5)] for number in range(MAX_CURVES + 5)},
    }
    found = read_stored(json.dumps(many))
    assert isinstance(found, Stored)
    assert len(found.metrics) == MAX_NAMES
    assert len(found.curve) == MAX_CURVES
    assert {len(points) for points in found.curve.values()} == {MAX_POINTS}

"""Gates: none is green by accident."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.gate import Judgement, judge, overall, parse_condition
from hf_train.report.compare import delta, direction
from hf_train.report.words import DASH

BASE = [{"acc": 0.90, "loss": 0.50}, {"acc": 0.92, "loss": 0.48}, {"acc": 0.88, "loss": 0.52}]


@pytest.mark.parametrize(
    ("line", "metrics", "expected"),
    [
        ("acc >= 0.85", {"acc": 0.85}, "pass"),
        ("acc > 0.85", {"acc": 0.85}, "fail"),
        ("acc >= 0.85", {"acc": 0.84}, "fail"),
        ("acc >= 0.85", {}, "unknown"),
        ("acc >= 0.85", {"acc": math.nan}, "unknown"),
        ("loss <= 1", {"loss": math.inf}, "unknown"),
        ("acc >= baseline", {"acc": 0.90}, "pass"),
        ("acc >= baseline", {"acc": 0.8999}, "fail"),
        ("acc >= baseline - 0.005", {"acc": 0.896}, "pass"),
        ("loss <= baseline + 2%", {"loss": 0.51}, "pass"),
        ("loss <= baseline + 2%", {"loss": 0.5101}, "fail"),
        ("acc >= baseline over 3 runs", {"acc": 0.90}, "pass"),
        ("acc >= baseline over 4 runs", {"acc": 0.99}, "unknown"),
        ("f1 >= baseline", {"f1": 0.9}, "unknown"),
        ("aCC >= 0.1", {"acc": 0.9}, "unknown"),
    ],
)
def test_judgements(line: str, metrics: dict[str, float], expected: Judgement) -> None:
    assert judge(parse_condition(line), metrics, BASE).judgement == expected


def test_no_baseline_is_unknown() -> None:
    judged = judge(parse_condition("acc >= baseline"), {"acc": 1.0}, [])
    assert judged.judgement == "unknown"
    assert "no earlier run" in judged.why


def test_a_negative_baseline_keeps_the_margins_direction() -> None:
    condition = parse_condition("reward >= baseline - 10%")
    assert judge(condition, {"reward": -1.05}, [{"reward": -1.0}]).judgement == "pass"
    assert judge(condition, {"reward": -1.2}, [{"reward": -1.0}]).judgement == "fail"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "acc",
        "acc => 1",
        "acc >= high",
        "acc == 1",
        "acc >= baseline * 2",
        "acc >= 1 over 3 runs",
        "> 1",
        "acc >= baseline over 0 runs",
    ],
)
def test_what_is_no_condition_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"condition|runs"):
        parse_condition(line)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_a_clear_no(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_condition(text).metric


@given(st.lists(st.sampled_from(["pass", "fail", "unknown"]), max_size=6))
def test_the_worst_counts(kinds: list[Judgement]) -> None:
    condition = parse_condition("acc >= 1")
    total = overall([type(judge(condition, {}, []))(condition=condition, judgement=kind) for kind in kinds])
    assert (total == "pass") == (bool(kinds) and set(kinds) == {"pass"})


@pytest.mark.parametrize(
    ("name", "way"), [("eval_loss", "lower"), ("eval_accuracy", "higher"), ("rewards/chosen", "higher"), ("steps", "")]
)
def test_direction(name: str, way: str) -> None:
    assert direction(name) == way


def test_delta() -> None:
    assert delta("eval_loss", 0.4, 0.5).startswith("-0.1")
    assert "🟢" in delta("eval_loss", 0.4, 0.5)
    assert "🔴" in delta("eval_accuracy", 0.4, 0.5)
    assert delta("steps", 3.0, 2.0) == "+1"
    assert delta("eval_loss", math.nan, 0.5) == DASH
    assert delta("eval_loss", 0.5, 0.5) == "0"

"""Gates: none is green by accident. The rules are those of docs/gate.md."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.judge.directions import Direction, direction, marked
from hf_train.judge.gate import MAX_RUNS, Judgement, contradictions, judge, judge_all, overall, parse_condition
from hf_train.judge.noise import band_of
from hf_train.report.compare import delta, gate_lines
from hf_train.report.words import DASH

BASE = [{"acc": 0.90, "loss": 0.50}, {"acc": 0.92, "loss": 0.48}, {"acc": 0.88, "loss": 0.52}]
"""Three earlier runs: the medians are 0.90 and 0.50, the bands 0.88 to 0.92 and 0.48 to 0.52."""


@pytest.mark.case(101)
@pytest.mark.parametrize(
    ("line", "metrics", "expected", "why"),
    [
        # against a number
        ("acc >= 0.85", {"acc": 0.85}, "pass", ""),
        ("acc > 0.85", {"acc": 0.85}, "fail", ""),
        ("acc >= 0.85", {"acc": 0.84}, "fail", ""),
        ("acc >= 0.85", {"acc": 0.99}, "pass", ""),
        ("loss <= 0.5", {"loss": 0.5}, "pass", ""),
        ("loss < 0.5", {"loss": 0.5}, "fail", ""),
        # what is not known
        ("acc >= 0.85", {}, "unknown", "this run has no acc"),
        ("acc >= 0.85", {"acc": math.nan}, "unknown", "acc is nan"),
        ("loss <= 1", {"loss": math.inf}, "unknown", "loss is inf"),
        ("acc >= 0", {"acc": math.inf}, "unknown", "acc is inf"),
        ("loss <= 1", {"loss": -math.inf}, "unknown", "loss is -inf"),
        # against the newest earlier run
        ("acc >= baseline", {"acc": 0.90}, "pass", ""),
        ("acc > baseline", {"acc": 0.90}, "fail", ""),
        ("acc >= baseline", {"acc": 0.8999}, "fail", ""),
        ("acc >= baseline", {"acc": 0.95}, "pass", ""),
        ("acc >= baseline - 0.005", {"acc": 0.896}, "pass", ""),
        ("acc >= baseline - 0.005", {"acc": 0.894}, "fail", ""),
        ("loss <= baseline + 2%", {"loss": 0.51}, "pass", ""),
        ("loss <= baseline + 2%", {"loss": 0.5101}, "fail", ""),
        ("acc >= baseline + 0.01", {"acc": 0.909}, "fail", ""),
        ("acc >= baseline + 0.01", {"acc": 0.92}, "pass", ""),
        # a tolerance is not finer than the noise
        ("acc >= baseline over 3 runs", {"acc": 0.90}, "pass", ""),
        ("acc >= baseline over 3 runs", {"acc": 0.89}, "pass", "within noise: the 3 earlier runs span 0.88 to 0.92"),
        ("acc >= baseline - 0.005 over 3 runs", {"acc": 0.881}, "pass", "within noise"),
        ("acc >= baseline over 3 runs", {"acc": 0.879}, "fail", ""),
        ("acc >= baseline - 0.05 over 3 runs", {"acc": 0.86}, "pass", ""),
        ("loss <= baseline + 1% over 3 runs", {"loss": 0.519}, "pass", "within noise"),
        ("loss <= baseline + 1% over 3 runs", {"loss": 0.521}, "fail", ""),
        # a demand is not fulfilled by noise
        ("acc > baseline over 3 runs", {"acc": 0.91}, "unknown", "within noise"),
        ("acc >= baseline + 0.01 over 3 runs", {"acc": 0.92}, "unknown", "within noise"),
        ("acc >= baseline + 0.01 over 3 runs", {"acc": 0.905}, "fail", ""),
        ("acc >= baseline + 0.01 over 3 runs", {"acc": 0.93}, "pass", ""),
        ("loss < baseline over 3 runs", {"loss": 0.49}, "unknown", "within noise"),
        ("loss <= baseline - 2% over 3 runs", {"loss": 0.47}, "pass", ""),
        # no baseline, or none with this metric, or too few
        ("f1 >= baseline", {"f1": 0.9}, "unknown", "the baseline has no f1"),
        ("f1 >= baseline over 3 runs", {"f1": 0.9}, "unknown", "0 of 3 earlier runs have f1"),
        ("acc >= baseline over 4 runs", {"acc": 0.99}, "unknown", "3 of 4 earlier runs have acc"),
        (f"acc >= baseline over {MAX_RUNS} runs", {"acc": 0.99}, "unknown", "3 of 20"),
        # a name that is not quite right
        ("aCC >= 0.1", {"acc": 0.9}, "unknown", "did you mean acc?"),
        ("eval_acuracy >= 0.1", {"eval_accuracy": 0.9}, "unknown", "did you mean eval_accuracy?"),
        ("accc >= baseline", {"accc": 0.9}, "unknown", "did you mean acc?"),
        ("bleu >= 0.1", {"acc": 0.9}, "unknown", "this run has no bleu"),
    ],
)
def test_judgements(line: str, metrics: dict[str, float], expected: Judgement, why: str) -> None:
    judged = judge(parse_condition(line), metrics, BASE)
    assert judged.judgement == expected
    assert why in judged.why
    assert bool(why) == bool(judged.why)


@pytest.mark.parametrize(
    ("line", "value", "base", "expected"),
    [
        ("reward >= baseline - 10%", -1.05, -1.0, "pass"),
        ("reward >= baseline - 10%", -1.2, -1.0, "fail"),
        ("reward >= baseline + 10%", -0.95, -1.0, "fail"),
        ("reward >= baseline + 10%", -0.9, -1.0, "pass"),
        ("reward >= baseline + 5%", 0.0, 0.0, "unknown"),
        ("loss <= baseline + 5%", 0.0, 0.0, "unknown"),
        ("loss <= baseline", 0.0, 0.0, "pass"),
        ("loss <= baseline + 0.1", 0.05, 0.0, "pass"),
        ("loss <= baseline", 0.5, math.nan, "unknown"),
        ("loss <= baseline", 0.5, math.inf, "unknown"),
        ("loss <= baseline + 900%", 1e308, 1e308, "unknown"),
    ],
)
def test_odd_baselines(line: str, value: float, base: float, expected: Judgement) -> None:
    condition = parse_condition(line)
    assert judge(condition, {condition.metric: value}, [{condition.metric: base}]).judgement == expected


def test_no_baseline_is_unknown() -> None:
    judged = judge(parse_condition("acc >= baseline"), {"acc": 1.0}, [])
    assert (judged.judgement, judged.why) == ("unknown", "there is no baseline")


def test_a_run_that_diverged_holds_nothing() -> None:
    lines = [parse_condition(line) for line in ("acc >= 0.5", "acc >= 0.9", "bleu >= 1")]
    judged = judge_all(lines, {"acc": 0.6}, [], diverged=True)
    assert [one.judgement for one in judged] == ["fail"] * 3
    assert all("diverged" in one.why for one in judged)
    assert [one.judgement for one in judge_all(lines, {"acc": 0.6}, [])] == ["pass", "fail", "unknown"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "acc",
        "acc => 1",
        "acc >= high",
        "acc >= nan",
        "acc >= inf",
        "acc == 1",
        "acc >= baseline * 2",
        "acc >= 1 over 3 runs",
        "> 1",
        "acc >= baseline over 0 runs",
        "acc >= baseline over 21 runs",
        "acc >= baseline over 100000 runs",
        "acc >= baseline over 99999999999999999999 runs",
        "acc >= baseline over -1 runs",
        "loss <= 1e999",
        "acc >= baseline - 1e999",
        "acc >= baseline - 100%",
        "acc:up >= 1",
    ],
)
def test_what_is_no_condition_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"condition|runs"):
        parse_condition(line)


@pytest.mark.parametrize(
    ("lines", "marks", "problem"),
    [
        (["eval_loss >= baseline"], {}, "lower is better for eval_loss. Write <="),
        (["eval_loss >= baseline - 2%"], {}, "lower is better"),
        (["eval_loss > 0.4"], {}, "lower is better"),
        (["eval_accuracy <= 0.9"], {}, "higher is better for eval_accuracy. Write >="),
        (["eval_accuracy < baseline"], {}, "or eval_accuracy:lower if lower is better"),
        (["score >= baseline"], {"score": "lower"}, "lower is better for score"),
        (["eval_loss >= 0.1", "eval_acc <= 0.9"], {}, "eval_loss"),
        # taken: the right way, not known, marked, or the other half of a band
        (["eval_loss <= baseline", "eval_accuracy >= 0.9"], {}, ""),
        (["score >= baseline", "score2 <= 1"], {}, ""),
        (["eval_loss >= baseline"], {"eval_loss": "higher"}, ""),
        (["eval_loss >= 0.1", "eval_loss <= baseline + 2%"], {}, ""),
    ],
)
def test_a_condition_that_passes_the_worse_a_run_is(
    lines: list[str], marks: dict[str, Direction], problem: str
) -> None:
    problems = contradictions([parse_condition(line) for line in lines], marks)
    assert bool(problems) == bool(problem)
    assert problem in " ".join(problems)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_a_clear_no(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_condition(text).metric


VALUES = st.floats(min_value=-1e6, max_value=1e6)


@given(
    st.sampled_from(
        ["m >= baseline", "m > baseline", "m <= baseline + 2%", "m < 0.5", "m >= baseline - 0.1 over 3 runs"]
    ),
    st.one_of(st.none(), st.floats()),
    st.lists(st.floats(), max_size=4),
)
def test_a_pass_has_a_finite_value_and_a_bound(line: str, value: float | None, earlier: list[float]) -> None:
    metrics = {} if value is None else {"m": value}
    judged = judge(parse_condition(line), metrics, [{"m": one} for one in earlier])
    if judged.judgement == "pass":
        assert judged.value is not None
        assert judged.bound is not None
        assert math.isfinite(judged.value)
        assert math.isfinite(judged.bound)


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_a_band_holds_most_runs_and_no_invented_one(values: list[float]) -> None:
    band = band_of(values)
    assert min(values) <= band.low <= band.high <= max(values)
    assert band.kept * 2 >= len(values)


def test_one_broken_run_does_not_widen_the_band() -> None:
    band = band_of([0.90, 0.91, 0.905, 0.899, 0.2])
    assert (band.low, band.high, band.kept) == (0.899, 0.91, 4)
    assert "1 outlier(s) left out" in str(band)
    judged = judge(
        parse_condition("acc >= baseline over 5 runs"),
        {"acc": 0.5},
        [{"acc": value} for value in (0.90, 0.91, 0.905, 0.899, 0.2)],
    )
    assert judged.judgement == "fail"


@given(st.lists(st.sampled_from(["pass", "fail", "unknown"]), max_size=6))
def test_the_worst_counts(kinds: list[Judgement]) -> None:
    condition = parse_condition("acc >= 1")
    total = overall([type(judge(condition, {}, []))(condition=condition, judgement=kind) for kind in kinds])
    assert (total == "pass") == (bool(kinds) and set(kinds) == {"pass"})


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("eval_loss", "lower"),
        ("val/loss", "lower"),
        ("eval_wer", "lower"),
        ("perplexity", "lower"),
        ("eval_accuracy", "higher"),
        ("rewards/chosen", "higher"),
        ("rewards/accuracies", "higher"),
        ("metrics/mAP50(B)", "higher"),
        ("cosine_ndcg@10", "higher"),
        ("eval_mean_token_accuracy", "higher"),
        ("rewards/rejected", None),
        ("reward_std", None),
        ("accuracy_threshold", None),
        ("steps", None),
        ("kl", None),
        ("my_score", None),
        ("loss_accuracy", None),
    ],
)
def test_direction(name: str, way: str | None) -> None:
    assert direction(name) == way


def test_a_direction_that_is_given_holds_before_a_known_one() -> None:
    assert direction("eval_loss", {"eval_loss": "higher"}) == "higher"
    assert direction("my_score", {"my_score": "lower"}) == "lower"


@pytest.mark.parametrize(
    ("text", "name", "way"),
    [
        ("eval_x", "eval_x", None),
        ("eval_x:higher", "eval_x", "higher"),
        ("eval_x : lower", "eval_x", "lower"),
        ("a:b", "a:b", None),
        ("a:b:lower", "a:b", "lower"),
    ],
)
def test_marks(text: str, name: str, way: str | None) -> None:
    assert marked(text) == (name, way)


def test_a_mark_without_a_name() -> None:
    with pytest.raises(ValueError, match="no name"):
        marked(":higher")


def test_a_line_may_state_the_direction() -> None:
    condition = parse_condition("my_score:lower <= baseline + 1%")
    assert (condition.metric, condition.way, condition.op) == ("my_score", "lower", "<=")


def test_delta() -> None:
    assert delta("eval_loss", 0.4, 0.5).startswith("-0.1")
    assert "🟢" in delta("eval_loss", 0.4, 0.5)
    assert "🔴" in delta("eval_accuracy", 0.4, 0.5)
    assert delta("steps", 3.0, 2.0) == "+1"
    assert delta("my_score", 3.0, 2.0, {"my_score": "lower"}) == "+1 🔴"
    assert delta("eval_loss", math.nan, 0.5) == DASH
    assert delta("eval_loss", 0.5, 0.5) == "0"


def test_the_lines_say_what_they_rest_on() -> None:
    lines = ["acc >= baseline over 3 runs", "acc >= 0.95", "f1 >= 0.5", "loss <= baseline"]
    judged = judge_all([parse_condition(line) for line in lines], {"acc": 0.89, "loss": 0.4}, BASE)
    assert gate_lines(judged) == [
        "- ✅ `acc >= baseline over 3 runs` (0.89 against 0.9; `within noise: the 3 earlier runs span 0.88 to 0.92`)",
        "- ❌ `acc >= 0.95` (0.89 against 0.95)",
        "- ❓ `f1 >= 0.5` not known: `this run has no f1`",
        "- ✅ `loss <= baseline` (0.4 against 0.5)",
    ]

"""Step outputs and report.json: one object, a promise."""

from __future__ import annotations

import json

import pytest

from hf_train.report import as_json, outputs
from hf_train.values import Findings, Metric
from unit.makers import plan, report
from unit.report.situations import SITUATIONS

OUTPUTS = [
    "job-id", "job-url", "stage", "reason", "exit-code", "model-repo", "model-revision", "model-url", "metrics",
    "deltas",
    "gate", "cost-usd", "duration-s", "image", "snapshot", "comment-url", "comment-file", "report-file",
]  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_output_is_there_in_every_situation(name: str) -> None:
    one = SITUATIONS[name]
    given = outputs(one)
    document = json.loads(as_json(one))
    assert list(given) == OUTPUTS
    assert set(OUTPUTS) <= set(document)
    assert document["schema"] == 1
    for key in OUTPUTS:
        if key not in {"metrics", "deltas"}:
            value = document[key]
            assert given[key] == ("" if value is None else str(value)), key


def test_the_outputs_of_a_completed_training() -> None:
    given = outputs(report(comment_url="https://github.test/7#1"))
    assert given["stage"] == "COMPLETED"
    assert given["exit-code"] == "0"
    assert given["model-revision"] == "d" * 40
    assert given["duration-s"] == "724.0"
    assert given["cost-usd"] == "0.0871", "13 started minutes"
    assert json.loads(given["metrics"])["eval_accuracy"] == 0.9012


@pytest.mark.case(101)
def test_a_number_that_is_none_is_null() -> None:
    values = [float("nan"), float("inf"), 1.5]
    metrics = tuple(Metric(name=f"m{i}", value=value, source="log") for i, value in enumerate(values))
    one = report(findings=Findings(metrics=metrics))
    assert outputs(one)["metrics"] == '{"m0": null, "m1": null, "m2": 1.5}'
    document = json.loads(as_json(one))
    assert document["metrics"] == {"m0": None, "m1": None, "m2": 1.5}
    assert document["non-finite"] == {"m0": "nan", "m1": "inf"}


@pytest.mark.case(101)
def test_a_curve_with_odd_points_is_json() -> None:
    curve = {"loss": ((0.0, 1.0), (float("nan"), 1.0), (1.0, float("inf")))}
    assert json.loads(as_json(report(findings=Findings(curve=curve))))["curve"] == {"loss": [[0.0, 1.0]]}


@pytest.mark.case(97)
def test_too_many_metrics_are_cut_between_two_and_the_named_ones_stay() -> None:
    metrics = tuple(Metric(name=f"eval/a_rather_long_task_name_{i:05}", value=i / 7, source="log") for i in range(5000))
    wanted = metrics[4321].name
    one = report(plan=plan(metrics=wanted), findings=Findings(metrics=metrics))
    text = outputs(one)["metrics"]
    assert len(text) <= 60_000
    assert next(iter(json.loads(text).items())) == (wanted, metrics[4321].value)
    assert len(json.loads(as_json(one))["metrics"]) == 5000


def test_the_stage_is_the_hubs_own_word_when_we_do_not_know_it() -> None:
    from dataclasses import replace

    one = report()
    assert one.state is not None
    assert outputs(replace(one, state=replace(one.state, stage_text="PAUSED")))["stage"] == "PAUSED"
    assert outputs(SITUATIONS["skipped-on-a-fork"])["stage"] == "SKIPPED"

"""What a run is compared with, and what the gate makes of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from flow.steps import ON_GITHUB, PULL, go, report_json, request
from hf_train.context import Context
from hf_train.values import Stage
from support.fakes import World

ON_MAIN = replace(ON_GITHUB, event="push", pull=None, sha="a" * 40, ref="refs/heads/main")
ON_PULL = replace(ON_GITHUB, pull=replace(PULL, base_sha="a" * 40, base_ref="main"))


def train(world: World, context: Context, accuracy: str, **flags: str) -> int:
    """One run with this accuracy."""
    world.clock.seconds = 0.0
    world.hub.log = [(1.0, f"{{'eval_accuracy': '{accuracy}', 'epoch': '1'}}")]
    return go(world, request(context, None, reuse="never", **flags))[1]


def test_a_pull_request_is_compared_with_its_base_commit(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    assert train(world, ON_PULL, "0.92") == 0
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.02)
    comment = world.files.reports["comment.md"]
    assert "base commit aaaaaaa" in comment
    assert "+0.02 🟢" in comment


def test_else_with_the_newest_run_of_the_base_branch(world: World) -> None:
    train(world, replace(ON_MAIN, sha="e" * 40), "0.90")
    train(world, ON_PULL, "0.80")
    assert report_json(world)["baseline"]["name"] == "branch main"
    assert "🔴" in world.files.reports["comment.md"]


def test_another_family_is_no_baseline(world: World) -> None:
    train(world, replace(ON_MAIN, workflow="nightly"), "0.90")
    train(world, ON_PULL, "0.80")
    assert report_json(world)["baseline"] is None
    assert json.loads(world.files.output_values["deltas"]) == {}


def test_a_run_that_failed_is_no_baseline(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    train(world, ON_MAIN, "0.90")
    assert world.reports.stored == {}


@pytest.mark.parametrize(
    ("gate", "code", "word"),
    [
        ("eval_accuracy >= 0.85", 0, "pass"),
        ("eval_accuracy >= 0.99", 7, "fail"),
        ("eval_accuracy >= baseline - 1%", 0, "pass"),
        ("eval_accuracy >= baseline + 5%", 7, "fail"),
        ("eval_f1 >= 0.1", 7, "unknown"),
        ("eval_accuracy >= baseline over 3 runs", 7, "unknown"),
    ],
)
def test_gates(world: World, gate: str, code: int, word: str) -> None:
    train(world, ON_MAIN, "0.90")
    assert train(world, ON_PULL, "0.90", gate=gate) == code
    assert world.files.output_values["gate"] == word
    assert gate in world.files.reports["comment.md"]


def test_a_gate_without_a_baseline_is_not_green(world: World) -> None:
    assert train(world, ON_PULL, "0.99", gate="eval_accuracy >= baseline") == 7


def test_a_diverged_run_fails_any_gate(world: World) -> None:
    world.clock.seconds = 0.0
    world.hub.log = [(1.0, "{'loss': '0', 'grad_norm': 'nan'}"), (2.0, "{'eval_loss': 'nan', 'eval_accuracy': '0.9'}")]
    assert go(world, request(ON_PULL, gate="eval_accuracy >= 0.5"))[1] == 7


def test_the_median_of_several_runs(world: World) -> None:
    for accuracy in ("0.80", "0.90", "0.82"):
        train(world, ON_MAIN, accuracy)
    assert train(world, replace(ON_PULL, pull=replace(PULL, base_ref="main")), "0.83",
                 gate="eval_accuracy >= baseline over 3 runs") == 0  # fmt: skip


def test_baseline_none(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    train(world, ON_PULL, "0.92", baseline="none")
    assert report_json(world)["baseline"] is None


def test_baseline_by_name_and_by_file(world: World) -> None:
    train(world, replace(ON_MAIN, ref="refs/heads/dev"), "0.70")
    train(world, ON_PULL, "0.92", baseline="branch:dev")
    assert report_json(world)["baseline"]["metrics"]["eval_accuracy"] == 0.70
    world.workspace.files["base.json"] = '{"eval_accuracy": 0.5}'
    train(world, ON_PULL, "0.92", baseline="base.json")
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.42)


def test_a_bucket_that_cannot_be_written_changes_nothing(world: World) -> None:
    world.reports.problem = "HTTP 503"
    assert train(world, ON_MAIN, "0.90") == 0
    assert any("could not be stored" in problem for problem in report_json(world)["problems"])

"""A model's release: compared with the last one, tagged as the Git tag when it holds, told in the GitHub release."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, report_json, request
from hf_train.errors import Interrupted, RefusedByHub, TransientHubError
from hf_train.values import Stage
from support.fakes import World

V1 = replace(ON_GITHUB, private=False, event="push", pull=None, ref="refs/tags/v1", sha="1" * 40, run_id="11")
V2 = replace(V1, ref="refs/tags/v2", sha="2" * 40, run_id="12")


def train(world: World, context: Any, accuracy: str, **flags: str) -> tuple[int, dict[str, Any]]:
    """One training on a tag with this accuracy; the exit code and the report."""
    world.hub.life = [(0.0, Stage.RUNNING), (world.clock.seconds + 10.0, Stage.COMPLETED)]
    files = {"all_results.json": f'{{"eval_accuracy": {accuracy}}}'.encode()}
    world.hub.repos = {"alice/m": published(files=files)}
    given: dict[str, Any] = {"model_repo": "alice/m", "release": "true", "reuse": "never", **flags}
    code = go(world, request(context, **given))[1]
    return code, report_json(world)


@pytest.fixture(autouse=True)
def releases(world: World) -> None:
    world.pulls.commits = {"tags/v1": "1" * 40}
    world.releases.bodies = {"v1": "First.", "v2": "What is new:\n- all of it\n"}


def test_it_is_compared_with_the_last_release_tagged_and_told(world: World) -> None:
    world.releases.bodies.pop("v2")
    assert train(world, V1, "0.90")[0] == 0
    world.releases.bodies["v2"] = "What is new:\n- all of it\n"
    code, report = train(world, V2, "0.92", gate="eval_accuracy >= baseline")
    assert (code, report["baseline"]["name"], report["gate"]) == (0, "tag v1", "pass")
    assert world.tags.tags == {"alice/m@v1": "d" * 40, "alice/m@v2": "d" * 40}
    url = "https://github.test/octo/proj/releases/tag/v2"
    assert report["release"] == {"tag": "v2", "hub-tag": True, "url": url}
    body = world.releases.bodies["v2"]
    assert body.startswith("What is new:\n- all of it\n\n<!-- hf-train:release-")
    for words in ("### Model: ✅", "alice/m@ddddddd", "Hub tag `v2`", "python:3.12", "eval_accuracy", "0.92", "0.9"):
        assert words in body
    assert f"**Release** [`v2`]({url})" in world.files.reports["comment.md"]


def test_a_second_run_replaces_its_section(world: World) -> None:
    train(world, V2, "0.90")
    first = world.releases.bodies["v2"]
    train(world, V2, "0.91")
    assert world.releases.bodies["v2"].count("### Model") == 1
    assert world.releases.bodies["v2"] != first
    assert len(world.tags.tags) == 1


def test_a_leg_of_its_own_has_a_section_of_its_own(world: World) -> None:
    train(world, V2, "0.90", comment_key="small")
    train(world, V2, "0.91", comment_key="large -->")
    assert world.releases.bodies["v2"].count("### Model") == 2
    assert "large" not in world.releases.bodies["v2"]


@pytest.mark.parametrize(
    ("gate", "code", "says"), [("eval_accuracy >= 0.95", 7, "fail"), ("eval_f1 >= 0.5", 7, "unknown")]
)
def test_a_model_that_does_not_hold_is_told_and_not_tagged(world: World, gate: str, code: int, says: str) -> None:
    found, report = train(world, V2, "0.90", gate=gate)
    assert (found, report["gate"], report["release"]["hub-tag"]) == (code, says, False)
    assert world.tags.tags == {}
    assert any(one.startswith("The model was not tagged v2: ") for one in report["problems"])
    assert "Training completed" not in world.releases.bodies["v2"]
    assert "### Model: " in world.releases.bodies["v2"]
    assert "Hub tag" not in world.releases.bodies["v2"]


def test_the_first_release_has_nothing_to_be_compared_with(world: World) -> None:
    world.releases.bodies = {"v1": ""}
    code, report = train(world, V1, "0.90", gate="eval_accuracy >= baseline")
    assert (code, report["gate"], world.tags.tags) == (7, "unknown", {})
    assert "There is no earlier release to compare with." in report["problems"]
    assert train(world, V1, "0.90", gate="eval_accuracy >= 0.8")[0] == 0


def test_a_tag_at_another_commit_is_a_refusal_that_is_said(world: World) -> None:
    world.tags.tags["alice/m@v2"] = "9" * 40
    code, report = train(world, V2, "0.90")
    assert (code, report["release"]["hub-tag"]) == (0, False)
    assert world.tags.tags == {"alice/m@v2": "9" * 40}
    assert "The model was not tagged v2: alice/m has the tag v2 already, at commit 9999999." in report["problems"][-1]
    assert "Hub tag" not in world.releases.bodies["v2"]


@pytest.mark.parametrize("error", [RefusedByHub("No", "The Hub answered 403."), TransientHubError("HTTP 503")])
def test_what_cannot_be_tagged_is_a_problem(world: World, error: Exception) -> None:
    world.tags.errors = [error] * 100
    code, report = train(world, V2, "0.90")
    assert (code, report["release"]["hub-tag"], report["release"]["url"] != "") == (0, False, True)
    assert report["problems"][-1].startswith("The model was not tagged v2: ")


def test_a_release_that_cannot_be_written_is_a_problem(world: World) -> None:
    world.releases.problem = "the GitHub token may not do so"
    code, report = train(world, V2, "0.90")
    assert (code, report["release"]) == (0, {"tag": "v2", "hub-tag": True, "url": ""})
    assert "The release v2 was not written: the GitHub token may not do so." in report["problems"]
    assert "The last release could not be looked up: the GitHub token may not do so." in report["problems"]


@pytest.mark.parametrize(
    ("context", "flags", "problem"),
    [
        (replace(V2, ref="refs/heads/main"), {}, "Nothing was released: this run is on no tag."),
        (V2, {"release": "false"}, ""),
    ],
)
def test_nothing_is_released_elsewhere_or_unasked(
    world: World, context: Any, flags: dict[str, str], problem: str
) -> None:
    before = dict(world.releases.bodies)
    code, report = train(world, context, "0.90", **flags)
    assert (code, report["release"], world.tags.tags, world.releases.bodies) == (0, None, {}, before)
    assert (problem in report["problems"]) == bool(problem)


def test_a_training_that_failed_releases_nothing(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)]
    given: dict[str, Any] = {"model_repo": "alice/m", "release": "true"}
    assert go(world, request(V2, **given))[1] == 1
    assert (world.tags.tags, world.releases.bodies["v2"]) == ({}, "What is new:\n- all of it\n")


def test_a_secret_does_not_get_into_a_release(world: World) -> None:
    world.console.secrets = ("python:3.12",)
    train(world, V2, "0.90")
    assert "python:3.12" not in world.releases.bodies["v2"]


def test_a_signal_while_it_is_written_keeps_the_results(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> bool:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(world.tags, "tag", stopped)
    code, report = train(world, V2, "0.90", gate="eval_accuracy >= 0.8")
    assert (code, report["gate"], report["metrics"]) == (0, "pass", {"eval_accuracy": 0.9})
    assert "The workflow was cancelled before all that follows the results was written." in report["problems"]

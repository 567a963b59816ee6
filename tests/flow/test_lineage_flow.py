"""The lineage in the card of a model: only where it is asked for, after the results, and never a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, report_json, request
from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.flow.lineage import describe
from hf_train.values import CARD_TITLE, Stage
from support.fakes import World

PUBLIC = replace(ON_GITHUB, private=False)


def run(world: World, context: Any = PUBLIC, **flags: str) -> tuple[int, dict[str, Any]]:
    """A run that publishes alice/m; the exit code and the report."""
    given: dict[str, Any] = {"model_repo": "alice/m", "lineage": "true", **flags}
    code = go(world, request(context, **given))[1]
    return code, report_json(world)


@pytest.fixture(autouse=True)
def pushed(world: World) -> None:
    world.hub.repos = {"alice/m": published(), "alice/other": published("alice/other")}


def test_it_is_written_on_top_and_the_revision_stays_that_of_the_training(world: World) -> None:
    code, report = run(world)
    assert (code, report["model-revision"], report["model-card-revision"]) == (0, "d" * 40, f"{1:040x}")
    ((repo, parent, title),) = world.cards.written
    assert (repo, parent, title) == ("alice/m", "d" * 40, f"{CARD_TITLE} {report['job-id']}")
    assert "octo/proj" in world.cards.text
    assert "card since `0000000`" in world.files.reports["comment.md"]


def test_a_card_that_says_it_already_gets_no_commit(world: World) -> None:
    asked = request(PUBLIC, model_repo="alice/m", lineage="true")
    report, _ = go(world, asked)
    again = describe(report, asked.inputs, world.ports)
    assert len(world.cards.written) == 1
    assert again == report


def test_nothing_is_written_unasked(world: World) -> None:
    assert run(world, lineage="false")[1]["model-card-revision"] == ""
    assert world.cards.written == []


def test_a_training_that_failed_has_no_lineage(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)]
    assert run(world)[0] == 1
    assert world.cards.written == []


def test_only_the_named_repo_is_written_to(world: World) -> None:
    world.hub.repos.pop("alice/m")
    command = "python train.py --hub_model_id alice/other"
    asked = request(
        PUBLIC, {"HF_TOKEN": "hf_local_x"}, secrets="HF_TOKEN", command=command, model_repo="alice/m",
        lineage="true", require_model="false",
    )  # fmt: skip
    code, report = go(world, asked)[1], report_json(world)
    assert (code, report["model-repo"], world.cards.written) == (0, "alice/other", [])
    assert "The lineage was not written: nothing was published to model-repo." in report["problems"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RefusedByHub("Not allowed", "The Hub answered 403 for the card of alice/m.", "Do so."), "403"),
        (TransientHubError("HTTP 503 for the model repo"), "HTTP 503"),
    ],
)
def test_a_card_that_cannot_be_written_is_a_problem_and_no_verdict(world: World, error: Exception, words: str) -> None:
    world.cards.errors = [error] * 100
    code, report = run(world)
    assert (code, report["model-revision"], report["model-card-revision"]) == (0, "d" * 40, "")
    (problem,) = report["problems"]
    assert problem.startswith("The lineage was not written: ")
    assert words in problem


def test_a_hiccup_is_outlived(world: World) -> None:
    world.cards.errors = [TransientHubError("HTTP 503")] * 3
    assert run(world)[1]["model-card-revision"] == f"{1:040x}"


def test_a_model_on_another_branch_has_its_card_elsewhere(world: World) -> None:
    world.cards.commits = ("e" * 40,)
    _, report = run(world)
    assert world.cards.written == []
    assert "the commit ddddddd is not on the main branch" in " ".join(report["problems"])


def test_what_a_public_card_leaves_out_is_said(world: World) -> None:
    _, report = run(world, ON_GITHUB)
    assert "octo/proj" not in world.cards.text
    assert "The card is public and names no repository, for that may be private." in report["problems"]


def test_metadata_that_stays_as_it_is_is_said(world: World) -> None:
    world.cards.text = "---\n- a\n---\n"
    _, report = run(world)
    assert len(world.cards.written) == 1
    assert any(one.startswith("Of the lineage: the card's metadata is no plain YAML") for one in report["problems"])

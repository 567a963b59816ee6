"""What came out, put together: which repo is the model, what was not as asked for, and a run that diverged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, report_json, request
from hf_train.errors import RefusedByHub
from hf_train.ports import Published
from support.fakes import World

NOTHING = Published(link=None, note="alice/asked was created, but nothing was pushed to it")
ELSEWHERE = "python train.py --hub_model_id alice/other"


def run(world: World, **flags: str) -> tuple[int, dict[str, Any]]:
    """One run; the exit code and the report."""
    given = {"secrets": "HF_TOKEN", **flags}
    code = go(world, request(ON_GITHUB, {"HF_TOKEN": "hf_local_x"}, **given))[1]
    return code, report_json(world)


def with_weights(found: Published, *, weights: bool) -> Published:
    """The same commit, with or without weights."""
    assert found.link is not None
    words = () if weights else (f"The commit {found.link.revision[:7]} holds no weights.",)
    return replace(found, link=replace(found.link, has_weights=weights), problems=words)


def test_the_account_of_the_jobs_token_is_who_must_have_pushed(world: World) -> None:
    world.hub.repos = {"alice/m": published()}
    run(world, model_repo="alice/m")
    assert world.hub.asked_for == [("alice/m", "alice")]
    world.hub.asked_for.clear()
    run(world, model_repo="alice/m", secrets="", reuse="never")
    assert world.hub.asked_for == [("alice/m", "")], (
        "a Job without a token of ours may push with one that we do not see"
    )


@pytest.mark.parametrize(("required", "code", "model"), [("true", 6, ""), ("false", 0, "alice/other")])
def test_pushed_elsewhere(world: World, required: str, code: int, model: str) -> None:
    files = {"all_results.json": b'{"eval_loss": 0.25}'}
    world.hub.repos = {"alice/asked": NOTHING, "alice/other": published("alice/other", files)}
    found, report = run(world, model_repo="alice/asked", command=ELSEWHERE, require_model=required)
    assert (found, report["model-repo"]) == (code, model)
    words = "Pushed elsewhere: alice/other got commit ddddddd; alice/asked was created, but nothing was pushed to it"
    assert words in [report["model-note"], *report["problems"]]
    assert report["metrics"] == {"eval_loss": 0.25}, "it is this Job's commit all the same"


def test_a_private_repo_elsewhere_is_not_named(world: World) -> None:
    world.hub.repos = {"alice/asked": NOTHING, "alice/other": published("alice/other", private=True)}
    _, report = run(world, model_repo="alice/asked", command=ELSEWHERE)
    assert "Pushed elsewhere: a private repo got commit ddddddd" in report["model-note"]


def test_a_model_that_could_not_be_looked_at_is_not_said_to_be_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_kind: str, repo: str, *_more: object) -> Published:
        if repo == "alice/asked":
            raise RefusedByHub("Not allowed", "The Hub answered 403 for the repo alice/asked.")
        return published(repo)

    monkeypatch.setattr(world.hub, "published", look)
    code, report = run(world, model_repo="alice/asked", command=ELSEWHERE)
    assert code == 6
    assert "alice/asked could not be looked at" in report["model-note"]
    assert "The Hub answered 403" in " ".join(report["problems"])


@pytest.mark.parametrize(("required", "code", "model"), [("true", 6, ""), ("false", 0, "alice/m")])
def test_a_commit_without_weights_is_no_model(world: World, required: str, code: int, model: str) -> None:
    world.hub.repos = {"alice/m": with_weights(published(), weights=False)}
    found, report = run(world, model_repo="alice/m", require_model=required)
    assert (found, report["model-repo"]) == (code, model)
    assert "holds no weights" in " ".join([report["model-note"], *report["problems"]])
    assert len([one for one in report["problems"] if "holds no weights" in one]) == (0 if model == "" else 1)


def test_a_remark_on_the_commit_is_told(world: World) -> None:
    world.hub.repos = {"alice/m": replace(published(), problems=("The commit ddddddd holds weights only.",))}
    code, report = run(world, model_repo="alice/m")
    assert (code, report["problems"]) == (0, ["The commit ddddddd holds weights only."])


def test_a_metrics_file_that_nobody_pushed_is_told(world: World) -> None:
    code, report = run(world, metrics_file="m.json")
    assert code == 0
    assert "The metrics file m.json was not read: no model repo got a commit of this Job." in report["problems"]
    world.hub.repos = {"alice/m": published()}
    _, report = run(world, metrics_file="m.json", model_repo="alice/m", reuse="never")
    assert "The metrics file m.json is not in the repo at this Job's commit." in report["problems"]


NAN = (
    "{'loss': '0.6931', 'grad_norm': '1.5', 'epoch': '0.25'}",
    "{'loss': '0', 'grad_norm': 'nan', 'epoch': '0.5'}",
    "{'eval_loss': 'nan', 'eval_accuracy': '0.5', 'epoch': '1'}",
    "{'train_runtime': '0.4697', 'train_loss': '0.05165', 'epoch': '2'}",
)


@pytest.mark.parametrize(
    ("flags", "code", "level", "gate"),
    [
        ({}, 0, "warning", "none"),
        ({"gate": "eval_accuracy >= 0.1"}, 7, "failure", "fail"),
        ({"gate": "train_loss <= 0.1"}, 7, "failure", "fail"),
        ({"gate": "eval_loss <= 1"}, 7, "failure", "fail"),
    ],
)
def test_a_run_that_diverged_exits_0_and_is_told_so(
    world: World, flags: dict[str, str], code: int, level: str, gate: str
) -> None:
    world.hub.log = [(float(second), line) for second, line in enumerate(NAN)]
    found, report = run(world, **flags)
    assert (found, report["stage"], report["diverged"]) == (code, "COMPLETED", True)
    assert (report["level"], report["gate"]) == (level, gate)
    assert report["metrics"]["train_loss"] == 0.05165
    assert "train_loss: the run diverged: this average leaves out the steps that were NaN" in report["problems"]
    assert "NaN" in world.files.reports["comment.md"]


def test_a_diverged_run_is_seen_in_a_file_when_the_log_is_lost(world: World) -> None:
    files = {"all_results.json": b'{"eval_loss": NaN, "train_loss": 0.05}'}
    world.hub.repos = {"alice/m": published(files=files)}
    code, report = run(world, model_repo="alice/m", gate="train_loss <= 1")
    assert (code, report["diverged"], report["sources"]["eval_loss"]) == (7, True, "all_results.json")

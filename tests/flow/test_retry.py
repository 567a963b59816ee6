"""Retries: only of what the platform ended, by the Hub's own word, and never past the limit."""

from __future__ import annotations

from typing import Any

import pytest

from flow.money import Life, MoneyHub
from flow.steps import ON_GITHUB, report_json, request
from hf_train.errors import Interrupted, RefusedByHub, TransientHubError
from hf_train.flow import runs
from hf_train.report import Report, verdict_of
from hf_train.values import Flavor, Stage
from support.fakes import World

FLAVORS = (Flavor(name="cpu-basic", usd_per_minute=0.1), Flavor(name="t4-small", gpus=1, usd_per_minute=1.0))
LOST = Life(seconds=120, stage=Stage.ERROR, message="Node was lost")
FAILED = Life(seconds=30, stage=Stage.ERROR, message="Job failed with exit code: 1. Reason: Error")


def _go(world: World, lives: list[Life], **flags: Any) -> tuple[Report, int, MoneyHub]:
    hub = MoneyHub(world.clock, flavors=FLAVORS, lives=lives)
    world.hub = hub
    report = runs.run(request(**flags), world.ports)
    return report, int(verdict_of(report).code), hub


def test_what_the_platform_ended_is_launched_anew_and_said(world: World) -> None:
    report, code, hub = _go(world, [LOST, Life(seconds=60)], retry="1")
    assert (code, hub.posts) == (0, 2)
    nonces = {spec.labels["hft-nonce"] for spec, _ in hub.submitted}
    assert len(nonces) == 2, "another Job, another mark"
    assert len({spec.labels["hft-key"] for spec, _ in hub.submitted}) == 1
    (before,) = report.earlier
    assert (before.kind, before.reason, before.seconds, before.usd) == ("try", "Node was lost", 120.0, 0.2)
    document = report_json(world)
    assert document["cost-usd"] == pytest.approx(0.3)
    assert [one["cost-usd"] for one in document["earlier"]] == [0.2]
    assert "**Earlier try** Job" in world.pulls.bodies[-1]
    assert "Node was lost" in world.pulls.bodies[-1]
    assert [kind for kind, title, _ in world.console.annotations if title == "Tried again"] == ["warning"]
    assert not any(kind == "error" for kind, _, _ in world.console.annotations), "the step is green"


@pytest.mark.parametrize(
    "life",
    [
        FAILED,
        Life(stage=Stage.ERROR, message="Job failed with exit code: 137. Reason: OOMKilled"),
        Life(stage=Stage.ERROR, message="Job timeout"),
        Life(stage=Stage.ERROR),
        Life(stage=Stage.CANCELED),
        Life(stage=Stage.ERROR, log=((1.0, "Node was lost"), (2.0, "evicted: internal server error"))),
        Life(stage=Stage.ERROR, message="Failed to pull image: manifest unknown"),
    ],
    ids=lambda life: life.message or life.stage.value,
)
def test_nothing_else_is_tried_again(world: World, life: Life) -> None:
    _, code, hub = _go(world, [life], retry="3")
    assert hub.posts == 1
    assert code != 0


def test_without_retry_there_is_one_try(world: World) -> None:
    report, code, hub = _go(world, [LOST])
    assert (code, hub.posts) == (1, 1)
    assert "retry: 1" in report.findings.hint
    assert "The platform failed, not the training" in world.pulls.bodies[-1]


def test_the_last_try_is_the_verdict(world: World) -> None:
    report, code, hub = _go(world, [LOST, LOST, FAILED], retry="2")
    assert (code, hub.posts, len(report.earlier)) == (1, 3, 2)
    assert "exit code 1" in world.pulls.bodies[-1]


@pytest.mark.case(22)
@pytest.mark.parametrize(("cap", "posts"), [("3.2", 2), ("3.19", 1), ("6", 2)])
def test_no_try_breaks_the_limit_of_the_run(world: World, cap: str, posts: int) -> None:
    report, code, hub = _go(world, [LOST], retry="1", max_cost=cap)
    assert (code, hub.posts) == (1, posts)
    assert hub.dearest <= float(cap)
    if posts == 1:
        assert any("not tried again: $0.20 were spent" in problem for problem in report_json(world)["problems"])
    assert report.findings.cause == "platform"


def test_no_try_breaks_the_limit_of_the_pull_request(world: World) -> None:
    _, _, hub = _go(world, [LOST], retry="1", max_cost_per_pr="3.1")
    assert hub.posts == 1
    assert any("not tried again: 1 Job(s) of pull request #7" in one for one in report_json(world)["problems"])


def test_no_try_that_this_step_could_not_follow(world: World) -> None:
    slow = Life(seconds=3000, stage=Stage.ERROR, message="Node was lost")
    _, _, hub = _go(world, [slow], retry="1", timeout="1h", watch_timeout="90m")
    assert hub.posts == 1
    assert any("follows Jobs for" in one for one in report_json(world)["problems"])


def test_what_is_left_of_the_watch_is_for_the_next_try(world: World) -> None:
    hang = Life(seconds=99_999)
    _, code, hub = _go(world, [LOST, hang], retry="1", timeout="30m", watch_timeout="1h", on_watch_timeout="detach")
    assert (code, hub.posts) == (5, 2), "the Job's own limit came first"
    assert world.clock.seconds < 3600


def test_a_signal_during_the_second_try_lists_the_first(world: World) -> None:
    def strike(now: float) -> None:
        if now > 240:  # the end of the first is seen by 160 at the latest: looks are up to 33 s apart
            world.clock.on_sleep = None
            raise Interrupted(15)

    world.clock.on_sleep = strike
    report, code, hub = _go(world, [LOST, Life(seconds=9000)], retry="1")
    assert (code, len(hub.cancelled), len(report.earlier)) == (143, 1, 1)
    assert "Earlier try" in world.pulls.bodies[-1]


def test_a_signal_between_two_tries_leaves_no_comment_that_says_running(world: World) -> None:
    hub = MoneyHub(world.clock, flavors=FLAVORS, lives=[LOST])
    world.hub = hub
    whoami, asked = hub.whoami, []

    def interrupted() -> Any:
        asked.append(1)
        if len(asked) == 2:
            raise Interrupted(2)
        return whoami()

    hub.whoami = interrupted  # type: ignore[method-assign]
    report = runs.run(request(retry="1"), world.ports)
    assert int(verdict_of(report).code) == 130
    assert "Cancelled with the workflow" in world.pulls.bodies[-1]


def test_a_second_try_that_is_refused_says_what_was_paid(world: World) -> None:
    refuse = Life(error=RefusedByHub("No credit", "The Hub answered 402.", "Add credit."))
    with pytest.raises(RefusedByHub):
        _go(world, [LOST, refuse], retry="1")
    document = report_json(world)
    assert (document["exit-code"], document["cost-usd"]) == (3, 0.2)
    assert "Earlier try" in world.pulls.bodies[-1]


@pytest.mark.case(66)
def test_a_post_without_an_answer_is_no_try(world: World) -> None:
    lives = [LOST, Life(error=TransientHubError("reset"), stored=True, seconds=60)]
    _, code, hub = _go(world, lives, retry="1")
    assert (code, hub.posts) == (0, 2), "it was adopted"
    assert ON_GITHUB.on_github

"""Following a Job through bad hours, on a clock that costs nothing: outages, silence, late lines, skewed clocks."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from flow.steps import go, report_json, request
from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.flow.verdict import reason_of
from hf_train.values import Flavor, JobRef, JobState, Reason, Stage
from support.fakes import START, FakeHub, Step, World

STEP = "{'loss': '0.5', 'epoch': '1'}"
BAD = TransientHubError("HTTP 502 for the Job's stage")


@pytest.mark.case(76)
@pytest.mark.parametrize(("end", "code"), [(Stage.COMPLETED, 0), (Stage.ERROR, 1), (Stage.CANCELED, 4)])
@pytest.mark.parametrize("ends_at", [700.0, 1500.0])
def test_ten_minutes_of_502_do_not_change_the_verdict(end: Stage, code: int, ends_at: float, world: World) -> None:
    """Also when the Job ends while nobody can see it."""
    world.hub.life = [
        (0.0, Stage.RUNNING),
        (300.0, BAD),
        (900.0, end if ends_at < 900 else Stage.RUNNING),
        (ends_at + 200, end),
    ]
    world.hub.log = [(float(second), STEP) for second in range(0, 1500, 50)]
    _, got = go(world, request(timeout="1h"))
    assert got == code
    assert world.hub.cancelled == []
    assert sum("The Hub does not answer" in line for line in world.console.said) == 1


@pytest.mark.case(76)
@pytest.mark.parametrize(("minutes", "code"), [(20, 0), (29, 0), (40, 75)])
def test_half_an_hour_of_outage_is_the_end_of_the_watch_and_not_of_the_job(
    minutes: int, code: int, world: World
) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (60.0, BAD), (60.0 + minutes * 60, Stage.COMPLETED)]
    _, got = go(world, request(timeout="2h"))
    assert got == code
    assert world.hub.cancelled == []
    assert world.files.output_values["job-id"]
    if code == 75:
        assert 1800 <= world.clock.seconds <= 1920
        assert report_json(world)["reason"] == "lost-sight"


@pytest.mark.case(76)
def test_an_outage_is_asked_through_gently(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, BAD), (1210.0, Stage.COMPLETED)]
    go(world, request(timeout="1h"))
    assert world.hub.looks <= 60, "twenty minutes"


@pytest.mark.case(76)
def test_the_hubs_own_pause_is_kept(world: World) -> None:
    asked: list[float] = []
    look = world.hub.look

    def noted(ref: JobRef) -> JobState:
        asked.append(world.clock.seconds)
        return look(ref)

    world.hub.look = noted  # type: ignore[method-assign]
    hit, gone = (5.0, TransientHubError("HTTP 429", 240.0)), (40.0, Stage.RUNNING)
    world.hub.life = [(0.0, Stage.RUNNING), hit, gone, (1000.0, Stage.COMPLETED)]
    go(world)
    first = next(second for second in asked if second >= 5.0)
    assert first < 40.0
    assert asked[asked.index(first) + 1] - first >= 240


class CountingHub(FakeHub):
    """Counts what would be requests."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        object.__setattr__(self, "calls", Counter())

    def __getattribute__(self, name: str) -> Any:
        if name in {
            "whoami",
            "hardware",
            "submit",
            "look",
            "find",
            "cancel",
            "follow",
            "relabel",
            "job_owner",
            "published",
        }:
            object.__getattribute__(self, "calls")[name] += 1
        return super().__getattribute__(name)


@pytest.mark.case(76)
@pytest.mark.parametrize("gap", [20, 90, 3000])
def test_one_hour_costs_at_most_150_calls(gap: int, world: World) -> None:
    """With a log that flows, trickles or is silent; the connections of the log are counted too."""
    world.hub = CountingHub(world.clock)
    world.hub.life = [(0.0, Stage.SCHEDULING), (60.0, Stage.RUNNING), (3600.0, Stage.COMPLETED)]
    world.hub.log = [(float(second), STEP) for second in range(60, 3600, gap)]
    go(world, request(timeout="2h"))
    assert world.hub.feed is not None
    calls: Counter[str] = world.hub.calls
    print(dict(calls), world.hub.feed.resumed)
    assert calls.total() + world.hub.feed.resumed <= 150


@pytest.mark.case(86)
def test_each_five_minutes_there_is_a_word_about_stage_time_and_money(world: World) -> None:
    world.hub.flavors = (Flavor(name="cpu-basic", usd_per_minute=0.5),)
    world.hub.life = [(0.0, Stage.SCHEDULING), (700.0, Stage.RUNNING), (2400.0, Stage.COMPLETED)]
    world.hub.log = [(float(s), f" {s // 24}%|## | {s // 24}/100 [00:10<12:30,  1.0s/it]") for s in range(700, 2400, 5)]
    go(world, request(timeout="1h"))
    words = [line for line in world.console.said if " after " in line and " min" in line]
    assert len(words) == 7, words
    assert words[0].startswith("SCHEDULING after 5 min, waiting is not billed")
    assert all(line.startswith("RUNNING after ") and " so far" in line for line in words[2:])


@pytest.mark.case(71)
def test_no_hardware_in_time_is_cancelled_and_said_not_to_be_billed(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING)]
    world.hub.message = "Waiting for hardware"
    report, code = go(world, request(queue_timeout="3h", timeout="1h"))
    assert code == 75
    assert report.ref is not None
    assert world.hub.cancelled == [report.ref.id]
    assert 3 * 3600 <= world.clock.seconds <= 3 * 3600 + 60
    assert any("waiting was not billed" in line for line in world.console.said)
    assert world.hub.looks <= 3 * 130


@pytest.mark.case(85)
@pytest.mark.parametrize("closes", [True, False])
def test_late_lines_are_drained_for_a_bounded_time(closes: bool, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (100.0, Stage.COMPLETED)]
    world.hub.log = [(1.0, STEP), (9999.0, "never due")]  # the stream is open when the Job has ended
    follow = world.hub.follow

    def feed(ref: JobRef) -> Any:
        made: Any = follow(ref)

        def resume() -> None:
            made.script = [(world.clock.seconds + 4.0, "{'eval_loss': '0.25', 'epoch': '1'}")]
            made.closes = closes

        monkeypatch.setattr(made, "resume", resume)
        return made

    monkeypatch.setattr(world.hub, "follow", feed)
    report, code = go(world)
    assert code == 0
    assert "eval_loss" in {metric.name for metric in report.findings.metrics}
    assert world.clock.seconds <= 100 + 30 + 15 + 3
    said = any("end of the log was not seen" in problem for problem in report_json(world)["problems"])
    assert said is not closes


@pytest.mark.case(87)
def test_a_token_that_dies_leaves_the_job_and_says_so(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (50.0, RefusedByHub("Token not accepted", "The Hub answered 401.", ""))]
    _, code = go(world)
    assert (code, world.hub.cancelled) == (75, [])
    assert any("The Job may still run" in message for _, _, message in world.console.annotations)


@pytest.mark.case(88)
@pytest.mark.parametrize("skew", [-3600, 3600, 86_400])
def test_a_wall_clock_that_is_wrong_changes_no_wait(skew: int, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.clock, "now", lambda: START + timedelta(seconds=world.clock.seconds + skew))
    world.hub.life = [(0.0, Stage.SCHEDULING), (600.0, Stage.RUNNING), (1500.0, Stage.COMPLETED)]
    _, code = go(world, request(queue_timeout="20m", timeout="1h"))
    assert code == 0
    assert world.clock.seconds <= 1500 + 60
    assert report_json(world)["queued-s"] == 1.0, "the Hub's own count"


@pytest.mark.case(60, 62, 63, 64)
@pytest.mark.parametrize(
    ("stage", "message", "reason"),
    [
        (Stage.COMPLETED, "", Reason.COMPLETED),
        (Stage.ERROR, "Job failed with exit code: 1. Reason: Error", Reason.FAILED),
        (Stage.ERROR, "Job failed with exit code: 137. Reason: OOMKilled", Reason.OUT_OF_MEMORY),
        (Stage.ERROR, "job failed with exit code: 137", Reason.OUT_OF_MEMORY),
        (Stage.ERROR, "OOMKilled", Reason.OUT_OF_MEMORY),
        (Stage.ERROR, "Job failed with exit code: 13", Reason.FAILED),
        (Stage.ERROR, "Job timeout", Reason.TIMEOUT),
        (Stage.ERROR, "JOB TIMEOUT after 30 min", Reason.TIMEOUT),
        (Stage.ERROR, "", Reason.FAILED),
        (Stage.CANCELED, "", Reason.CANCELLED_ON_HUB),
        (Stage.CANCELED, "Job timeout", Reason.TIMEOUT),
        (Stage.DELETED, "", Reason.DELETED_ON_HUB),
    ],
)
def test_the_stage_and_its_message_are_the_reason(stage: Stage, message: str, reason: Reason) -> None:
    state = JobState(ref=JobRef(id="1", namespace="a", url=""), stage=stage, message=message)
    assert reason_of(state) is reason


@pytest.mark.case(60)
@pytest.mark.parametrize("lives", ["before", "after", "never"])
@pytest.mark.parametrize(("stage", "code"), [(Stage.COMPLETED, 0), (Stage.ERROR, 1), (Stage.DELETED, 4)])
def test_where_the_log_ends_is_no_verdict(lives: str, stage: Stage, code: int, world: World) -> None:
    at: dict[str, list[tuple[float, Step]]] = {"before": [(0.0, stage)], "after": [(0.0, Stage.RUNNING), (90.0, stage)]}
    world.hub.life = at.get(lives, [(0.0, Stage.RUNNING), (30.0, stage)])
    world.hub.log = [] if lives == "never" else [(1.0, STEP)]
    assert go(world)[1] == code


@pytest.mark.case(71, 76)
def test_a_job_that_nobody_can_see_is_not_cancelled_for_want_of_hardware(world: World) -> None:
    """It may have been running for long."""
    world.hub.life = [(0.0, Stage.SCHEDULING), (1.0, BAD), (900.0, Stage.RUNNING), (1000.0, Stage.COMPLETED)]
    _, code = go(world, request(queue_timeout="5m"))
    assert (code, world.hub.cancelled) == (0, [])


@pytest.mark.case(71)
@pytest.mark.parametrize(("again_s", "code"), [(1200.0, 0), (1600.0, 75)])
def test_a_second_wait_for_hardware_is_counted_anew(again_s: float, code: int, world: World) -> None:
    world.hub.life = [
        (0.0, Stage.RUNNING),
        (1000.0, Stage.SCHEDULING),
        (again_s, Stage.RUNNING),
        (again_s + 60, Stage.COMPLETED),
    ]
    _, got = go(world, request(queue_timeout="5m"))
    assert (got, len(world.hub.cancelled)) == (code, int(code == 75))
    assert world.clock.seconds >= 1300 or code == 0


GONE = JobGone("x")


@pytest.mark.case(64)
@pytest.mark.parametrize(
    "life",
    [
        [(0.0, Stage.RUNNING), (60.0, GONE), (100.0, Stage.RUNNING), (400.0, Stage.COMPLETED)],
        [(0.0, Stage.RUNNING), (60.0, GONE), (62.0, BAD), (150.0, GONE), (152.0, BAD), (200.0, Stage.COMPLETED)],
        [(0.0, Stage.RUNNING), (60.0, GONE), (600.0, Stage.COMPLETED)],
    ],
    ids=["a short one", "two with an outage between", "the list knows it"],
)
def test_a_404_is_not_yet_a_deleted_job(life: list[tuple[float, Step]], world: World) -> None:
    world.hub.life = life
    assert go(world)[1] == 0


@pytest.mark.case(64, 76)
def test_a_404_that_no_list_confirms_is_lost_sight(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (60.0, GONE)]
    find = world.hub.find

    def broken(namespace: str, labels: dict[str, str]) -> object:
        if world.clock.seconds > 60:
            raise BAD
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", broken)
    assert go(world)[1] == 75

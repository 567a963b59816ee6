"""Jobs of a launch that must not run, on fakes: each is cancelled, or left to the cleanup and named in the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow.steps import ON_GITHUB, go, report_json, request
from flow.test_twins import rival, twin
from hf_train.errors import Interrupted, TransientHubError
from hf_train.values import JobRef, Stage
from support.fakes import World


def deaf(world: World, monkeypatch: pytest.MonkeyPatch, until_s: float) -> None:
    """No cancel is taken before this second."""
    cancel = world.hub.cancel

    def late(ref: JobRef) -> None:
        if world.clock.seconds < until_s:
            raise TransientHubError("HTTP 500")
        cancel(ref)

    monkeypatch.setattr(world.hub, "cancel", late)


@pytest.mark.case(66, 69)
def test_an_own_job_too_many_is_cancelled_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rival(world, monkeypatch, twin(world, 7, -1.0))
    world.hub.life = [(0.0, Stage.RUNNING), (300.0, Stage.COMPLETED)]
    deaf(world, monkeypatch, 60.0)
    counts: dict[float, int] = {}
    world.clock.on_sleep = lambda now: counts.update({now: len(world.hub.cancelled)})
    _, code = go(world)
    assert (code, world.hub.cancelled) == (0, [world.hub.stored[0].ref.id])
    assert max(count for second, count in counts.items() if second < 150) == 1, "while the other one is followed"
    assert world.files.state is None


@pytest.mark.case(66, 69)
def test_what_is_never_cancelled_is_said_and_left_to_the_cleanup(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rival(world, monkeypatch, twin(world, 7, -1.0))
    deaf(world, monkeypatch, 1e9)
    report, code = go(world)
    assert code == 0
    own = world.hub.stored[0].ref.id
    assert any(own in problem and "may still run" in problem for problem in report_json(world)["problems"])
    assert report.ref is not None
    assert world.files.state is not None
    assert (world.files.state["nonce"], world.files.state["spare"]) == ("nonce1", report.ref.id)
    assert world.clock.seconds < 120


@pytest.mark.case(71)
@pytest.mark.parametrize("until_s", [330.0, 1e9])
@pytest.mark.parametrize("why", ["queue", "watch"])
def test_a_time_out_whose_cancel_is_not_taken_at_once(
    why: str, until_s: float, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING if why == "queue" else Stage.RUNNING)]
    deaf(world, monkeypatch, until_s)
    flags = {"queue_timeout": "5m"} if why == "queue" else {"watch_timeout": "5m", "on_watch_timeout": "cancel"}
    report, code = go(world, request(ON_GITHUB, None, **flags))
    assert (code, report.ref is not None) == (75, True)
    said = any("may still run" in problem for problem in report_json(world)["problems"])
    late = until_s > 1e6
    assert (said, world.files.state is not None, len(world.hub.cancelled)) == (late, late, 0 if late else 1)
    assert not (world.files.state or {}).get("spare")


@pytest.mark.case(66)
@pytest.mark.parametrize("late_s", [50.0, 200.0])
def test_a_post_that_takes_effect_late_makes_no_second_job(late_s: float, world: World) -> None:
    world.hub.submit_errors = [TransientHubError("timed out")]
    world.hub.life = [(0.0, Stage.RUNNING), (180.0, Stage.COMPLETED)]

    def effect(now: float) -> None:
        if now >= late_s and not world.hub.existing and world.hub.stored:
            ref = JobRef(id="f" * 24, namespace="alice", url="https://hub.test/jobs/alice/f")
            world.hub.existing = [replace(world.hub.stored[0], ref=ref)]

    world.clock.on_sleep = effect
    report, code = go(world)
    assert (code, report.ref) == (0, world.hub.stored[0].ref)
    if late_s < 180:
        assert set(world.hub.cancelled) == {"f" * 24}
    assert world.files.state is None


@pytest.mark.case(55, 66)
def test_a_signal_after_an_unclear_launch_leaves_the_cleanup_armed(world: World) -> None:
    world.hub.submit_errors = [TransientHubError("timed out")]
    world.hub.life = [(0.0, Stage.RUNNING)]

    def strike(now: float) -> None:
        if now > 60:
            world.clock.on_sleep = None
            raise Interrupted(15)

    world.clock.on_sleep = strike
    report, code = go(world)
    assert (code, world.hub.cancelled) == (143, [world.hub.stored[0].ref.id])
    assert any("a second Job may run" in problem for problem in report.problems)
    assert world.files.state is not None

"""What a launch may leave behind is never forgotten: the state file stays, or it is waited for, or it is cancelled."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from flow.steps import go, request
from flow.test_node_groups import ended, nodes
from hf_train.errors import Interrupted, LostSight, RefusedByHub, TransientHubError
from hf_train.flow import pipeline, runs
from hf_train.report import verdict_of
from hf_train.values import JobRef, JobSpec, JobState, Reason, Secret, Stage
from support.fakes import World

LOST = TransientHubError("timed out")


@pytest.mark.case(66)
def test_a_signal_after_a_post_without_an_answer_leaves_the_cleanup_armed(world: World) -> None:
    world.hub.submit_errors = [LOST]
    done: list[float] = []

    def strike(now: float) -> None:
        if len(world.hub.submitted) == 2 and not done:
            done.append(now)
            raise Interrupted(signal.SIGTERM)

    world.clock.on_sleep = strike
    _, code = go(world)
    assert code == 143
    assert world.files.state is not None
    assert world.files.state["job-id"] == "", "the cleanup looks for a minute, not at one Job"


@pytest.mark.case(66)
def test_a_refusal_after_a_post_without_an_answer_is_not_the_last_word(world: World) -> None:
    world.hub.submit_errors = [LOST]
    real = world.hub.submit

    def poor(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        if len(world.hub.submitted) == 2:
            raise RefusedByHub("No credit", "The Hub answered 402.", "Add credit.")
        return real(spec, secrets)

    world.hub.submit = poor  # type: ignore[method-assign]
    with pytest.raises(LostSight, match="402"):
        pipeline.run(nodes(), world.ports)
    assert world.files.state is not None
    assert world.clock.seconds >= 60, "it was looked for as long as a POST may be late"


@pytest.mark.case(66)
@pytest.mark.parametrize("count", [1, 2])
def test_a_detached_run_waits_out_a_post_without_an_answer(world: World, count: int) -> None:
    world.hub.submit_errors = [LOST]
    world.hub.life = [(0.0, Stage.RUNNING)]
    report, code = go(world, nodes(count, mode="detach") if count > 1 else request(mode="detach"))
    assert (code, report.outcome and report.outcome.reason) == (0, Reason.DETACHED)
    assert world.clock.seconds >= 60
    assert world.files.state is None


@pytest.mark.case(54)
@pytest.mark.parametrize("where", ["hf_train.flow.pipeline.LogReader", "hf_train.flow.pipeline.Strays.settle"])
def test_a_signal_between_the_launch_and_the_watch_or_after_it_is_not_lost(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def struck(*_args: object, **_more: object) -> None:
        raise Interrupted(signal.SIGTERM)

    world.hub.life = [(0.0, Stage.RUNNING)]
    monkeypatch.setattr(where, struck)
    _, code = go(world, request(mode="detach") if "settle" in where else None)
    assert code == 143
    assert ended(world) == {0: True}
    assert "Cancelled with the workflow" in world.pulls.bodies[-1]
    assert world.files.state is None


@pytest.mark.parametrize("first", [Stage.ERROR, Stage.COMPLETED])
def test_the_state_file_spares_no_node_that_is_owed_a_cancel(world: World, first: Stage) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, first)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}

    def deaf(ref: JobRef) -> None:
        raise TransientHubError(f"HTTP 500 for {ref.id}")

    world.hub.cancel = deaf  # type: ignore[method-assign]
    go(world, nodes())
    assert world.files.state is not None
    (owed,) = (one.ref.id for one in world.hub.stored if one.node == 1)
    assert owed not in world.files.state.get("spare", "").split()


def test_keep_is_too_late_once_the_rest_of_a_failed_group_is_being_cancelled(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]}
    real, tried = world.hub.cancel, list[str]()

    def struck(ref: JobRef) -> None:
        tried.append(ref.id)
        if len(tried) == 1:
            raise Interrupted(signal.SIGTERM)
        real(ref)

    world.hub.cancel = struck  # type: ignore[method-assign]
    report, _ = go(world, nodes(on_cancel="keep"))
    assert report.outcome is not None
    assert report.outcome.reason is Reason.CANCELLED
    assert ended(world)[0]


@pytest.mark.parametrize("asked", [{"retry": "1"}, {"smoke": "args: --max_steps 5"}])
def test_no_further_job_beside_one_that_may_still_run(world: World, asked: dict[str, Any]) -> None:
    """A launch lost its answer and made a second Job, whose cancel the Hub never confirms."""
    world.hub.submit_errors = [LOST]
    world.hub.submit_stores_before_error = True
    find = world.hub.find

    def late(namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        found = find(namespace, labels)
        if len(world.hub.submitted) == 1:
            return []
        return found

    def deaf(ref: JobRef) -> None:
        raise TransientHubError(f"HTTP 500 for {ref.id}")

    world.hub.find, world.hub.cancel = late, deaf  # type: ignore[method-assign]
    ends = Stage.COMPLETED if "smoke" in asked else Stage.ERROR
    world.hub.life = [(0.0, Stage.RUNNING), (120.0, ends)]
    world.hub.message = "" if "smoke" in asked else "Node was lost"
    report = runs.run(request(max_cost="100", **asked), world.ports)
    assert len(world.hub.submitted) == 2, "the lost one and the one after it"
    assert any("may still run" in words for words in report.problems)
    assert world.files.state is not None
    assert int(verdict_of(report).code) != 0

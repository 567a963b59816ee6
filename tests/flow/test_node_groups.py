"""Several nodes as one Job, on fakes: all of them completed, or the run failed and nothing of it runs on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from flow.steps import ON_GITHUB, go, report_json, request
from hf_train.errors import Interrupted, JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow import pipeline
from hf_train.flow.nodes import SETTLE_S
from hf_train.flow.prepare import Request, prepare
from hf_train.report import Report
from hf_train.values import JobRef, JobSpec, JobState, Reason, Secret, Stage
from support.fakes import World


def nodes(count: int = 2, **flags: str) -> Request:
    return request(ON_GITHUB, None, nodes=str(count), **flags)


def ended(world: World) -> dict[int, bool]:
    """Whether each node's Job was cancelled."""
    return {one.node: one.ref.id in world.hub.cancelled for one in world.hub.stored}


def seen(report: Report) -> list[tuple[int, str]]:
    return [(one.node, one.stage.value) for one in report.nodes]


def test_all_complete(world: World) -> None:
    report, code = go(world, nodes(3))
    assert (code, seen(report)) == (0, [(0, "COMPLETED"), (1, "COMPLETED"), (2, "COMPLETED")])
    assert [one[0].labels["hft-node"] for one in world.hub.submitted] == ["2", "1", "0"], "the first node is last"
    groups = {(spec.network.group, spec.labels["hft-nonce"]) for spec, _ in world.hub.submitted if spec.network}
    assert groups == {("hft-nonce1", "nonce1")}
    assert [spec.network.aliases for spec, _ in world.hub.submitted if spec.network] == [
        ("node-2",), ("node-1",), ("node-0",)
    ]  # fmt: skip
    assert report.ref is not None
    assert report.ref.id == world.hub.stored[2].ref.id
    assert (world.hub.cancelled, world.files.state) == ([], None)
    document = report_json(world)
    assert [one["node"] for one in document["nodes"]] == [0, 1, 2]
    assert document["cost-usd"] == pytest.approx(3 * 0.000167)
    assert "| 1 | " in world.files.summaries[-1]


def test_one_node_is_the_plain_path(world: World) -> None:
    report, code = go(world, request())
    assert (code, report.nodes, len(world.hub.submitted)) == (0, (), 1)
    assert world.hub.submitted[0][0].network is None
    assert report_json(world)["nodes"] == []


@pytest.mark.parametrize("late_s", [0.0, 60.0])
def test_a_node_that_fails_ends_the_run_and_the_others(late_s: float, world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.hub.node_lives = {2: [(0.0, Stage.RUNNING), (5.0 + late_s, Stage.ERROR)]}
    world.hub.messages = {2: "Job failed with exit code: 3. Reason: Error"}
    world.hub.logs = {2: [(0.0, "epoch 1"), (0.0, "RuntimeError: CUDA error: an illegal memory access")]}
    report, code = go(world, nodes(3))
    assert (code, ended(world)) == (1, {0: True, 1: True, 2: False})
    assert world.clock.seconds < late_s + 60
    assert seen(report) == [(0, "CANCELED"), (1, "CANCELED"), (2, "ERROR")]
    assert report.outcome is not None
    assert report.outcome.reason is Reason.FAILED
    document = report_json(world)
    assert document["headline"] == "Training failed with exit code 3"
    assert (document["stage"], document["exit-code"]) == ("ERROR", 1)
    assert any("illegal memory access" in line for line in world.files.log_lines), "its last lines"
    assert any("the last lines of node 2" in line for line in world.files.log_lines)
    assert "node 2: Job failed with exit code: 3" in world.files.summaries[-1]
    assert world.files.state is None


@pytest.mark.parametrize(
    ("stage", "message", "reason", "expected"),
    [
        (Stage.CANCELED, "", Reason.CANCELLED_ON_HUB, 4),
        (Stage.ERROR, "Job timeout", Reason.TIMEOUT, 5),
        (Stage.ERROR, "Job failed with exit code: 137. Reason: OOMKilled", Reason.OUT_OF_MEMORY, 1),
        (Stage.DELETED, "", Reason.DELETED_ON_HUB, 4),
    ],
)
def test_the_end_of_a_node_is_the_end_of_the_run(
    stage: Stage, message: str, reason: Reason, expected: int, world: World
) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (20.0, stage)]}
    world.hub.messages = {1: message}
    report, code = go(world, nodes())
    assert report.outcome is not None
    assert (code, report.outcome.reason, ended(world)[0]) == (expected, reason, True)


def test_the_first_node_fails_and_the_others_are_cancelled(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, Stage.ERROR)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}
    world.hub.messages = {0: "Job failed with exit code: 2. Reason: Error"}
    report, code = go(world, nodes())
    assert (code, ended(world)) == (1, {0: False, 1: True})
    assert seen(report) == [(0, "ERROR"), (1, "CANCELED")]
    assert report_json(world)["headline"] == "Training failed with exit code 2"


def test_who_failed_first_is_the_reason_although_it_is_seen_last(world: World) -> None:
    """Node 0 dies of node 1: its stage is seen first, and node 1's is a moment late."""
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, Stage.ERROR)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (11.5, Stage.ERROR)]}
    world.hub.messages = {0: "Job failed with exit code: 1. Reason: Error", 1: "Job failed with exit code: 77."}
    real = world.hub._state

    def earlier(ref: JobRef, stage: Stage) -> JobState:
        state = real(ref, stage)
        first = state.node == 1 and state.finished_at is not None
        return replace(state, finished_at=state.created_at) if first else state

    world.hub._state = earlier  # type: ignore[method-assign]
    report, code = go(world, nodes())
    assert code == 1
    assert report_json(world)["headline"] == "Training failed with exit code 77"
    assert report.state is not None
    assert report.state.message.startswith("node 1: ")


def test_a_node_that_outlives_the_first_one(world: World) -> None:
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (90.0, Stage.COMPLETED)]}
    _, code = go(world, nodes())
    assert (code, world.hub.cancelled) == (0, [])


def test_a_node_that_does_not_end_is_cancelled_and_the_run_is_not_green(world: World) -> None:
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}
    report, code = go(world, nodes())
    assert (code, ended(world)) == (1, {0: False, 1: True})
    assert SETTLE_S < world.clock.seconds < SETTLE_S + 120
    assert report.state is not None
    assert "still ran" in report.state.message


def test_a_node_that_fails_after_the_first_one_completed(world: World) -> None:
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (30.0, Stage.ERROR)]}
    world.hub.messages = {1: "Job failed with exit code: 9. Reason: Error"}
    _, code = go(world, nodes())
    assert (code, report_json(world)["headline"]) == (1, "Training failed with exit code 9")


def test_a_node_without_hardware_does_not_keep_the_others_waiting(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.hub.node_lives = {1: [(0.0, Stage.SCHEDULING)]}
    report, code = go(world, nodes(queue_timeout="5m"))
    assert report.outcome is not None
    assert (code, report.outcome.reason) == (75, Reason.QUEUE_TIMEOUT)
    assert ended(world) == {0: True, 1: True}
    assert 300 <= world.clock.seconds < 360


def test_a_hub_that_does_not_answer_about_a_node(world: World) -> None:
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING), (2.0, TransientHubError("HTTP 502")), (60.0, Stage.COMPLETED)]}
    world.hub.life = [(0.0, Stage.RUNNING), (30.0, Stage.COMPLETED)]
    _, code = go(world, nodes())
    assert (code, world.hub.cancelled) == (0, [])


@pytest.mark.parametrize("listed", [True, False])
def test_a_node_that_is_gone(listed: bool, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (200.0, Stage.COMPLETED)]
    world.hub.node_lives = {
        1: [(0.0, Stage.RUNNING), (5.0, JobGone("x")), (120.0, Stage.COMPLETED if listed else JobGone("x"))]
    }
    find = world.hub.find

    def without(namespace: str, labels: Mapping[str, str]) -> list[JobState]:
        return [replace(one, stage=Stage.RUNNING) for one in find(namespace, labels) if listed or not one.node]

    monkeypatch.setattr(world.hub, "find", without)
    _, code = go(world, nodes(reuse="never"))
    assert (code, ended(world)[0]) == ((0, False) if listed else (4, True))


def test_a_refusal_ends_the_nodes_that_were_launched(world: World) -> None:
    world.hub.submit_errors = []
    real = world.hub.submit

    def second(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        if len(world.hub.submitted) == 2:
            raise RefusedByHub("Payment required", "There is no credit.", "Add some.")
        return real(spec, secrets)

    world.hub.submit = second  # type: ignore[method-assign]
    with pytest.raises(RefusedByHub, match=r"node 0 of 3; those before it were cancelled"):
        pipeline.run(nodes(3), world.ports)
    assert ended(world) == {2: True, 1: True}
    assert world.files.state is None


def test_a_refusal_whose_cancel_is_not_taken_leaves_it_to_the_cleanup(world: World) -> None:
    real = world.hub.submit

    def second(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        if world.hub.submitted:
            raise RefusedByHub("Payment required", "There is no credit.", "Add some.")
        return real(spec, secrets)

    def deaf(ref: JobRef) -> None:
        raise TransientHubError("HTTP 500")

    world.hub.submit = second  # type: ignore[method-assign]
    world.hub.cancel = deaf  # type: ignore[method-assign]
    with pytest.raises(LostSight, match="may still run"):
        pipeline.run(nodes(), world.ports)
    assert world.files.state is not None
    assert (world.files.state["nodes"], world.files.state["job-id"]) == ("2", "")


@pytest.mark.parametrize("stored", [True, False])
def test_a_post_without_an_answer(stored: bool, world: World) -> None:
    """Of the second node: it is found by its own spec, or sent once more; never one too many."""
    real = world.hub.submit

    def odd(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        if len(world.hub.submitted) == 1:
            if stored:
                real(spec, secrets)
            else:
                world.hub.submitted.append((spec, {}))
            raise TransientHubError("timed out")
        return real(spec, secrets)

    world.hub.submit = odd  # type: ignore[method-assign]
    report, code = go(world, nodes())
    assert (code, [one.node for one in world.hub.stored], world.hub.cancelled) == (0, [1, 0], [])
    assert len(report.nodes) == 2


def test_a_post_that_takes_effect_late_is_cancelled_and_the_nodes_are_not(world: World) -> None:
    world.hub.submit_errors = [TransientHubError("timed out")]
    world.hub.life = [(0.0, Stage.RUNNING), (180.0, Stage.COMPLETED)]

    def effect(now: float) -> None:
        if now >= 60 and not world.hub.existing and world.hub.stored:
            twin = next(one for one in world.hub.stored if one.node == 1)
            world.hub.existing = [
                replace(twin, ref=JobRef(id="f" * 24, namespace="alice", url="u"), stage=Stage.RUNNING)
            ]

    world.clock.on_sleep = effect
    _, code = go(world, nodes())
    assert (code, set(world.hub.cancelled)) == (0, {"f" * 24})


@pytest.mark.parametrize("at_s", [3.0, 40.0])
def test_a_signal_cancels_all_nodes(at_s: float, world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.clock.on_sleep = _signal_at(at_s)
    report, code = go(world, nodes(4))
    assert (code, set(ended(world).values())) == (143, {True})
    assert {stage for _, stage in seen(report)} == {"CANCELED"}
    assert world.clock.seconds < at_s + 8
    assert world.files.state is None


def test_a_signal_while_the_last_node_is_waited_for(world: World) -> None:
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}
    world.clock.on_sleep = _signal_at(30.0)
    _, code = go(world, nodes())
    assert (code, ended(world)[1]) == (143, True)


def test_a_signal_between_two_posts_cancels_what_is_there(world: World) -> None:
    real = world.hub.submit

    def second(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        if world.hub.submitted:
            raise Interrupted(signal.SIGTERM)
        return real(spec, secrets)

    world.hub.submit = second  # type: ignore[method-assign]
    _, code = go(world, nodes())
    assert (code, ended(world)) == (143, {1: True})
    assert world.clock.seconds < 8
    assert world.files.state is not None, "the first node may still appear: that is left to the cleanup"


def test_a_signal_with_keep_leaves_all(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    world.clock.on_sleep = _signal_at(20.0)
    _, code = go(world, nodes(on_cancel="keep"))
    assert (code, world.hub.cancelled) == (143, [])


def test_an_unconfirmed_cancel_of_a_node_is_left_to_the_cleanup(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, Stage.ERROR)]
    world.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}

    def deaf(ref: JobRef) -> None:
        raise TransientHubError("HTTP 500")

    monkeypatch.setattr(world.hub, "cancel", deaf)
    _, code = go(world, nodes())
    assert code == 1
    assert any("may still run" in problem for problem in report_json(world)["problems"])
    assert world.files.state is not None
    assert world.files.state["nonce"] == "nonce1"


def test_a_limit_of_the_watch_cancels_all(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world, nodes(watch_timeout="5m", on_watch_timeout="cancel"))
    assert (code, ended(world)) == (75, {0: True, 1: True})


def test_a_watch_that_detaches_leaves_all(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world, nodes(watch_timeout="5m", on_watch_timeout="detach"))
    assert (code, world.hub.cancelled) == (0, [])


def test_the_cost_is_that_of_all_nodes(world: World) -> None:
    plan = prepare(nodes(4, timeout="1h", max_cost="0.05"), world.ports).plan
    assert plan.budget.worst_case_usd == pytest.approx(4 * 60 * 0.000167)
    with pytest.raises(Exception, match="4 nodes of cpu-basic"):
        prepare(nodes(4, timeout="1h", max_cost="0.03"), world.ports)


def group(world: World, stages: tuple[Stage, ...], run: str = "99") -> list[JobState]:
    """Jobs of another launch of the training that `go(nodes(2))` launches."""
    specs = prepare(nodes(len(stages)), world.ports).plan.specs
    return [
        JobState(
            ref=JobRef(id=f"{number:024d}", namespace="alice", url=f"https://hub.test/{number}"),
            stage=stage,
            created_at=world.clock.now(),
            labels={**spec.labels, "hft-nonce": "other", "hft-run": run},
            image=spec.image,
            command=spec.command,
            flavor=spec.flavor,
            env=spec.env,
            volumes=spec.volumes,
        )
        for number, (spec, stage) in enumerate(zip(specs, stages, strict=True), 7)
    ]


def test_a_group_that_runs_is_attached_to_as_one(world: World) -> None:
    world.hub.existing = group(world, (Stage.RUNNING, Stage.RUNNING))
    report, code = go(world, nodes())
    assert (code, world.hub.submitted, len(report.nodes)) == (0, [], 2)
    assert report.reused
    assert {labels["hft-nonce"] for _, labels in world.hub.relabelled} == {"nonce1"}
    assert [labels["hft-node"] for _, labels in world.hub.relabelled] == ["1", "0"], "the first is last"


@pytest.mark.parametrize(
    ("stages", "reused"),
    [
        ((Stage.RUNNING, Stage.ERROR), False),
        ((Stage.RUNNING, Stage.CANCELED), False),
        ((Stage.COMPLETED, Stage.ERROR), False),
        ((Stage.COMPLETED, Stage.COMPLETED), True),
        ((Stage.RUNNING, Stage.COMPLETED), True),
    ],
)
def test_a_group_that_did_not_complete_is_no_twin(stages: tuple[Stage, ...], reused: bool, world: World) -> None:
    world.hub.existing = group(world, stages)
    world.hub.life = [(0.0, Stage.COMPLETED)]
    report, code = go(world, nodes())
    assert (code, bool(report.reused), len(world.hub.submitted)) == (0, reused, 0 if reused else 2)


def test_half_a_group_is_no_twin(world: World) -> None:
    world.hub.existing = group(world, (Stage.RUNNING, Stage.RUNNING))[:1]
    report, _ = go(world, nodes())
    assert (report.reused, len(world.hub.submitted)) == ("", 2)


def test_a_single_job_of_the_same_command_is_no_twin_of_a_group(world: World) -> None:
    world.hub.existing = group(world, (Stage.RUNNING, Stage.RUNNING))
    report, _ = go(world, request())
    assert (report.reused, len(world.hub.submitted)) == ("", 1)


def test_of_two_groups_the_younger_one_goes_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = group(world, (Stage.RUNNING, Stage.RUNNING))
    find = world.hub.find

    def later(namespace: str, labels: Mapping[str, str]) -> object:
        if len(world.hub.submitted) == 2:
            world.hub.existing = jobs
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", later)
    world.clock.sleep(5)
    report, code = go(world, nodes())
    assert (code, ended(world)) == (0, {0: True, 1: True})
    assert report.ref is not None
    assert report.ref.id == jobs[0].ref.id


def _signal_at(second: float) -> Callable[[float], None]:
    done: list[float] = []

    def on_sleep(now: float) -> None:
        if now >= second and not done:
            done.append(now)
            raise Interrupted(signal.SIGTERM)

    return on_sleep

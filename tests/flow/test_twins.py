"""Launches that race, on fakes: the oldest Job stays, the younger launch cancels its own and follows the oldest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, request
from hf_train.errors import Interrupted, LostSight, RefusedByHub, TransientHubError
from hf_train.flow.prepare import prepare
from hf_train.inputs.across import LEASE_MOUNT
from hf_train.values import JobRef, JobState, Stage, Volume
from support.fakes import START, World


def twin(
    world: World, number: int, seconds: float, stage: Stage = Stage.RUNNING, labels: Mapping[str, str] | None = None
) -> JobState:
    """A Job of the very training that `go` launches, made some seconds after the start."""
    spec = prepare(request(), world.ports).plan.job
    return JobState(
        ref=JobRef(id=f"{number:024d}", namespace="alice", url=""),
        stage=stage,
        created_at=START + timedelta(seconds=seconds),
        labels={**spec.labels, "hft-nonce": f"other{number}", **(labels or {})},
        image=spec.image,
        command=spec.command,
        flavor=spec.flavor,
        env=spec.env,
        secrets=spec.secrets,
        volumes=spec.volumes,
    )


def rival(world: World, monkeypatch: pytest.MonkeyPatch, *jobs: JobState) -> None:
    """Jobs that show only once our own POST was sent."""
    find = world.hub.find

    def later(namespace: str, labels: dict[str, str]) -> object:
        if world.hub.submitted:
            world.hub.existing = list(jobs)
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", later)


PLANTED: Mapping[str, object] = {
    "image": "evil",
    "command": ("evil",),
    "flavor": "evil",
    "env": {"PYTHONUNBUFFERED": "1", "LR": "999"},
    "secrets": ("HF_TOKEN", "OTHER"),
    "volumes": (Volume(kind="dataset", source="alice/other", mount="/data"),),
}


@pytest.mark.case(70)
@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_job_with_our_mark_is_neither_adopted_nor_cancelled(what: str, world: World) -> None:
    changes: dict[str, Any] = {what: PLANTED[what]}
    world.hub.existing = [replace(twin(world, 7, -1.0, labels={"hft-nonce": "nonce1", "hft-key": "k"}), **changes)]
    world.hub.submit_errors = [TransientHubError("reset")]
    world.hub.submit_stores_before_error = True
    report, code = go(world)
    assert (code, world.hub.cancelled, len(world.hub.submitted)) == (0, [], 1)
    assert report.ref == world.hub.stored[0].ref


@pytest.mark.case(69)
def test_with_or_without_a_lease_the_training_is_the_same(world: World) -> None:
    older = twin(world, 7, -5.0)
    lease = Volume(kind="bucket", source="alice/jobs-artifacts", mount=LEASE_MOUNT, read_only=False, path="leases/x")
    env = {**older.env, "HF_TRAIN_LEASE": "600:x"}
    world.hub.existing = [replace(older, env=env, volumes=(*older.volumes, lease))]
    report, _ = go(world)
    assert report.ref == older.ref


@pytest.mark.case(69)
def test_a_younger_launch_cancels_its_own_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    older = twin(world, 7, -1.0)
    rival(world, monkeypatch, older)
    report, code = go(world)
    own = world.hub.stored[0].ref.id
    assert (code, world.hub.cancelled) == (0, [own])
    assert report.ref == older.ref
    assert "already runs this very training" in report.reused
    assert world.hub.relabelled[0][0] == older.ref.id


@pytest.mark.case(69)
def test_an_older_launch_keeps_its_own_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rival(world, monkeypatch, twin(world, 7, +1.0))
    report, code = go(world)
    assert (code, world.hub.cancelled, report.reused) == (0, [], "")


@pytest.mark.case(69)
def test_of_two_jobs_of_one_moment_the_smaller_id_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rival(world, monkeypatch, twin(world, 0, 0.0))
    report, _ = go(world)
    assert report.ref is not None
    assert report.ref.id == f"{0:024d}"


@pytest.mark.case(70)
@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_older_job_is_ignored(what: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Any] = {what: PLANTED[what]}
    planted = replace(twin(world, 7, -1.0), **changes)
    rival(world, monkeypatch, planted)
    report, _ = go(world)
    assert (world.hub.cancelled, report.reused) == ([], "")


def test_the_oldest_of_several_live_jobs_is_attached_to(world: World) -> None:
    world.hub.existing = [twin(world, 7, -5.0), twin(world, 8, -9.0), twin(world, 9, -20.0, Stage.ERROR)]
    report, _ = go(world)
    assert report.ref is not None
    assert (report.ref.id, world.hub.submitted) == (f"{8:024d}", [])


@pytest.mark.case(69)
def test_a_list_that_never_shows_the_own_job_decides_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    find = world.hub.find
    monkeypatch.setattr(world.hub, "find", lambda ns, labels: [] if "hft-key" in labels else find(ns, labels))
    report, code = go(world)
    assert (code, world.hub.cancelled, report.reused) == (0, [], "")


@pytest.mark.case(69)
def test_a_cancel_that_fails_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rival(world, monkeypatch, twin(world, 7, -1.0))

    def refuse(ref: JobRef) -> None:
        raise TransientHubError("HTTP 503")

    monkeypatch.setattr(world.hub, "cancel", refuse)
    go(world)
    assert any(title == "Launched twice" for _, title, _ in world.console.annotations)


@pytest.mark.case(69)
def test_the_job_of_another_pull_request_keeps_its_labels(world: World) -> None:
    world.hub.existing = [twin(world, 7, -5.0, labels={"hft-family": "another"})]
    report, _ = go(world)
    assert "Attached" in report.reused
    assert world.hub.relabelled == []


@pytest.mark.case(69)
def test_an_owner_keeps_what_the_first_run_wished(world: World) -> None:
    world.hub.existing = [twin(world, 7, -5.0, labels={"hft-mode": "detach", "hft-run": "1"})]
    go(world)
    ((_, labels),) = world.hub.relabelled
    assert (labels["hft-mode"], labels["hft-run"], labels["hft-nonce"]) == ("detach", ON_GITHUB.run_id, "nonce1")


def strike(world: World, signum: int = 15) -> None:
    """A signal while the Job is followed."""

    def now(seconds: float) -> None:
        if seconds > 30:
            world.clock.on_sleep = None
            raise Interrupted(signum)

    world.clock.on_sleep = now
    world.hub.life = [(0.0, Stage.RUNNING)]


@pytest.mark.case(54, 69)
@pytest.mark.parametrize("how", ["signal", "queue", "watch"])
@pytest.mark.parametrize("whose", ["another family's", "taken over", "ours by now"])
def test_only_the_owner_cancels(how: str, whose: str, world: World) -> None:
    family = {"hft-family": "another"} if whose == "another family's" else {}
    world.hub.existing = [twin(world, 7, -5.0, Stage.SCHEDULING, labels=family)]
    flags = {"queue_timeout": "1m"} if how == "queue" else {"watch_timeout": "1m", "on_watch_timeout": "cancel"}
    if how == "signal":
        strike(world)
    world.hub.life = [(0.0, Stage.SCHEDULING if how == "queue" else Stage.RUNNING)]
    if whose == "taken over":
        before, job = world.clock.on_sleep, world.hub.existing[0]

        def taken(seconds: float) -> None:
            if seconds > 20:
                world.hub.existing = [replace(job, labels={**job.labels, "hft-nonce": "theirs"})]
            if before:
                before(seconds)

        world.clock.on_sleep = taken
    report, code = go(world, request(ON_GITHUB, None, **flags))
    assert code == (143 if how == "signal" else 75)
    assert world.hub.cancelled == ([f"{7:024d}"] if whose == "ours by now" else [])
    assert report.outcome is not None
    assert report.outcome.cancel_confirmed == (whose == "ours by now")
    assert world.files.state is None


@pytest.mark.case(54)
def test_a_signal_does_not_wait_for_a_hub_that_does_not_say_whose_job_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    strike(world)
    monkeypatch.setattr(world.hub, "glance", lambda _ref: None)
    _, code = go(world)
    assert (code, len(world.hub.cancelled)) == (143, 1)


@pytest.mark.case(69)
@pytest.mark.parametrize("bad", [RefusedByHub("Refused", "The Hub answered 403.", ""), TransientHubError("HTTP 503")])
def test_jobs_that_cannot_be_listed_are_not_paid_for_again(
    bad: Exception, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = world.hub.find

    def closed(namespace: str, labels: dict[str, str]) -> object:
        if "hft-key" in labels:
            raise bad
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", closed)
    with pytest.raises(LostSight, match="runs already"):
        go(world)
    assert world.hub.submitted == []
    assert go(world, request(reuse="never"))[1] == 0


@pytest.mark.case(69, 74)
def test_a_job_in_a_stage_that_we_do_not_know_is_attached_to(world: World) -> None:
    paused = replace(twin(world, 7, -5.0, Stage.UNKNOWN), stage_text="PAUSED")
    world.hub.existing = [paused]
    report, _ = go(world)
    assert (report.ref, world.hub.submitted) == (paused.ref, [])

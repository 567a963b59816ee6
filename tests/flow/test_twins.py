"""Launches that race, on fakes: the oldest Job stays, the younger launch cancels its own and follows the oldest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, request
from hf_train.errors import TransientHubError
from hf_train.flow.prepare import prepare
from hf_train.values import JobRef, JobState, Stage
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
    )


def rival(world: World, monkeypatch: pytest.MonkeyPatch, *jobs: JobState) -> None:
    """Jobs that show only once our own POST was sent."""
    find = world.hub.find

    def later(namespace: str, labels: dict[str, str]) -> object:
        if world.hub.submitted:
            world.hub.existing = list(jobs)
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", later)


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
@pytest.mark.parametrize("what", ["image", "command", "flavor"])
def test_a_planted_older_job_is_ignored(what: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Any] = {what: ("evil",) if what == "command" else "evil"}
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

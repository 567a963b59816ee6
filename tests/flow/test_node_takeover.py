"""Which Jobs are the nodes of one launch: of two of one node, of a list that does not answer, of half a take-over."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from flow.steps import go
from flow.test_node_groups import ended, group, nodes
from hf_train.errors import Interrupted, TransientHubError
from hf_train.flow import pipeline
from hf_train.flow.prepare import prepare
from hf_train.report import Report
from hf_train.values import JobRef, JobState, Reason, Stage
from support.fakes import World


def _of(nonce: str, jobs: list[JobState]) -> list[JobState]:
    return [replace(one, labels={**one.labels, "hft-nonce": nonce}) for one in jobs]


def _stray(twin: JobState) -> JobState:
    """A newer Job of the same node, under the same nonce, that was cancelled."""
    assert twin.created_at is not None
    ref = JobRef(id=f"{twin.node:e>24}", namespace="alice", url="https://hub.test/stray")
    return replace(twin, ref=ref, stage=Stage.CANCELED, created_at=twin.created_at + timedelta(seconds=9))


def _resumed(world: World, first: JobState) -> Report:
    """What collect does, for ten minutes at most."""
    plan = replace(prepare(nodes(), world.ports).plan, detach=False)
    asked = nodes(on_cancel="keep", comment="never", watch_timeout="10m", on_watch_timeout="detach")
    return pipeline.resume(asked, world.ports, plan, None, first)


@pytest.mark.parametrize("of", [0, 1])
def test_a_cancelled_stray_beside_a_group_does_not_hide_it(of: int, world: World) -> None:
    """The strays of a pair, and of node 1 alone."""
    good = _of("other", group(world, (Stage.RUNNING, Stage.RUNNING)))
    world.hub.existing = [*good, *map(_stray, good[of:])]
    report, _ = go(world, nodes())
    assert (bool(report.reused), world.hub.submitted) == (True, [])
    assert [one.ref.id for one in report.nodes] == [one.ref.id for one in good]


def test_collect_follows_the_node_and_not_its_stray(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    good = _of("nonce1", group(world, (Stage.RUNNING, Stage.RUNNING)))
    stray, look = _stray(good[1]), world.hub.look
    world.hub.existing = [*good, stray]
    world.hub.life = [(0.0, Stage.RUNNING)]
    monkeypatch.setattr(world.hub, "look", lambda ref: stray if ref.id == stray.ref.id else look(ref))
    report = _resumed(world, good[0])
    assert world.hub.cancelled == []
    assert [one.ref.id for one in report.nodes] == [one.ref.id for one in good]


@pytest.mark.parametrize(("lost", "times"), [("502", 1), ("lags", 1), ("502", 99), ("lags", 99)])
def test_collect_of_a_failed_group_whose_list_is_late(
    lost: str, times: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = world.hub.existing = _of("nonce1", group(world, (Stage.ERROR, Stage.RUNNING)))
    world.hub.life, world.hub.node_lives = [(0.0, Stage.ERROR)], {1: [(0.0, Stage.RUNNING)]}
    find, asked = world.hub.find, list[int]()

    def late(namespace: str, labels: Mapping[str, str]) -> object:
        asked.extend([1] if "hft-nonce" in labels else [])
        if not asked or len(asked) > times:
            return find(namespace, labels)
        if lost == "502":
            raise TransientHubError("HTTP 502")
        return [one for one in find(namespace, labels) if not one.node]

    monkeypatch.setattr(world.hub, "find", late)
    report = _resumed(world, first)
    assert report.outcome is not None
    if times == 1:
        assert (report.outcome.reason, world.hub.cancelled) == (Reason.FAILED, [second.ref.id])
    else:
        assert report.outcome.reason is Reason.LOST_SIGHT, "so collect comes back to it"


def test_the_first_node_is_not_taken_over_without_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.existing = group(world, (Stage.RUNNING, Stage.RUNNING))
    relabel = world.hub.relabel

    def half(ref: JobRef, labels: Mapping[str, str]) -> None:
        if labels["hft-node"] == "1":
            raise TransientHubError("HTTP 502")
        relabel(ref, labels)

    monkeypatch.setattr(world.hub, "relabel", half)
    go(world, nodes())
    assert {one.labels["hft-nonce"] for one in world.hub.existing} == {"other"}


@pytest.mark.parametrize("taken", [0, 1])
def test_a_signal_cancels_the_nodes_that_were_not_taken_over(taken: int, world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    done: list[float] = []

    def newer_run(now: float) -> None:
        if now >= 20 and not done:
            done.append(now)
            one = next(one for one in world.hub.stored if one.node == taken)
            world.hub.relabel(one.ref, {**one.labels, "hft-nonce": "newer"})
            raise Interrupted(signal.SIGTERM)

    world.clock.on_sleep = newer_run
    _, code = go(world, nodes())
    assert (code, ended(world)) == (143, {taken: False, 1 - taken: True})

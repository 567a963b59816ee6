"""Which Jobs a newer push ends, which it waits for, and which it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, PULL, go, request
from hf_train.context import Context
from hf_train.errors import LostSight, TransientHubError
from hf_train.flow.prepare import Request, prepare
from hf_train.plan import family
from hf_train.values import SUPERSEDED, JobRef, JobState, Stage
from support.fakes import START, World

FAMILY = family(ON_GITHUB, ON_GITHUB.comment_key)
LABELS = {
    "hf-train": "1",
    "hft-repo": "octo-proj",
    "hft-family": FAMILY,
    "hft-sha": "9" * 40,
    "hft-run": "98",
    "hft-key": "other",
    "hft-nonce": "n",
}
OLDER = JobState(
    ref=JobRef(id="9" * 24, namespace="alice", url="https://hub.test/jobs/alice/9"),
    stage=Stage.RUNNING,
    created_at=START,
    labels=LABELS,
)


def ended(world: World) -> bool:
    return OLDER.ref.id in world.hub.cancelled


@pytest.mark.case(59)
def test_a_push_to_a_pull_request_ends_the_older_commits_job(world: World) -> None:
    world.hub.existing = [OLDER]
    _, code = go(world)
    assert code == 0
    assert ended(world)
    assert world.hub.relabelled == [(OLDER.ref.id, {**LABELS, SUPERSEDED: PULL.head_sha})]
    assert len(world.hub.submitted) == 1


@pytest.mark.case(59)
@pytest.mark.parametrize(
    "labels",
    [
        {"hft-family": "another"},
        {"hft-sha": PULL.head_sha},
        {"hft-sha": ""},
        {"hft-run": "99"},
        {"hft-run": "100"},
        {"hft-run": "not a number"},
        {"hft-repo": "octo-other"},
        {"hf-train": ""},
        {"hft-key": "OURS"},
    ],
)
def test_no_other_job_is_touched(labels: dict[str, str], world: World) -> None:
    ours = prepare(request(), world.ports).plan.key
    changed = {name: ours if value == "OURS" else value for name, value in {**LABELS, **labels}.items()}
    world.hub.existing = [replace(OLDER, labels=changed)]
    go(world)
    assert not ended(world)


@pytest.mark.case(59)
def test_an_ended_job_is_left(world: World) -> None:
    world.hub.existing = [replace(OLDER, stage=Stage.COMPLETED)]
    go(world)
    assert not ended(world)


@pytest.mark.parametrize(
    ("context", "flags", "ends"),
    [
        (ON_GITHUB, {"supersede": "keep"}, False),
        (replace(ON_GITHUB, pull=None, event="push", ref="refs/heads/main"), {}, False),
        (replace(ON_GITHUB, pull=None, event="push", ref="refs/heads/main"), {"supersede": "cancel"}, True),
    ],
)
def test_a_branch_is_asked_for(context: Context, flags: dict[str, Any], ends: bool, world: World) -> None:
    labels = {**LABELS, "hft-family": family(context, context.comment_key)}
    world.hub.existing = [replace(OLDER, labels=labels)]
    go(world, request(context, **flags))
    assert ended(world) is ends


@pytest.mark.case(59, 66)
def test_a_hub_that_cannot_say_what_runs_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.existing = [OLDER]
    find = world.hub.find

    def broken(namespace: str, labels: dict[str, str]) -> object:
        if "hft-family" in labels:
            raise TransientHubError("HTTP 503")
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", broken)
    _, code = go(world)
    assert code == 0
    assert any(title == "Supersede" for _, title, _ in world.console.annotations)


def queueing() -> Request:
    return request(supersede="queue")


def test_queue_waits_until_the_older_job_has_ended(world: World) -> None:
    world.hub.existing = [OLDER]
    submitted_at: list[float] = []

    def passes(now: float) -> None:
        if now > 1000 and world.hub.existing[0].stage is Stage.RUNNING:
            world.hub.existing = [replace(OLDER, stage=Stage.COMPLETED)]
        if world.hub.submitted and not submitted_at:
            submitted_at.append(now)

    world.clock.on_sleep = passes
    world.hub.life = [(0.0, Stage.SCHEDULING), (1100.0, Stage.COMPLETED)]
    _, code = go(world, queueing())
    assert (code, ended(world)) == (0, False)
    assert submitted_at[0] > 1000
    assert sum("supersede: queue" in line for line in world.console.said) == 4, "at once, then each five minutes"


def test_queue_gives_up_before_the_runner_does(world: World) -> None:
    world.hub.existing = [OLDER]
    with pytest.raises(LostSight, match="nothing was launched"):
        go(world, queueing())
    assert world.hub.submitted == []
    assert world.clock.seconds < 5.6 * 3600

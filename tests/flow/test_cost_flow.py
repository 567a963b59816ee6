"""What a run may cost, over its pull request and its day; and what it says that it cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flow.money import Life, MoneyHub
from flow.steps import ON_GITHUB, go, report_json, request
from hf_train.context import Context
from hf_train.errors import LostSight, RefusedByHub, RefusedByPolicy, TransientHubError
from hf_train.flow.prepare import prepare
from hf_train.ports import Survey
from hf_train.values import Flavor, JobRef, JobState, Snapshot, Stage
from support.fakes import START, World

FLAVORS = (Flavor(name="cpu-basic", usd_per_minute=0.1), Flavor(name="t4-small", gpus=1, usd_per_minute=1.0))
LABELS = {"hf-train": "1", "hft-repo": "octo-proj", "hft-pr": "7", "hft-minutes": "30", "hft-nonce": "other"}


def _job(number: int, stage: Stage = Stage.COMPLETED, **changes: Any) -> JobState:
    ref = JobRef(id=f"{number:024x}", namespace="alice", url="")
    state = JobState(
        ref=ref, stage=stage, created_at=START - timedelta(hours=1), running_s=600.0, flavor="cpu-basic", labels=LABELS
    )
    return replace(state, **changes)


@pytest.fixture
def hub(world: World) -> MoneyHub:
    """A Hub that counts money, in the world."""
    made = MoneyHub(world.clock, flavors=FLAVORS)
    world.hub = made
    return made


@pytest.mark.case(22)
def test_a_limit_of_the_pull_request_is_held_before_anything_is_sent(world: World, hub: MoneyHub) -> None:
    hub.existing = [_job(900), _job(901, Stage.RUNNING)]  # $1.00, and $3.00 at worst
    with pytest.raises(RefusedByPolicy, match="Over max-cost-per-pr"):
        go(world, request(max_cost_per_pr="6.99"))
    assert (hub.posts, world.workspace.uploads) == (0, [])
    assert "Not started: Over max-cost-per-pr" in world.pulls.bodies[-1]
    assert go(world, request(max_cost_per_pr="7"))[1] == 0


@pytest.mark.case(22)
def test_a_limit_of_the_day_is_held_outside_of_pull_requests_too(world: World, hub: MoneyHub) -> None:
    push = replace(ON_GITHUB, pull=None, event="push")
    hub.existing = [_job(900, labels={**LABELS, "hft-pr": ""})]
    with pytest.raises(RefusedByPolicy, match="Over max-cost-per-day"):
        go(world, request(push, max_cost_per_day="3.9"))
    assert go(world, request(push, max_cost_per_day="4"))[1] == 0


def test_a_live_job_that_is_attached_to_costs_nothing_more(world: World, hub: MoneyHub) -> None:
    hub.lives = [Life(seconds=9000)]
    asked = request(max_cost_per_pr="4", mode="detach")
    go(world, asked)
    report, code = go(world, replace(asked, nonce="nonce2"))
    assert (code, hub.posts) == (0, 1)
    assert "Attached" in report.reused


def test_a_job_that_came_while_the_code_was_sent_counts(world: World, hub: MoneyHub) -> None:
    upload = world.workspace.upload

    def slow(survey: Survey, namespace: str) -> Snapshot:
        hub.existing = [_job(999, Stage.RUNNING)]
        return upload(survey, namespace)

    world.workspace.upload = slow  # type: ignore[method-assign]
    with pytest.raises(RefusedByPolicy, match="Over max-cost-per-day"):
        go(world, request(max_cost_per_day="5"))
    assert hub.posts == 0


@pytest.mark.case(22)
def test_of_two_launches_at_once_the_later_one_gives_way(world: World, hub: MoneyHub) -> None:
    find = hub.find

    def late(namespace: str, labels: Any) -> Any:
        """The rival's Job shows only after ours was made."""
        if hub.posts and not hub.existing:
            hub.existing = [_job(0, Stage.SCHEDULING, created_at=START - timedelta(seconds=1))]
        return find(namespace, labels)

    hub.find = late  # type: ignore[method-assign]
    with pytest.raises(RefusedByPolicy, match="Other runs came first"):
        go(world, request(max_cost_per_day="5"))
    assert hub.cancelled == [f"{1:024x}"]
    assert world.files.state is None


def test_the_earlier_of_two_launches_stays(world: World, hub: MoneyHub) -> None:
    find = hub.find

    def late(namespace: str, labels: Any) -> Any:
        if hub.posts and not hub.existing:
            hub.existing = [_job(999, Stage.SCHEDULING, created_at=START + timedelta(seconds=1))]
        return find(namespace, labels)

    hub.find = late  # type: ignore[method-assign]
    assert go(world, request(max_cost_per_day="5"))[1] == 0
    assert hub.cancelled == []


def test_a_cancel_that_the_hub_does_not_confirm_is_not_forgotten(world: World, hub: MoneyHub) -> None:
    find = hub.find

    def late(namespace: str, labels: Any) -> Any:
        if hub.posts and not hub.existing:
            hub.existing = [_job(0, Stage.SCHEDULING, created_at=START - timedelta(seconds=1))]
        return find(namespace, labels)

    def refuse(ref: JobRef) -> None:
        raise RefusedByHub("Not allowed", ref.id)

    hub.find = late  # type: ignore[method-assign]
    hub.cancel = refuse  # type: ignore[method-assign]
    with pytest.raises(LostSight, match="did not confirm"):
        go(world, request(max_cost_per_day="5"))
    assert world.files.state is not None, "the cleanup step tries once more"


def test_a_list_that_cannot_be_read_stops_only_those_who_set_a_limit(world: World, hub: MoneyHub) -> None:
    find = hub.find

    def down(namespace: str, labels: Any) -> Any:
        if "hf-train" in labels:
            raise TransientHubError("HTTP 503")
        return find(namespace, labels)

    hub.find = down  # type: ignore[method-assign]
    with pytest.raises(RefusedByPolicy, match="could not be listed"):
        go(world, request(max_cost_per_day="100"))
    assert hub.posts == 0
    assert go(world)[1] == 0


def test_the_estimate_comes_from_earlier_jobs(world: World, hub: MoneyHub) -> None:
    go(world, request(reuse="never"))
    budget = prepare(request(), world.ports).plan.budget
    assert budget.estimate is not None
    assert (budget.estimate.seconds, budget.estimate.usd, budget.estimate.runs) == (60.0, 0.1, 1)


def test_the_cost_is_the_hubs_duration_and_the_pull_requests_sum(world: World, hub: MoneyHub) -> None:
    hub.lives = [Life(seconds=90)]
    go(world, request(reuse="never"))
    document = report_json(world)
    assert (document["cost-usd"], document["pr-cost-usd"]) == (0.2, None)
    assert "this pull request so far" not in world.pulls.bodies[-1]
    go(world, request(reuse="never"))
    document = report_json(world)
    assert (document["cost-usd"], document["pr-cost-usd"]) == (0.2, 0.4)
    assert "cost $0.20 · this pull request so far $0.40" in world.pulls.bodies[-1]


def test_a_sum_that_is_not_known_is_not_made_up(world: World, hub: MoneyHub) -> None:
    hub.existing = [_job(900, flavor="gone")]
    go(world)
    assert report_json(world)["pr-cost-usd"] is None


def test_without_a_pull_request_there_is_no_sum(world: World, hub: MoneyHub) -> None:
    hub.existing = [_job(900)]
    go(world, request(Context()))
    assert report_json(world)["pr-cost-usd"] is None

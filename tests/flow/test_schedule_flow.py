"""Setting a schedule: once, replaced in a safe order, never two and never none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hf_train.context import Context, Pull
from hf_train.errors import BadInput, LostSight, RefusedByHub, RefusedByPolicy, TransientHubError, UserError
from hf_train.flow import schedule as flow
from hf_train.flow.prepare import Request, prepare
from hf_train.flow.supersede import make_room
from hf_train.flow.sweep import Fate, judge
from hf_train.inputs import Layers, parse
from hf_train.inputs.model import Raw
from hf_train.plan.cron import read_cron
from hf_train.plan.schedule import Schedule
from hf_train.preflight import NotReady
from hf_train.values import JobRef, JobState, Scheduled, Stage
from support.fake_schedules import FakeSchedules
from support.fakes import World

PUSH = Context(
    on_github=True, repository="octo/proj", sha="a" * 40, ref="refs/heads/main", event="push", run_id="7", job="set"
)
WEEKLY = Schedule(name="nightly", cron=read_cron("0 3 * * 1"))
NO = RefusedByHub("Not allowed", "The Hub answered 403.", "")


@pytest.fixture
def schedules(world: World) -> FakeSchedules:
    """A Hub without schedules."""
    return FakeSchedules(world.clock)


def request(context: Context = PUSH, nonce: str = "n1", **flags: Raw) -> Request:
    given: dict[str, Raw] = {"command": "python train.py", **flags}
    inputs = parse(Layers(flags={name.replace("_", "-"): value for name, value in given.items()}))
    return Request(inputs=inputs, context=context, environ={"A_KEY": "value-of-a-key"}, nonce=nonce)


def propose(
    world: World, schedules: FakeSchedules, asked: Request, schedule: Schedule = WEEKLY, renew: bool = False
) -> flow.Proposal:
    unattended = flow.of_schedule(asked, dry_run=False)
    return flow.propose(unattended, schedule, world.ports, schedules, offline=False, renew=renew, build=True)


def put(
    world: World, schedules: FakeSchedules, asked: Request, schedule: Schedule = WEEKLY, renew: bool = False
) -> Scheduled:
    return flow.apply(propose(world, schedules, asked, schedule, renew), world.ports, schedules)


def test_a_new_one(world: World, schedules: FakeSchedules) -> None:
    one = put(world, schedules, request(secrets="A_KEY", timeout="20m"))
    assert schedules.calls == ["create"]
    assert len(world.workspace.uploads) == 1, "the code is there before the schedule"
    assert schedules.secrets == [{"A_KEY": "value-of-a-key"}]
    assert schedules.specs[0].timeout_s == 1200
    assert one.labels["hft-sha"] == "a" * 40
    assert not world.hub.submitted


def test_an_equal_one_sends_nothing(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    world.workspace.uploads.clear()
    world.workspace.sha = "b" * 40
    again = put(world, schedules, request(replace(PUSH, sha="b" * 40, run_id="8", job="other"), nonce="n2"))
    assert again == first
    assert schedules.calls == ["create"]
    assert world.workspace.uploads == []


def test_another_spec_replaces_it(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    second = put(world, schedules, request(nonce="n2", env="LR=1"))
    assert schedules.calls == ["create", "create", f"remove {first.id}"]
    assert schedules.there == [second]
    assert schedules.fewest == 1, "there was one at every moment"


def test_renew_replaces_an_equal_one(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    assert put(world, schedules, request(nonce="n2"), renew=True).id != first.id
    assert len(schedules.there) == 1


def test_others_are_left_alone(world: World, schedules: FakeSchedules) -> None:
    put(world, schedules, request())
    put(world, schedules, request(nonce="n2"), replace(WEEKLY, name="other"))
    put(world, schedules, request(replace(PUSH, repository="octo/else"), nonce="n3"))
    assert len(schedules.there) == 3
    put(world, schedules, request(nonce="n4", env="LR=1"))
    assert len(schedules.there) == 3


def test_a_pause_by_hand_survives_a_push(world: World, schedules: FakeSchedules) -> None:
    put(world, schedules, request())
    schedules.there = [replace(schedules.there[0], suspend=True)]
    assert put(world, schedules, request(nonce="n2", env="LR=1")).suspend
    assert not put(world, schedules, request(nonce="n3", env="LR=1"), replace(WEEKLY, suspend=False)).suspend


def test_what_a_killed_step_left_is_cleared(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    schedules.there.append(replace(first, id="f" * 24))
    put(world, schedules, request(nonce="n2"))
    assert len(schedules.there) == 1


def test_of_two_at_once_the_newest_stays(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    world.clock.sleep(5)
    schedules.rival = replace(first, id="f" * 24, created_at=world.clock.now().replace(year=2027))
    kept = put(world, schedules, request(nonce="n2", env="LR=1"))
    assert kept.id == "f" * 24
    assert schedules.there == [schedules.rival]


def test_a_refused_launch_leaves_the_old_one(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    schedules.create_errors = [NO]
    with pytest.raises(RefusedByHub):
        put(world, schedules, request(nonce="n2", env="LR=1"))
    assert schedules.there == [first]


@pytest.mark.parametrize("stored", [True, False])
def test_an_unclear_answer_makes_no_second(world: World, schedules: FakeSchedules, stored: bool) -> None:
    schedules.create_errors, schedules.kept_on_error = [TransientHubError("HTTP 502")], stored
    put(world, schedules, request())
    assert schedules.calls == ["create"] * (1 if stored else 2)
    assert len(schedules.there) == 1


def test_no_clear_answer_at_all(world: World, schedules: FakeSchedules) -> None:
    schedules.create_errors = [TransientHubError("HTTP 502")] * 2
    with pytest.raises(LostSight, match="Schedule not confirmed"):
        put(world, schedules, request())


def test_an_old_one_that_may_not_be_removed_stays_alone(world: World, schedules: FakeSchedules) -> None:
    first = put(world, schedules, request())
    schedules.remove_errors = [NO]
    with pytest.raises(RefusedByHub, match=f"Schedule {first.id} is as it was"):
        put(world, schedules, request(nonce="n2", env="LR=1"))
    assert schedules.there == [first]


def test_a_remove_without_an_answer_undoes_nothing(world: World, schedules: FakeSchedules) -> None:
    put(world, schedules, request())
    schedules.remove_errors = [TransientHubError("HTTP 502")] * 50
    with pytest.raises(LostSight, match="Two schedules"):
        put(world, schedules, request(nonce="n2", env="LR=1"))
    assert len(schedules.there) == 2, "the old one may be gone, so the new one must stay"
    schedules.remove_errors = []
    put(world, schedules, request(nonce="n3", env="LR=1"))
    assert len(schedules.there) == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"volumes": "./data:/data:rw"}, "volumes: ./data is sent once"),
        ({"publish": "/out", "model-repo": "a/b", "volumes": "hf://buckets/a/b:/out:rw"}, "publish: no step"),
        ({"local": "true"}, "local: the embedded Hub ends"),
        ({"max-cost": "0.0001", "timeout": "1h"}, "max-cost"),
    ],
)
def test_bad_inputs(world: World, schedules: FakeSchedules, flags: dict[str, Any], words: str) -> None:
    world.workspace.folders.add("./data")
    with pytest.raises(UserError) as caught:
        put(world, schedules, request(**flags))
    assert words in str(caught.value)
    assert caught.value.exit_code == 2
    assert not schedules.calls
    assert not world.workspace.uploads


def test_what_belongs_to_a_run_is_left_out(world: World, schedules: FakeSchedules) -> None:
    put(world, schedules, request(lease="10m", smoke="args: --steps 1\ntimeout: 5m", retry="1"))
    assert not [name for name in schedules.specs[0].labels if name == "hft-lease"]
    assert "HF_TRAIN_LEASE" not in schedules.specs[0].env


def test_a_pull_request_sets_none(world: World, schedules: FakeSchedules) -> None:
    asked = request(replace(PUSH, event="pull_request", pull=Pull(number=7, head_sha="b" * 40)))
    with pytest.raises(RefusedByPolicy):
        put(world, schedules, asked)
    shown = flow.of_schedule(asked, dry_run=True)
    proposal = flow.propose(shown, WEEKLY, world.ports, schedules, offline=True, renew=False, build=False)
    assert proposal.change is flow.Change.NEW
    assert not schedules.calls


def test_which_one_a_name_means(world: World, schedules: FakeSchedules) -> None:
    ours = put(world, schedules, request())
    theirs = put(world, schedules, request(replace(PUSH, repository="octo/else"), nonce="n2"))
    assert flow.chosen("nightly", "octo/proj", schedules.there) == (ours,)
    assert flow.chosen(theirs.id, "octo/proj", schedules.there) == (theirs,)
    with pytest.raises(BadInput, match="several repositories"):
        flow.chosen("nightly", "", schedules.there)
    with pytest.raises(RefusedByHub, match="there is: nightly"):
        flow.chosen("daily", "octo/proj", schedules.there)
    with pytest.raises(RefusedByHub, match="there is: none"):
        flow.chosen("nightly", "", ())


class OverRuns:
    """GitHub, where every run is over."""

    def is_over(self, run_id: str) -> bool | None:
        del run_id
        return True


def job_of(one: Scheduled, world: World) -> JobState:
    """A live Job that the Hub started for a schedule."""
    return JobState(
        ref=JobRef(id="e" * 24, namespace=one.namespace, url="u"),
        stage=Stage.RUNNING,
        created_at=world.clock.now(),
        labels=one.labels,
        image=one.image,
        command=one.command,
        flavor=one.flavor,
    )


def test_its_jobs_belong_to_no_run(world: World, schedules: FakeSchedules) -> None:
    job = job_of(put(world, schedules, request()), world)
    assert [one.fate for one in judge([job], "octo-proj", OverRuns(), world.clock, 0.0)] == [Fate.DETACHED]
    world.hub.existing.append(job)
    newer = request(replace(PUSH, sha="b" * 40, run_id="99"), nonce="n2", supersede="cancel")
    make_room(prepare(newer, world.ports).plan, newer.inputs, newer.context, world.ports)
    assert world.hub.cancelled == []


def test_its_jobs_count_for_the_limit_of_a_day(world: World, schedules: FakeSchedules) -> None:
    job = job_of(put(world, schedules, request(timeout="10h")), world)
    limited = request(nonce="n2", max_cost_per_day="0.1")
    prepare(limited, world.ports)
    world.hub.existing.append(job)
    with pytest.raises(NotReady, match="max-cost-per-day"):
        prepare(limited, world.ports)

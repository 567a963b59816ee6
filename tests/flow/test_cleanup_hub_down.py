"""`hf-train cancel` and the cleanup with a Hub that answers now and then: one error is not the last word."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flow.test_node_groups import group
from hf_train.errors import ExitCode, TransientHubError
from hf_train.values import JobRef, JobState, Stage
from support.fakes import World

commands = importlib.import_module("hf_train.commands.cancel")
BOTH = (Stage.RUNNING, Stage.RUNNING)


@pytest.fixture
def hub(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The command on the fakes, outside of GitHub."""
    monkeypatch.setattr(commands, "SystemClock", lambda: world.clock)
    monkeypatch.setattr(commands, "HuggingFaceHub", lambda *_: world.hub)
    monkeypatch.setenv("HF_TOKEN", "hf_local" + "a" * 26)
    for name in ("GITHUB_ACTIONS", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    world.hub.life = [(0.0, Stage.RUNNING)]
    return world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def left(path: Path, **more: str) -> None:
    """The state file of a run that was killed."""
    state = {"endpoint": "https://huggingface.co", "namespace": "alice", "nonce": "other", "job-id": ""}
    path.write_text(json.dumps({**state, **more}))


def clean(path: Path) -> None:
    assert commands.cancel(None, state_file=str(path)) == 0


def answers(world: World, *fails: bool, jobs: Sequence[JobState] = (), at: int = 0) -> list[bool]:
    """The list fails at these looks; it shows the Jobs from look `at` on. Returns the looks as they are made."""
    real, looks = world.hub.find, list[bool]()

    def find(namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        looks.append(True)
        if len(looks) > at:
            world.hub.existing = [*jobs]
        if len(looks) <= len(fails) and fails[len(looks) - 1]:
            raise TransientHubError("HTTP 502")
        return real(namespace, labels)

    world.hub.find = find  # type: ignore[method-assign]
    return looks


def deaf(world: World, times: int) -> None:
    """The first cancels are not taken."""
    real, tried = world.hub.cancel, list[str]()

    def cancel(ref: JobRef) -> None:
        tried.append(ref.id)
        if len(tried) <= times:
            raise TransientHubError("HTTP 500")
        real(ref)

    world.hub.cancel = cancel  # type: ignore[method-assign]


@pytest.mark.case(66)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("bad", [0, 1])
def test_the_cleanup_looks_on_after_an_error(hub: World, path: Path, count: int, bad: int) -> None:
    jobs = group(hub, BOTH)[:count]
    left(path, nodes=str(count))
    answers(hub, *(at == bad for at in range(5)), jobs=jobs, at=2)
    clean(path)
    assert sorted(hub.hub.cancelled) == [one.ref.id for one in jobs]
    assert not path.exists()


def test_a_known_job_is_looked_for_again_after_an_error(hub: World, path: Path) -> None:
    (job, _) = group(hub, BOTH)
    left(path, **{"job-id": job.ref.id})
    looks = answers(hub, True, jobs=[job])
    clean(path)
    assert (hub.hub.cancelled, len(looks)) == ([job.ref.id], 2)
    assert not path.exists()


@pytest.mark.parametrize("fails", [(True,) * 5, (False, False, False, False, True)])
def test_a_last_look_without_an_answer_is_not_the_last_word(
    hub: World, path: Path, capsys: pytest.CaptureFixture[str], fails: tuple[bool, ...]
) -> None:
    left(path)
    looks = answers(hub, *fails)
    clean(path)
    assert len(looks) == 5
    assert path.exists()
    out = capsys.readouterr()
    assert out.out.count("could not be asked") + out.err.count("could not be asked") == 1


@pytest.mark.parametrize("count", [1, 2])
def test_the_cleanup_tries_a_cancel_again_for_as_long_as_it_looks(hub: World, path: Path, count: int) -> None:
    hub.hub.existing = group(hub, BOTH)[:count]
    left(path, nodes=str(count), **{"job-id": hub.hub.existing[0].ref.id})
    deaf(hub, 4)
    clean(path)
    assert set(hub.hub.cancelled) == {one.ref.id for one in hub.hub.existing}
    assert not path.exists()


def test_a_job_that_ended_although_its_cancel_failed_is_done(hub: World, path: Path) -> None:
    (job, _) = group(hub, BOTH)
    left(path, **{"job-id": job.ref.id})
    deaf(hub, 99)
    hub.hub.existing = [job]

    def ends(now: float) -> None:
        if now > 0:
            hub.hub.existing = [replace(job, stage=Stage.CANCELED)]

    hub.clock.on_sleep = ends
    clean(path)
    assert not path.exists()


def test_a_cancel_that_is_never_taken_keeps_the_file(hub: World, path: Path) -> None:
    hub.hub.existing = group(hub, BOTH)[:1]
    left(path, **{"job-id": hub.hub.existing[0].ref.id})
    deaf(hub, 99)
    clean(path)
    assert path.exists()
    assert hub.clock.seconds >= 60


def test_the_name_of_a_node_that_has_ended_ends_the_others(hub: World) -> None:
    first, second = hub.hub.existing = group(hub, (Stage.ERROR, Stage.RUNNING))
    hub.hub.life = [(0.0, Stage.ERROR)]
    hub.hub.node_lives = {1: [(0.0, Stage.RUNNING)]}
    assert commands.cancel([f"alice/{first.ref.id}"]) == 0
    assert hub.hub.cancelled == [second.ref.id]


def test_a_list_that_is_down_does_not_keep_the_named_jobs(hub: World) -> None:
    first, second = hub.hub.existing = group(hub, BOTH)
    answers(hub, *[True] * 99, jobs=hub.hub.existing)
    assert commands.cancel([f"alice/{one.ref.id}" for one in (first, second)]) == ExitCode.REFUSED
    assert hub.hub.cancelled == [first.ref.id, second.ref.id]

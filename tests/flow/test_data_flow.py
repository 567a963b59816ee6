"""What is mounted: looked at before the launch, all at once, and taken at the commit that it has then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, request
from hf_train.errors import ExitCode, RefusedByHub, TransientHubError, UserError
from hf_train.flow.data import MAX_LOOKS
from hf_train.flow.prepare import prepare
from hf_train.ports import Account, Ports, RepoFact
from support.fakes import World

NEW, OLD = "9" * 40, "8" * 40


@dataclass
class FakeAccess:
    """Volumes by `kind source@revision`."""

    there: dict[str, RepoFact | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def job_account(self) -> Account | None:
        return None

    def repo(self, kind: str, repo: str) -> RepoFact:
        return RepoFact(exists=True, commit=NEW, size=1)

    def mounted(self, kind: str, source: str, revision: str | None) -> RepoFact:
        self.asked.append(f"{kind} {source}@{revision or ''}")
        found = self.there.get(self.asked[-1], RepoFact(exists=False))
        if isinstance(found, Exception):
            raise found
        return found

    def create(self, repo: str) -> None:
        del repo


class DataWorld(World):
    """A world with a Hub that can be asked about volumes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.access = FakeAccess()

    @property
    def ports(self) -> Ports:
        return replace(super().ports, access=self.access)


@pytest.fixture
def data() -> DataWorld:
    return DataWorld()


def _options(world: World) -> list[str]:
    return [one.as_option() for one in world.hub.submitted[-1][0].volumes[1:]]


def test_a_mounted_repo_is_taken_at_its_commit(data: DataWorld) -> None:
    data.access.there = {
        "dataset acme/data@": RepoFact(exists=True, commit=NEW),
        "dataset acme/data@v1": RepoFact(exists=True, commit=OLD),
        f"model acme/base@{OLD}": RepoFact(exists=True, commit=OLD),
        "bucket alice/out@": RepoFact(exists=True),
    }
    mounts = [
        "hf://datasets/acme/data:/data", "hf://datasets/acme/data@v1/train:/old", f"hf://models/acme/base@{OLD}:/base",
        "hf://buckets/alice/out:/out:rw",
    ]  # fmt: skip
    assert go(data, request(volumes="\n".join(mounts)))[1] == 0
    assert _options(data) == [
        f"hf://datasets/acme/data@{NEW}:/data",
        f"hf://datasets/acme/data@{OLD}/train:/old",
        f"hf://models/acme/base@{OLD}:/base",
        "hf://buckets/alice/out:/out:rw",
    ]


def test_newer_data_are_another_training(data: DataWorld) -> None:
    keys = []
    for commit in (OLD, OLD, NEW):
        data.access.there = {"dataset acme/data@": RepoFact(exists=True, commit=commit)}
        keys.append(prepare(request(volumes="hf://datasets/acme/data:/data"), data.ports).plan.key)
    assert keys[0] == keys[1] != keys[2]


def test_all_that_is_not_there_is_told_at_once(data: DataWorld) -> None:
    data.access.there = {
        "dataset acme/closed@": RepoFact(exists=True, closed=True),
        "dataset acme/data@v9": RepoFact(exists=True),
    }
    mounts = [
        "hf://buckets/alice/typo:/out:rw", "hf://datasets/acme/closed:/a", "hf://datasets/acme/data@v9:/b",
        "hf://models/acme/none:/c",
    ]  # fmt: skip
    with pytest.raises(UserError) as caught:
        go(data, request(volumes="\n".join(mounts)))
    assert caught.value.exit_code is ExitCode.REFUSED
    said = caught.value.message.splitlines()
    assert len(said) == 4
    words = (
        "bucket alice/typo is not there",
        "acme/closed is gated",
        "has no revision v9",
        "model acme/none is not there",
    )
    for line, part in zip(said, words, strict=True):
        assert part in line
    assert data.hub.submitted == []
    assert data.workspace.uploads == []


@pytest.mark.parametrize("error", [TransientHubError("HTTP 503"), RefusedByHub("Not allowed", "403")])
def test_what_the_hub_does_not_say_is_left_to_the_job(data: DataWorld, error: Exception) -> None:
    data.access.there = {"dataset acme/data@v1": error}
    assert go(data, request(volumes="hf://datasets/acme/data@v1:/data"))[1] == 0
    assert _options(data) == ["hf://datasets/acme/data@v1:/data"]


def test_looks_are_bounded_and_a_folder_of_ours_needs_none(data: DataWorld) -> None:
    data.workspace.folders.add("./conf")
    mounts = [f"hf://buckets/alice/b{at}:/b{at}" for at in range(MAX_LOOKS + 5)]
    data.access.there = {f"bucket alice/b{at}@": RepoFact(exists=True) for at in range(MAX_LOOKS + 5)}
    prepare(request(volumes="\n".join(["./conf:/conf", *mounts])), data.ports)
    assert len(data.access.asked) == MAX_LOOKS


def test_a_schedule_takes_what_is_newest_when_it_runs(data: DataWorld) -> None:
    data.access.there = {"dataset acme/data@": RepoFact(exists=True, commit=NEW)}
    plan = prepare(request(volumes="hf://datasets/acme/data:/data"), data.ports, pin=False).plan
    assert plan.job.volumes[1].as_option() == "hf://datasets/acme/data:/data"


def test_what_the_command_names_is_in_the_lineage_at_its_commit(data: DataWorld) -> None:
    data.access.there = {"dataset acme/extra@": RepoFact(exists=True, commit=OLD)}
    data.hub.repos = {"alice/m": published()}
    flags: dict[str, Any] = {
        "command": "python t.py --dataset_name acme/data", "volumes": "hf://datasets/acme/extra:/x",
        "model_repo": "alice/m", "lineage": "true",
    }  # fmt: skip
    assert go(data, request(replace(ON_GITHUB, private=False), **flags))[1] == 0
    for one in (f"hf://datasets/acme/data@{NEW}", f"hf://datasets/acme/extra@{OLD}"):
        assert data.cards.text.count(one) == 2, "in the metadata and in the text"


def test_a_hub_that_is_silent_is_not_asked_again_and_again(data: DataWorld) -> None:
    data.access.there = {f"bucket alice/b{at}@": TransientHubError("ReadTimeout") for at in range(5)}
    prepare(request(volumes="\n".join(f"hf://buckets/alice/b{at}:/b{at}" for at in range(5))), data.ports)
    assert len(data.access.asked) == 1

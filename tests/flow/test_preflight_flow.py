"""The preflight in a run: everything that stands against a launch is told at once, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, report_json, request
from hf_train.context import Context
from hf_train.errors import ExitCode, RefusedByHub, TransientHubError, UserError
from hf_train.flow.prepare import examine, prepare
from hf_train.ports import Account, Ports, RepoFact, Scope
from support.fakes import World

WRITE = Account(name="alice", orgs=("acme",), role="write")


@dataclass
class FakeAccess:
    """What the Hub says before a launch."""

    account: Account | None = None
    repos: dict[str, RepoFact] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    def job_account(self) -> Account | None:
        if self.error:
            raise self.error
        return self.account

    def repo(self, kind: str, repo: str) -> RepoFact:
        self.asked.append(f"{kind} {repo}")
        if isinstance(self.error, TransientHubError):
            raise self.error
        return self.repos.get(repo, RepoFact(exists=False))

    def mounted(self, kind: str, source: str, revision: str | None) -> RepoFact:
        del kind, revision
        return self.repos.get(source, RepoFact(exists=False))

    def create(self, repo: str) -> None:
        if self.error:
            raise self.error
        self.created.append(repo)


class AskedWorld(World):
    """A world whose Hub can be asked about tokens and repos."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.access = FakeAccess()

    @property
    def ports(self) -> Ports:
        return replace(super().ports, access=self.access)


@pytest.fixture
def asked() -> AskedWorld:
    return AskedWorld()


def _launcher(world: World, account: Account) -> None:
    world.hub.whoami = lambda: account  # type: ignore[method-assign]


def test_everything_is_told_at_once_and_nothing_is_sent(asked: AskedWorld) -> None:
    _launcher(asked, Account(name="alice", role="fineGrained", scopes=(Scope(entity="x", permissions=frozenset()),)))
    with pytest.raises(UserError) as caught:
        go(asked, request(command="python t.py --push_to_hub --x", flavor="h900", max_cost_per_day="1"))
    lines = caught.value.message.splitlines()
    assert caught.value.title == "3 things stand against the launch"
    assert [line.partition(":")[0] for line in lines] == ["flavor", "hf-token", "job-token"]
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert (asked.hub.submitted, asked.workspace.uploads, asked.access.created) == ([], [], [])
    assert "Not started: 3 things" in asked.pulls.bodies[-1]


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("account", "code"),
    [
        (WRITE, None),
        (replace(WRITE, role="read"), ExitCode.REFUSED),
        (Account(name="alice", role="fineGrained"), None),
        (Account(name="alice", role="fineGrained", scopes=()), ExitCode.REFUSED),
        (
            Account(
                name="alice",
                role="fineGrained",
                scopes=(Scope(entity="alice", permissions=frozenset({"job.write", "repo.write"})),),
            ),
            None,
        ),
        (Account(name="alice"), None),
    ],
    ids=str,
)
def test_the_token_is_judged_by_what_the_hub_says_of_it(
    asked: AskedWorld, account: Account, code: ExitCode | None
) -> None:
    _launcher(asked, account)
    if code is None:
        assert go(asked)[1] == 0
        return
    with pytest.raises(UserError, match=r"job\.write") as caught:
        go(asked)
    assert caught.value.exit_code is code
    assert asked.workspace.uploads == []


def test_a_warning_is_a_note_and_the_launch_goes_on(asked: AskedWorld) -> None:
    asked.access.repos["org/gated"] = RepoFact(exists=True, closed=True)
    _, code = go(asked, request(command="python t.py --model_name_or_path org/gated"))
    assert code == 0
    assert any("org/gated is gated" in note for note in report_json(asked)["notes"])


def test_a_hub_that_does_not_answer_is_not_known_and_no_refusal(asked: AskedWorld) -> None:
    asked.access.error = TransientHubError("HTTP 503")
    asked.hub.repos["alice/m"] = published()
    given: dict[str, Any] = {"model_repo": "alice/m", "job_token": "hf_local_job", "environ": {}}
    _, code = go(asked, request(**given))
    assert code == 0


def test_a_folder_of_the_workspace_is_no_repo(asked: AskedWorld) -> None:
    asked.workspace.folders.add("data/train")
    prepare(request(command="python t.py --dataset data/train --model org/m"), asked.ports)
    assert asked.access.asked == ["model org/m"]


def test_a_token_of_the_job_that_is_refused(asked: AskedWorld) -> None:
    asked.access.error = RefusedByHub("Token not accepted", "The Hub answered 401 for whoami.")
    with pytest.raises(UserError, match="Token of the Job not accepted"):
        go(asked, request(job_token="hf_local_old"))
    assert asked.workspace.uploads == []


# ---- the model repo ----


def _new(asked: AskedWorld, context: Context = ON_GITHUB, **flags: str) -> list[str]:
    asked.access.account = WRITE
    asked.hub.repos["alice/m"] = published()
    given: dict[str, Any] = {"model_repo": "alice/m", "job_token": "hf_local_job", **flags}
    assert go(asked, request(context, **given))[1] == 0
    return asked.access.created


def test_a_model_repo_that_is_not_there_is_created_private(asked: AskedWorld) -> None:
    assert _new(asked) == ["alice/m"]
    assert "Created the private model repo alice/m." in asked.console.said


def test_one_that_is_there_is_left_alone(asked: AskedWorld) -> None:
    asked.access.repos["alice/m"] = RepoFact(exists=True, private=True)
    assert _new(asked) == []


@pytest.mark.parametrize(
    ("public", "flags", "created"),
    [
        (True, {}, []),
        (True, {"private": "true"}, ["alice/m"]),
        (False, {"private": "false"}, []),
        (None, {}, ["alice/m"]),
    ],
)
def test_private_follows_the_github_repository(
    asked: AskedWorld, public: bool | None, flags: dict[str, str], created: list[str]
) -> None:
    context = replace(ON_GITHUB, private=None if public is None else not public)
    assert _new(asked, context, **flags) == created


def test_a_repo_that_cannot_be_created_is_a_warning(asked: AskedWorld) -> None:
    def refuse(repo: str) -> None:
        raise RefusedByHub("Not allowed", f"The Hub answered 403 for the new repo {repo}.")

    asked.access.create = refuse  # type: ignore[method-assign]
    assert _new(asked) == []
    assert any("could not be created private" in words for _, _, words in asked.console.annotations)


def test_a_plan_looks_and_creates_nothing(asked: AskedWorld) -> None:
    asked.access.account = WRITE
    wanted = request(model_repo="alice/m", job_token="hf_local_job")
    prepared, findings = examine(wanted, asked.ports)
    assert prepared.new_repo == "alice/m"
    assert [one.level for one in findings] == ["advice"]
    assert (asked.access.created, asked.workspace.uploads, asked.hub.submitted) == ([], [], [])
    assert prepare(wanted, asked.ports, look=False).new_repo == ""
    assert asked.access.asked == ["model alice/m"]

"""What a repo got from a Job, on real repos of the local Hub: a name proves nothing, a commit of the Job does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

from hf_train.hub import HuggingFaceHub
from hf_train.hub.repos import BEFORE
from hf_train.ports import Published
from hf_train.values import ModelLink, Secret
from support.local_hub_process import Hub

WEIGHTS = {"model.safetensors": b"w" * 5000}
CARD = {"README.md": b"---\nlicense: mit\n---\n# A model\n"}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 5000\n" % (b"a" * 64)


class Training:
    """A Job that begins now, and its repo."""

    def __init__(self, account: Hub, repo: str = "") -> None:
        # Dates of commits have whole seconds: begin at a new one, so that what was before is told apart.
        time.sleep(1.0 - time.time() % 1.0)
        self.account = account
        self.repo = repo or f"{account.user}/m"
        self.since = datetime.fromtimestamp(int(time.time()), UTC) + BEFORE
        self._hub = HuggingFaceHub(account.url, Secret(account.token))

    def found(self, author: str = "", kind: str = "model") -> Published:
        """What is found when it has ended now."""
        extra = ["metrics.json"]
        return self._hub.published(kind, self.repo, self.since, datetime.now(UTC), extra, author or self.account.user)

    def link(self) -> ModelLink:
        """What is found, when it is something."""
        link = self.found().link
        assert link is not None
        return link


def push(
    api: HfApi,
    repo: str,
    files: Mapping[str, bytes],
    title: str = "End of training",
    *,
    kind: str = "model",
    revision: str | None = None,
) -> str:
    """One commit; returns its id."""
    operations = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=content) for name, content in files.items()]
    return api.create_commit(repo, operations, commit_message=title, repo_type=kind, revision=revision).oid


def test_a_push_is_linked_at_its_commit(account: Hub) -> None:
    training = Training(account)
    account.api.create_repo(training.repo, private=True)
    push(account.api, training.repo, WEIGHTS, "Model save")
    last = push(account.api, training.repo, {**CARD, "metrics.json": b'{"a": 1}', "all_results.json": b'{"b": 2}'})
    found = training.found()
    assert found.link == ModelLink(
        repo=training.repo,
        revision=last,
        url=f"{account.url}/{training.repo}/tree/{last}",
        title="End of training",
        private=True,
        has_weights=True,
    )
    assert found.files == {"metrics.json": b'{"a": 1}', "all_results.json": b'{"b": 2}', **CARD}
    assert (found.note, found.problems) == ("", ())


@pytest.mark.case(61)
def test_a_repo_that_only_was_created(account: Hub) -> None:
    training = Training(account)
    account.api.create_repo(training.repo)
    found = training.found()
    assert (found.link, found.note) == (None, f"{training.repo} was created, but nothing was pushed to it")


@pytest.mark.case(61)
def test_a_repo_that_is_not_there(account: Hub) -> None:
    training = Training(account)
    assert training.found().note == f"{training.repo} does not exist, or this token cannot see it"
    other = Hub(url=account.url, user=f"{account.user}x", data=account.data)
    other.api.create_repo(f"{other.user}/m", private=True)
    hidden = Training(account, f"{other.user}/m")
    assert "does not exist, or this token cannot see it" in hidden.found().note


@pytest.mark.case(61)
def test_a_repo_that_was_not_pushed_to(account: Hub) -> None:
    account.api.create_repo(f"{account.user}/m")
    push(account.api, f"{account.user}/m", {**WEIGHTS, **CARD})
    found = Training(account).found()
    assert found.link is None
    assert found.note.startswith(f"{account.user}/m is unchanged: its newest commit is older than this Job")


@pytest.mark.case(61)
def test_commits_that_leave_the_files_as_they_were(account: Hub) -> None:
    api, repo = account.api, f"{account.user}/m"
    api.create_repo(repo)
    push(api, repo, {**WEIGHTS, **CARD})
    training = Training(account)
    push(api, repo, {"extra.txt": b"x"})
    api.create_commit(repo, [CommitOperationDelete(path_in_repo="extra.txt")], commit_message="End of training")
    found = training.found()
    assert found.link is None
    assert "holds the same files as before this Job" in found.note


@pytest.mark.parametrize(
    ("before", "during", "has_weights", "words"),
    [
        ({}, WEIGHTS, True, "holds weights only: no model card and no result file"),
        ({}, CARD, False, "holds no weights"),
        ({}, {**CARD, "training_args.bin": b"a" * 500}, False, "holds no weights"),
        ({}, {**CARD, "model.safetensors": b""}, False, "holds no weights"),
        ({}, {**CARD, "model.bin": POINTER}, False, "holds no weights"),
        (
            {**WEIGHTS, **CARD},
            {"README.md": b"---\nlicense: mit\n---\n# New words\n"},
            True,
            "holds the same weights as before this Job",
        ),
        ({**WEIGHTS, **CARD}, {"model.safetensors": b"v" * 5000}, True, ""),
        ({}, {**CARD, "adapter_model.safetensors": b"a" * 500, "adapter_config.json": b"{}"}, True, ""),
        ({}, {**CARD, "tiny-Q4_K_M.gguf": b"a" * 500}, True, ""),
        ({}, {**CARD, "model.pkl": b"cos\nsystem\n(S'touch /tmp/pickled'\ntR."}, True, ""),
    ],
    ids=["weights", "card", "args", "empty", "pointer", "old-weights", "new-weights", "adapter", "gguf", "pickle"],
)
@pytest.mark.case(61)
def test_what_a_commit_holds(
    before: dict[str, bytes], during: dict[str, bytes], has_weights: bool, words: str, account: Hub
) -> None:
    repo = f"{account.user}/m"
    account.api.create_repo(repo)
    if before:
        push(account.api, repo, before)
    training = Training(account)
    push(account.api, repo, during)
    found = training.found()
    assert found.link is not None
    assert found.link.has_weights == has_weights
    assert words in " ".join(found.problems)
    assert bool(words) == bool(found.problems)


@pytest.mark.case(61)
def test_a_commit_by_somebody_else_proves_nothing(account: Hub) -> None:
    training = Training(account)
    account.api.create_repo(training.repo)
    push(account.api, training.repo, {**WEIGHTS, **CARD})
    found = training.found(author="the-jobs-account")
    assert found.link is None
    assert f"by {account.user}, not by the-jobs-account, whose Job this is" in found.note
    assert training.found(author=account.user.upper()).link is not None, "names of accounts have no case"


def test_a_commit_after_the_job_proves_nothing(account: Hub) -> None:
    training = Training(account)
    account.api.create_repo(training.repo)
    push(account.api, training.repo, WEIGHTS)
    hub = HuggingFaceHub(account.url, Secret(account.token))
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    assert hub.published("model", training.repo, long_ago, long_ago, [], account.user).link is None


def test_a_push_to_a_branch_or_a_pull_request_is_found_and_told(account: Hub) -> None:
    api, repo = account.api, f"{account.user}/m"
    api.create_repo(repo)
    api.create_branch(repo, branch="old")
    training = Training(account)
    api.create_branch(repo, branch="dev/1")
    commit = push(api, repo, {**WEIGHTS, **CARD}, revision="dev/1")
    found = training.found()
    assert found.link is not None
    assert found.link.revision == commit
    assert found.problems == (f"The commit {commit[:7]} is on dev/1, and not on main.",)
    api.delete_branch(repo, branch="dev/1")
    operations = [CommitOperationAdd(path_in_repo="model.safetensors", path_or_fileobj=b"v" * 5000)]
    offered = api.create_commit(repo, operations, commit_message="End of training", create_pr=True)
    found = training.found()
    assert found.link is not None
    assert found.link.revision == offered.oid
    assert "and not on main" in found.problems[0]


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_datasets_and_spaces_are_linked_as_what_they_are(kind: str, account: Hub) -> None:
    repo = f"{account.user}/d"
    training = Training(account, repo)
    account.api.create_repo(repo, repo_type=kind, space_sdk="static" if kind == "space" else None)
    commit = push(account.api, repo, {"data.csv": b"a,b\n"}, kind=kind)
    found = training.found(kind=kind)
    assert found.link is not None
    assert (found.link.kind, found.link.has_weights, found.problems) == (kind, None, ())
    assert found.link.url == f"{account.url}/{kind}s/{repo}/tree/{commit}"


def test_the_results_of_a_named_model(account: Hub) -> None:
    repo = f"{account.user}/m"
    account.api.create_repo(repo)
    first = push(account.api, repo, {"all_results.json": b'{"eval_loss": 1}', **WEIGHTS})
    second = push(account.api, repo, {"all_results.json": b'{"eval_loss": 2}'})
    account.api.create_tag(repo, tag="v1", revision=first)
    hub = HuggingFaceHub(account.url, Secret(account.token))
    for revision, commit, content in (
        (None, second, b'{"eval_loss": 2}'),
        ("v1", first, b'{"eval_loss": 1}'),
        (first, first, b'{"eval_loss": 1}'),
    ):
        found = hub.results(repo, revision)
        assert found.link is not None
        assert (found.link.revision, found.link.has_weights) == (commit, True)
        assert found.files == {"all_results.json": content}
    assert hub.results(repo, "v1", ["model.safetensors"]).files == {
        "model.safetensors": WEIGHTS["model.safetensors"],
        "all_results.json": b'{"eval_loss": 1}',
    }
    assert hub.results(repo, "v9").note == f"{repo} has no revision v9"
    assert "does not exist" in hub.results(f"{account.user}/none", None).note

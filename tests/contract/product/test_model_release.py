"""Releases on the GitHub stub, tags on the local Hub."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hf_train.errors import RefusedByHub
from hf_train.github import releases
from hf_train.github.releases import GitHubReleases
from hf_train.hub import HubPublisher, HubTags
from hf_train.text.sections import at_end
from hf_train.values import Secret
from support.github_stub import Fault, GitHubStub, Token
from support.local_hub_process import Hub
from support.product import Product, git, make_repo, on_github

PUSH = """\
import os, sys
from huggingface_hub import HfApi, CommitOperationAdd as Add
HfApi().create_commit(sys.argv[1], [Add("model.safetensors", os.urandom(64)),
    Add("all_results.json", b'{"eval_accuracy": %s}' % sys.argv[2].encode())], commit_message="End of training")
"""


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    with GitHubStub() as server:
        server.state.tokens |= {"ghs_localworkflow1": Token(), "ghs_localreader0001": Token(write=False)}
        yield server


def client(github: GitHubStub, token: str = "ghs_localworkflow1") -> GitHubReleases:
    return GitHubReleases(github.url, Secret(token), "octo/proj")


def body(github: GitHubStub, tag: str) -> str:
    return next(one.body or "" for one in github.state.repos["octo/proj"].releases.values() if one.tag == tag)


# ---- GitHub ----


def test_the_last_release_is_the_newest_published_one_before(github: GitHubStub) -> None:
    assert client(github).previous("v1") == ("", "")
    for tag in ("v1", "v2"):
        github.state.add_release(tag)
    github.state.add_release("v3-rc1", prerelease=True)
    github.state.add_release("v3-draft", draft=True)
    ours = client(github)
    assert [ours.previous(tag) for tag in ("v1", "v2", "v3", "v3-rc1")] == [
        ("", ""),
        ("v1", ""),
        ("v2", ""),
        ("v2", ""),
    ]
    github.state.faults.append(Fault(path="/releases", status=502))
    assert ours.previous("v3") == ("", "GitHub answers 502")


def test_only_the_body_of_a_release_changes(github: GitHubStub) -> None:
    made = github.state.add_release("release/1.0", name="One", body=None, prerelease=True)
    url, problem = client(github).edit("release/1.0", lambda text: at_end(text, "x", "Section"))
    assert url.endswith("/octo/proj/releases/tag/release/1.0"), problem
    assert (made.name, made.prerelease, made.tag) == ("One", True, "release/1.0")
    assert "Section" in (made.body or "")
    before = len(github.requests)
    assert client(github).edit("release/1.0", lambda text: at_end(text, "x", "Section")) == (url, "")
    assert [one.method for one in github.requests[before:]] == ["GET"]


@pytest.mark.parametrize(
    ("tag", "token", "words"),
    [
        ("v9", "ghs_localworkflow1", "make it first"),
        ("v1", "ghs_localreader0001", "contents: write"),
        ("v1", "ghs_localunknown001", "not accepted"),
    ],
)
def test_why_a_release_is_not_written(github: GitHubStub, tag: str, token: str, words: str) -> None:
    github.state.add_release("v1")
    url, problem = client(github, token).edit(tag, lambda text: f"{text}x")
    assert url == ""
    assert words in problem


def test_a_body_that_is_too_long_is_not_sent(github: GitHubStub) -> None:
    github.state.add_release("v1", body="x" * 124_990)
    assert "125,000" in client(github).edit("v1", lambda text: at_end(text, "x", "y" * 50))[1]
    assert body(github, "v1") == "x" * 124_990


def test_legs_that_write_at_once_lose_nothing(github: GitHubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "TRIES", 20)
    github.state.add_release("v1", body="Notes.")
    legs = [
        threading.Thread(target=client(github).edit, args=("v1", lambda text, leg=leg: at_end(text, leg, f"Leg {leg}")))
        for leg in ("a", "b", "c")
    ]
    for leg in legs:
        leg.start()
    for leg in legs:
        leg.join()
    text = body(github, "v1")
    assert [text.count(f"Leg {leg}") for leg in ("a", "b", "c")] == [1, 1, 1]


# ---- the Hub ----


@pytest.fixture
def model(account: Hub) -> tuple[str, str, str]:
    """A repo with two commits."""
    name = f"{account.user}/m"
    account.api.create_repo(name)
    first, second = (
        account.api.upload_file(path_or_fileobj=text, path_in_repo="a.txt", repo_id=name).oid for text in (b"1", b"2")
    )
    return name, str(first), str(second)


def tags(account: Hub, token: str = "") -> HubTags:
    return HubTags(account.url, HubPublisher(account.url, Secret(token or account.token), None))


@pytest.mark.parametrize("name", ["v1.2.3", "release/1.0"])
def test_a_tag_is_made_once_and_never_moved(account: Hub, model: tuple[str, str, str], name: str) -> None:
    repo, first, second = model
    assert tags(account).tag(repo, name, first, "octo/proj") is True
    assert tags(account).tag(repo, name, first, "octo/proj") is False
    with pytest.raises(RefusedByHub, match=f"already, at commit {first[:7]} and not at {second[:7]}"):
        tags(account).tag(repo, name, second, "octo/proj")
    assert account.api.model_info(repo, revision=f"refs/tags/{name}").sha == first


def test_a_tag_whose_answer_was_lost_is_there(account: Hub, model: tuple[str, str, str]) -> None:
    repo, first, _ = model
    account.fault(f"POST /api/models/{repo}/tag/** status=409 after-effect times=1")
    assert tags(account).tag(repo, "v1", first, "m") is False


def test_a_token_that_may_not_write_is_refused(account: Hub, model: tuple[str, str, str]) -> None:
    repo, first, _ = model
    with pytest.raises(RefusedByHub):
        tags(account, f"hf_local_read_as_{account.user}").tag(repo, "v1", first, "m")


# ---- both ----


def test_a_release_from_tag_to_tag(product: Product, account: Hub, github: GitHubStub, tmp_path: Path) -> None:
    product.cwd = make_repo(tmp_path / "user", {"push.py": PUSH})
    repo = f"{account.user}/m"
    account.api.create_repo(repo, private=True)
    github.state.add_release("v1")
    env = {
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1",
        "HF_TRAIN_JOB_TOKEN": account.token,
        "HF_TRAIN_RELEASE": "true",
        "HF_TRAIN_MODEL_REPO": repo,
        "HF_TRAIN_LINEAGE": "true",
        "GITHUB_SHA": git(product.cwd, "rev-parse", "HEAD"),
    }
    at = on_github(tmp_path, GITHUB_REF="refs/tags/v1", **env)
    first = product.run("--", "python", "push.py", repo, "0.9", env=at)
    assert (first.code, first.problems.replace("There is no earlier release to compare with.", "")) == (0, ""), (
        first.out
    )
    github.state.add_release("v2", body="Notes.")
    at |= {"GITHUB_REF": "refs/tags/v2", "GITHUB_RUN_ID": "78"}
    gate = ("--gate", "eval_accuracy >= baseline")
    second = product.run(*gate, "--", "python", "push.py", repo, "0.95", env=at)
    assert (second.code, second.problems) == (0, ""), second.out
    assert second.report["baseline"]["name"] == "tag v1"
    assert second.report["deltas"]["eval_accuracy"] == pytest.approx(0.05)
    found = {one.name for one in account.api.list_repo_refs(repo).tags}
    assert found == {"v1", "v2"}
    assert account.api.model_info(repo, revision="refs/tags/v2").sha == second.report["model-revision"]
    assert second.report["model-card-revision"] not in {"", second.report["model-revision"]}
    assert body(github, "v2").startswith("Notes.\n\n<!-- hf-train:release-")
    assert "eval_accuracy" in body(github, "v2")
    at |= {"GITHUB_REF": "refs/tags/v3", "GITHUB_RUN_ID": "79"}
    third = product.run(*gate, "--", "python", "push.py", repo, "0.8", env=at)
    assert (third.code, third.report["release"]["hub-tag"]) == (7, False)
    assert {one.name for one in account.api.list_repo_refs(repo).tags} == found
    assert "make it first" in third.problems

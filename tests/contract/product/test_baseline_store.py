"""The baseline on a real bucket, real Jobs and GitHub's own history: shallow clones, named runs, stored reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hf_train.errors import RefusedByHub
from hf_train.github.pulls import GitHubPulls
from hf_train.hub.reports import BucketReports
from hf_train.hub_api import make_api
from hf_train.values import Secret
from support.github_stub import GitHubStub, Token
from support.local_hub_process import Hub
from support.product import Done, Product, commit, git, on_github, write

TOKEN = "ghs_localworkflow1"


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with pull request 7."""
    with GitHubStub() as server:
        server.state.add_pull(7)
        server.state.tokens |= {TOKEN: Token()}
        yield server


@dataclass
class Team:
    """A repository whose commits GitHub knows, and its workflow runs."""

    product: Product
    github: GitHubStub
    repo: Path
    scratch: Path
    run_id: int = 70

    def commit(self, name: str) -> str:
        """One more commit on the branch that is checked out."""
        write(self.repo, {"step.txt": f"{name}\n"})
        sha = commit(self.repo, name)
        self.know(sha)
        return sha

    def know(self, sha: str) -> None:
        """GitHub gets this commit."""
        parents = git(self.repo, "rev-list", "--parents", "-n", "1", sha).split()[1:]
        self.github.state.repos["octo/proj"].parents[sha] = tuple(parents)

    def train(self, accuracy: float, *words: str, pull: dict[str, str] | None = None, **env: str) -> Done:
        """A workflow run at what is checked out: a push to main, or the pull request with these shas."""
        self.run_id += 1
        sha = git(self.product.cwd, "rev-parse", "HEAD")
        variables = {
            **on_github(self.scratch, GITHUB_SHA=sha, GITHUB_RUN_ID=str(self.run_id)),
            "GITHUB_API_URL": self.github.url,
            "HF_TRAIN_GITHUB_TOKEN": TOKEN,
        }
        if pull:
            event = self.scratch / "event.json"
            head = {"sha": pull["head"], "repo": {"full_name": "octo/proj"}}
            request = {"number": 7, "head": head, "base": {"sha": pull["base"], "ref": "main"}}
            event.write_text(json.dumps({"pull_request": request, "repository": {"private": True}}))
            variables |= {
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_EVENT_PATH": str(event),
                "GITHUB_REF": "refs/pull/7/merge",
            }
        line = f"echo \"{{'eval_accuracy': '{accuracy}', 'epoch': '1'}}\""
        return self.product.run("--reuse", "never", *words, "--", "sh", "-c", line, env={**variables, **env})


@pytest.fixture
def team(product: Product, github: GitHubStub, repo: Path, tmp_path: Path) -> Team:
    """The team's repository, with one commit on main."""
    made = Team(product, github, repo, tmp_path)
    made.know(git(repo, "rev-parse", "HEAD"))
    return made


def name_of(done: Done) -> str:
    """What a run was compared with."""
    assert done.report, done.out
    return str((done.report["baseline"] or {}).get("name", ""))


def test_a_pull_request_from_a_shallow_clone_finds_its_merge_base(team: Team, tmp_path: Path) -> None:
    base = git(team.repo, "rev-parse", "HEAD")
    first = team.train(0.90)
    assert (first.code, name_of(first)) == (0, ""), first.out
    git(team.repo, "checkout", "-q", "-b", "feature")
    head = team.commit("feature")
    git(team.repo, "checkout", "-q", "main")
    newer = team.commit("main moves on")
    team.github.state.repos["octo/proj"].refs["main"] = newer
    team.train(0.50)
    pull = {"head": head, "base": newer}
    # The head itself, in a clone without any history: its base is the fork point, not main's newest run.
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "feature", team.repo.as_uri(), "clone")
    team.product.cwd = tmp_path / "clone"
    done = team.train(0.92, "--gate", "eval_accuracy >= baseline", pull=pull)
    assert (done.code, name_of(done)) == (0, f"merge base {base[:7]}"), done.out
    assert done.report["deltas"]["eval_accuracy"] == pytest.approx(0.02)
    # The merge commit that GitHub makes: what differs from it is the tip of main that went into it.
    team.product.cwd = team.repo
    git(team.repo, "checkout", "-q", "-b", "merge", newer)
    git(team.repo, "merge", "-q", "--no-edit", "-X", "ours", head)
    team.know(git(team.repo, "rev-parse", "HEAD"))
    done = team.train(0.55, pull=pull)
    assert name_of(done) == f"merge base {newer[:7]}"
    assert done.report["deltas"]["eval_accuracy"] == pytest.approx(0.05)


def test_named_runs_on_a_real_bucket(team: Team, account: Hub) -> None:
    first = team.train(0.70)
    for name, shown in (
        (f"run:{team.run_id}", f"run {team.run_id}"),
        (f"job:{first.report['job-id']}", f"job {first.report['job-id']}"),
        ("branch:main", "branch main"),
    ):
        done = team.train(0.75, "--baseline", name)
        assert (name_of(done), done.code) == (shown, 0), done.problems
    detached = team.train(0.60, "--mode", "detach")
    account.wait_for_stage("COMPLETED")
    done = team.train(0.75, "--baseline", f"job:{detached.report['job-id']}")
    assert name_of(done) == f"job {detached.report['job-id']} (log)"
    assert done.report["deltas"]["eval_accuracy"] == pytest.approx(0.15)
    done = team.train(0.75, "--baseline", f"job:{'a' * 24}", "--gate", "eval_accuracy >= baseline")
    assert (done.code, name_of(done)) == (7, "")
    assert f"is stored for job:{'a' * 24}" in done.problems


def test_a_model_repo_as_the_baseline(team: Team, account: Hub) -> None:
    repo = f"{account.user}/best"
    account.api.create_repo(repo, private=True)
    for content in (b'{"eval_accuracy": 0.5}', b'{"eval_accuracy": 0.6}'):
        account.api.upload_file(path_or_fileobj=content, path_in_repo="all_results.json", repo_id=repo)
    first = account.api.list_repo_commits(repo)[1].commit_id
    done = team.train(0.75, "--baseline", f"model:{repo}@{first}")
    assert name_of(done) == f"{repo} at {first[:7]}"
    assert done.report["baseline"]["metrics"] == {"eval_accuracy": 0.5}
    done = team.train(0.75, "--baseline", f"model:{repo}")
    assert done.report["baseline"]["metrics"] == {"eval_accuracy": 0.6}


def test_the_merge_base_and_refs_of_github(team: Team, github: GitHubStub) -> None:
    base = git(team.repo, "rev-parse", "HEAD")
    git(team.repo, "checkout", "-q", "-b", "feature/x")
    head = team.commit("feature")
    github.state.repos["octo/proj"].refs |= {"release/1": base, "v1": base}
    pulls = GitHubPulls(github.url, Secret(TOKEN), "octo/proj")
    assert pulls.base_of(7) == ("main", "")
    assert pulls.base_of(99)[0] == ""
    assert pulls.merge_base("release/1", head) == (base, "")
    assert pulls.merge_base("9" * 40, head)[0] == ""
    assert pulls.commit("tags/v1") == (base, "")
    assert pulls.commit(head[:7]) == (head, "")
    assert pulls.commit("tags/v9") == ("", "GitHub does not know it, or the token may not read it (`contents: read`)")
    github.fail("/compare/", 503, times=1)
    assert pulls.merge_base("release/1", head) == ("", "GitHub answers 503")


def test_the_store_of_reports(account: Hub) -> None:
    reports = BucketReports(make_api(account.url, Secret(account.token)))
    bucket = f"{account.user}/jobs-artifacts"
    assert reports.newest(bucket, "reports/x", 3) == (), "no bucket yet"
    for number in range(4):
        reports.save(bucket, [f"reports/x/2026120{number}-j.json", f"reports/y/{number}.json"], f"report {number}")
    assert reports.newest(bucket, "reports/x", 3) == ("report 3", "report 2", "report 1")
    assert reports.newest(bucket, "reports/none", 3) == ()
    assert account.api.bucket_info(bucket).private
    account.fault("GET /api/buckets/*/*/tree/** status=403")
    with pytest.raises(RefusedByHub, match="403"):
        reports.newest(bucket, "reports/x", 3)


def test_reports_never_go_into_a_public_bucket(account: Hub) -> None:
    bucket = f"{account.user}/jobs-artifacts"
    account.api.create_bucket(bucket, private=False)
    with pytest.raises(RefusedByHub, match="is public"):
        BucketReports(make_api(account.url, Secret(account.token))).save(bucket, ["reports/a/b.json"], "x")
    assert list(account.api.list_bucket_tree(bucket, recursive=True)) == []

"""Events by the command line, against the local Hub and the GitHub stub: `/train` is asked about, read and answered."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hf_train.policy import OWN
from support import events
from support.github_stub import GitHubStub, Token
from support.local_hub_process import Hub
from support.product import Done, Product, on_github

TOKEN = "ghs_localworkflow1"
HEAD = "1" * 40


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with pull request 7 from a fork, and the comment 1001 under it."""
    with GitHubStub() as server:
        server.state.add_pull(7, head_repo="stranger/proj")
        server.state.tokens |= {TOKEN: Token()}
        repo = server.state.repos["octo/proj"]
        repo.permissions |= {"octocat": "write", "maintainer": "admin"}
        while 1001 not in repo.comments:
            server.state.add_comment(repo, 7, "/train", "octocat")
        yield server


@pytest.fixture
def step(product: Product, github: GitHubStub, tmp_path: Path) -> Product:
    """The product in a step of a workflow."""
    files = on_github(tmp_path)
    ours = {name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
    product.environ |= {**ours, "GITHUB_API_URL": github.url, "HF_TRAIN_GITHUB_TOKEN": TOKEN}
    return product


def on(product: Product, name: str, tmp_path: Path, body: str = "") -> dict[str, str]:
    """The variables of an event, with another comment's body if one is given."""
    event = events.load(name)
    payload, path = event.payload, event.path
    if body:
        payload["comment"]["body"] = body
        path = tmp_path / "event.json"
        path.write_text(json.dumps(payload), encoding="utf-8")
    url = product.environ["GITHUB_API_URL"]
    return {**event.environ, "GITHUB_EVENT_PATH": str(path), "GITHUB_API_URL": url}


def reactions(github: GitHubStub) -> list[str]:
    return [one["content"] for one in github.state.repos["octo/proj"].comments[1001].reactions]


@pytest.mark.case(24)
@pytest.mark.parametrize(
    ("name", "body", "decision", "reaction", "code", "reason"),
    [
        ("issue_comment_sha", "", "run", ["eyes"], 0, ""),
        ("issue_comment_train", f"/train lr=1e-4 sha={HEAD}", "run", ["eyes"], 0, ""),
        ("issue_comment_train", "", "refused", ["confused"], 2, "the commit must be named: /train sha=1111"),
        ("issue_comment_train", f"/train sha={'2' * 40}", "refused", ["confused"], 2, "the head moved to 111111111111"),
        ("issue_comment_train", f"/train timeout=soon sha={HEAD}", "refused", ["confused"], 2, "timeout: 'soon'"),
        ("issue_comment_bad", "", "refused", ["confused"], 2, "may not set 'namespace'"),
        ("issue_comment_stranger", "", "refused", ["-1"], 0, "stranger may not write"),
        ("issue_comment_stranger", "/train hf-token=x", "refused", ["-1"], 0, "stranger may not write"),
        ("issue_comment_other", "", "ignored", [], 0, "no /train command"),
        ("issue_comment_edited", "", "ignored", [], 0, "no new comment"),
        ("issue_comment_issue", "", "ignored", [], 0, "no new comment"),
        ("push", "", "ignored", [], 0, "no new comment"),
    ],
)
def test_a_comment_is_answered(
    step: Product,
    github: GitHubStub,
    account: Hub,
    tmp_path: Path,
    name: str,
    body: str,
    decision: str,
    reaction: list[str],
    code: int,
    reason: str,
) -> None:
    done = step.call("comment", env={**on(step, name, tmp_path, body), "HF_TRAIN_TRAIN_KEYS": "lr"})
    assert (done.code, done.outputs["decision"], reactions(github)) == (code, decision, reaction), done.out
    assert reason in done.outputs["reason"]
    assert done.outputs["sha"] == (HEAD if decision == "run" else "")
    assert account.requests() == [], "reading a comment needs no Hub"


@pytest.mark.parametrize("status", [403, 404, 500, 0])
def test_when_github_fails_nothing_is_approved(step: Product, github: GitHubStub, tmp_path: Path, status: int) -> None:
    github.fail(r"/collaborators/", status, times=-1)
    done = step.call("comment", env=on(step, "issue_comment_sha", tmp_path))
    # 404 is GitHub's answer for somebody who has no permission at all.
    assert (done.code, done.outputs["decision"], done.outputs["sha"]) == (0, "refused", ""), done.out


def test_a_comment_trains_what_it_names_with_what_it_sets(
    step: Product, github: GitHubStub, account: Hub, tmp_path: Path
) -> None:
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=step.cwd, text=True).strip()
    github.state.repos["octo/proj"].pulls[7].head_sha = head
    env = on(step, "issue_comment_train", tmp_path, f"/train timeout=3m lr=2 sha={head}\nLet us see.")
    env["HF_TRAIN_TRAIN_KEYS"] = "lr"
    done = step.run("--timeout", "20m", "--", "python3", "train.py", env=env)
    assert done.code == 0, done.out
    (job,) = account.jobs()
    assert job["timeout"] == 180
    assert job["command"][-3:] == ["python3", "train.py", "--lr=2"]
    assert job["labels"]["hft-sha"] == head
    assert job["labels"]["hft-pr"] == "7"
    assert any("hf-train:" in one.body for one in github.state.repos["octo/proj"].comments.values())


@pytest.mark.case(18)
@pytest.mark.parametrize("name", [name for name in events.NAMES if events.load(name).trigger not in OWN])
def test_a_no_costs_no_request_to_the_hub(step: Product, account: Hub, tmp_path: Path, name: str) -> None:
    """Every event of the corpus that a stranger can cause, with a commit checked out that nobody approved."""
    done: Done = step.run("--", "python3", "train.py", env=on(step, name, tmp_path))
    assert done.code == 2, done.out
    assert "Nothing was sent" in done.out
    assert account.requests() == []


@pytest.mark.case(18, 19)
@pytest.mark.parametrize("required", ["", "true"])
@pytest.mark.parametrize(
    "name", ["pull_request_fork", "pull_request_fork_deleted", "pull_request_dependabot", "push_dependabot"]
)
def test_without_a_token_no_request_goes_to_the_hub(
    step: Product, account: Hub, tmp_path: Path, name: str, required: str
) -> None:
    env = {**on(step, name, tmp_path), "HF_TOKEN": "", "HF_TRAIN_REQUIRED": required}
    done: Done = step.run("--", "python3", "train.py", env=env)
    assert done.code == (3 if required else 0), done.out
    assert "There is no Hub token in this step (" in done.out
    assert account.requests() == []

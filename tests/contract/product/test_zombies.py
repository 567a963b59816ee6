"""A run that was killed leaves a comment that says "running": the cleanup step closes it, and nobody else's."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import events
from support.github_stub import GitHubStub, Token
from support.local_hub_process import Hub
from support.moments import wait_until
from support.product import Done, Product, on_github

TOKEN = "ghs_localworkflow1"
KEY = "<!-- hf-train:train / train -->"
LIVE = f"{KEY}\n<!-- hf-train-result:{'a' * 16}:%s -->\n### 🏃 Training is running\n\n`train / train`\n"
SLEEPS = ("--path", "none", "--", "sh", "-c", "echo \"{'loss': 0.5}\"; sleep 120")


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    with GitHubStub() as server:
        server.state.add_pull(7)
        server.state.tokens |= {TOKEN: Token()}
        yield server


@pytest.fixture
def step(product: Product, github: GitHubStub, tmp_path: Path) -> Iterator[Product]:
    """The product in a step of a pull request; run and cleanup have the same state file."""
    event = events.load("pull_request_labeled")
    files = on_github(tmp_path)
    product.environ |= {
        **event.environ,
        **{name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")},
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": TOKEN,
        "HF_TRAIN_CHECK": "true",
        "HF_TRAIN_STATE_FILE": str(tmp_path / "state.json"),
    }
    yield product
    product.end_all()


def killed(step: Product, github: GitHubStub, *words: str) -> None:
    """A run that is killed when its comment says that it trains."""
    run = step.start(*words)
    wait_until(lambda: any("Training is running" in one.body for one in github.comments()))
    run.signal(signal.SIGKILL)
    assert run.done().code == -signal.SIGKILL


def cleanup(step: Product) -> Done:
    done = step.call("cancel", "--state-file", step.environ["HF_TRAIN_STATE_FILE"])
    assert done.code == 0, done.out
    return done


def origin(step: Product) -> str:
    return f"{step.environ['GITHUB_RUN_ID']}.{step.environ['GITHUB_RUN_ATTEMPT']}"


@pytest.mark.case(56, 92)
def test_the_cleanup_closes_what_a_killed_run_left_saying_running(
    step: Product, github: GitHubStub, account: Hub
) -> None:
    killed(step, github, *SLEEPS)
    (check,) = github.state.repos["octo/proj"].checks.values()
    assert check["status"] == "in_progress"
    done = cleanup(step)
    (comment,), (job,) = github.comments(), account.jobs()
    assert job["status"]["stage"] == "CANCELED"
    assert comment.body.startswith(KEY)
    assert "Training is running" not in comment.body
    assert "The run was ended before it could report. Its Job was cancelled." in comment.body
    assert f"[`{job['id']}`]({account.url}/jobs/{account.user}/{job['id']})" in comment.body
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert "The comment was closed." in done.out
    assert "The check was closed." in done.out
    assert account.token not in done.out.replace("::add-mask::", "")
    edits = len(comment.edits)
    cleanup(step)
    assert len(github.comments()[0].edits) == edits, "what is closed stays as it is"


@pytest.mark.case(17, 92)
def test_a_state_file_that_was_replaced_leads_nowhere(step: Product, github: GitHubStub, account: Hub) -> None:
    """Another step wrote it: no comment but the run's own is touched, and the Hub of the workflow alone is asked."""
    github.state.add_pull(8)
    other = github.state.add_comment(github.state.repos["octo/proj"], 8, LIVE % origin(step), "github-actions[bot]")
    mine = github.state.add_comment(github.state.repos["octo/proj"], 7, LIVE % origin(step), "github-actions[bot]")
    state = {"nonce": "b" * 32, "endpoint": "http://127.0.0.1:9", "namespace": "x", "pull": "8", "key": "y"}
    Path(step.environ["HF_TRAIN_STATE_FILE"]).write_text(json.dumps(state), encoding="utf-8")
    cleanup(step)
    assert other.edits == []
    assert len(mine.edits) == 1
    assert "Its Job was on another Hub." in mine.body
    assert account.requests() == []


@pytest.mark.case(39, 92)
@pytest.mark.parametrize(
    ("login", "body"),
    [
        pytest.param("mallory", LIVE % "{origin}", id="of a person"),
        pytest.param("github-actions[bot]", LIVE % "77.1", id="of another run"),
        pytest.param(
            "github-actions[bot]", LIVE.replace("train / train", "train / b", 1) % "{origin}", id="another leg"
        ),
        pytest.param(
            "github-actions[bot]",
            LIVE.replace("🏃 Training is running", "✅ Training completed") % "{origin}",
            id="over",
        ),
        pytest.param(
            "github-actions[bot]",
            LIVE.replace("🏃 Training is running", "🚀 Training goes on, detached") % "{origin}",
            id="detached",
        ),
    ],
)
def test_no_other_comment_is_closed(login: str, body: str, step: Product, github: GitHubStub) -> None:
    body = body.replace("{origin}", origin(step))
    comment = github.state.add_comment(github.state.repos["octo/proj"], 7, body, login)
    cleanup(step)
    assert (comment.body, comment.edits, len(github.comments())) == (body, [], 1)
    assert [one for one in github.requests if one.method != "GET"] == []


@pytest.mark.case(92)
@pytest.mark.parametrize("external", ["77.1", ""])
def test_no_check_of_another_run_is_closed(external: str, step: Product, github: GitHubStub) -> None:
    check = {"id": 5, "name": "train / train", "head_sha": "1" * 40, "status": "in_progress", "external_id": external}
    github.state.repos["octo/proj"].checks[5] = {**check, "output": {"title": "Training is running", "summary": "x"}}
    cleanup(step)
    assert [one for one in github.requests if one.method != "GET"] == []


@pytest.mark.case(90, 92)
@pytest.mark.parametrize("status", [401, 403, 429, 500, 0])
def test_a_github_that_refuses_does_not_disturb_the_cleanup(
    status: int, step: Product, github: GitHubStub, account: Hub
) -> None:
    github.state.add_comment(github.state.repos["octo/proj"], 7, LIVE % origin(step), "github-actions[bot]")
    github.fail("/", status, method="PATCH", times=-1)
    assert "The comment could not be closed: " in cleanup(step).out
    github.fail("/", status, times=-1)
    cleanup(step)


def test_off_github_and_without_a_token_nothing_is_asked(step: Product, github: GitHubStub) -> None:
    del step.environ["HF_TRAIN_GITHUB_TOKEN"]
    cleanup(step)
    step.environ |= {"HF_TRAIN_GITHUB_TOKEN": TOKEN, "GITHUB_ACTIONS": ""}
    cleanup(step)
    assert github.requests == []

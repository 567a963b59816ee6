"""`hf-train merge` on the GitHub stub: files of strangers in, one table and one comment out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hf_train.cli import main
from hf_train.report import as_json
from support import events
from support.github_stub import GitHubStub, Token
from unit.report.test_merge import leg


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with pull request 7, and a workflow's token."""
    with GitHubStub() as server:
        server.state.add_pull(7)
        server.state.tokens["ghs_localworkflow1"] = Token()
        yield server


@pytest.fixture
def step(github: GitHubStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A step of the pull request; its folder with two legs."""
    event = events.load("pull_request_labeled")
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "HF_TRAIN_", "HF_")):
            monkeypatch.delenv(name)
    summary = tmp_path / "summary.md"
    summary.touch()
    given = {
        **event.environ,
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "GITHUB_STEP_SUMMARY": str(summary),
        "HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for number, loss in ((1, 0.4), (2, 0.3)):
        folder = tmp_path / "reports" / f"report-{number}"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(as_json(leg(f"lr={number}", loss, 0.9)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_table_on_the_step_the_summary_and_the_pull_request(
    step: Path, github: GitHubStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", "reports"]) == 0
    said = capsys.readouterr().out
    (comment,) = github.comments()
    first, _, table = comment.body.partition("\n")
    assert first == "<!-- hf-train:train / train -->"
    assert "| 🏆 `lr=2` | ✅ completed | **0.3** |" in table
    assert table.strip() in said
    assert table.strip() == (step / "summary.md").read_text(encoding="utf-8").strip()
    assert "::stop-commands::" in said.split("### ")[0], "names of strangers are printed inside the window"
    assert main(["merge", "reports", "--legs", "3"]) == 0
    assert len(github.comments()) == 1
    assert "1 without a report" in github.comments()[0].body


def test_another_key_is_another_comment(step: Path, github: GitHubStub) -> None:
    assert main(["merge", "reports/report-1/report.json"]) == 0
    assert main(["merge", "reports/report-1/report.json", "--comment-key", "all legs"]) == 0
    assert [one.body.splitlines()[0] for one in github.comments()] == [
        "<!-- hf-train:train / train -->",
        "<!-- hf-train:all legs -->",
    ]


@pytest.mark.case(25)
def test_what_is_no_report_is_a_row_and_links_are_not_followed(
    step: Path, github: GitHubStub, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = step / "secret"
    secret.write_text("hf_localsecret1", encoding="utf-8")
    for name in ("link", "fifo", "large", "text", "empty"):
        (step / "reports" / name).mkdir()
    (step / "reports" / "link" / "report.json").symlink_to(secret)
    (step / "reports" / "folder").symlink_to(step / "reports" / "report-1")
    os.mkfifo(step / "reports" / "fifo" / "report.json")
    with (step / "reports" / "large" / "report.json").open("wb") as stream:
        stream.truncate(9 << 20)
    (step / "reports" / "text" / "report.json").write_text("::set-output name=a::b", encoding="utf-8")
    assert main(["merge", "reports", "reports/empty"]) == 0
    body = github.comments()[0].body
    assert "7 legs: 2 completed, 5 without a report" in body
    for why in ("it is no plain file", "it is larger than 8 MB", "it is not JSON", "there is no report.json"):
        assert why in body
    assert "hf_localsecret1" not in body + capsys.readouterr().out


def test_the_action_hands_its_inputs_over_as_variables(
    step: Path, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TRAIN_REPORTS", " reports/report-1 \n\nreports/report-2\n")
    monkeypatch.setenv("HF_TRAIN_LEGS", "3")
    monkeypatch.setenv("HF_TRAIN_COMMENT_KEY", "all legs")
    assert main(["merge"]) == 0
    (comment,) = github.comments()
    assert comment.body.startswith("<!-- hf-train:all legs -->")
    assert "3 legs: 2 completed, 1 without a report" in comment.body
    for name in ("HF_TRAIN_REPORTS", "HF_TRAIN_LEGS", "HF_TRAIN_COMMENT_KEY"):
        monkeypatch.setenv(name, "")
    assert main(["merge"]) == 2
    assert main(["merge", "reports"]) == 0


def after(step: Path, monkeypatch: pytest.MonkeyPatch, head: str) -> None:
    """The step belongs to a workflow that follows the run of a fork's pull request."""
    event = {"workflow_run": {"head_sha": head, "pull_requests": []}, "repository": {"private": False}}
    path = step / "event.json"
    path.write_text(json.dumps(event), encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_run")
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")


@pytest.mark.case(25)
def test_a_following_workflow_comments_where_github_says_and_not_where_the_report_says(
    step: Path, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.add_pull(8, head_sha="8" * 40)
    report = step / "reports" / "report-1" / "report.json"
    document = json.loads(report.read_text(encoding="utf-8"))
    report.write_text(json.dumps({**document, "pull": 7, "sha": "1" * 40}), encoding="utf-8")
    after(step, monkeypatch, "8" * 40)
    assert main(["merge", "reports"]) == 0
    assert [comment.number for comment in github.comments(8)] == [8]
    assert github.comments() == []


@pytest.mark.case(25)
def test_a_commit_that_is_no_head_any_more_gets_no_comment(
    step: Path, github: GitHubStub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    after(step, monkeypatch, "9" * 40)
    assert main(["merge", "reports"]) == 0
    assert github.comments() == []
    assert "There is no pull request to comment on" in capsys.readouterr().out


def test_no_report_at_all_is_bad_input(step: Path) -> None:
    assert main(["merge", "nowhere"]) == 2


def test_outside_of_a_pull_request_nothing_is_written(
    step: Path, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_EVENT_PATH")
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    assert main(["merge", "reports"]) == 0
    assert github.requests == []


@pytest.mark.case(98)
def test_a_github_that_wants_quiet_is_waited_for_once(
    step: Path, github: GitHubStub, capsys: pytest.CaptureFixture[str]
) -> None:
    github.fail("/comments", 429, method="POST", headers={"Retry-After": "1"})
    assert main(["merge", "reports"]) == 0
    assert len(github.comments()) == 1
    github.fail("/comments", 429, method="PATCH", times=-1, headers={"Retry-After": "3600"})
    assert main(["merge", "reports", "--legs", "3"]) == 0
    assert "The comment could not be written: GitHub limits" in capsys.readouterr().out


def test_a_github_that_refuses_is_a_warning(step: Path, github: GitHubStub, capsys: pytest.CaptureFixture[str]) -> None:
    github.fail("/", 403, times=-1)
    assert main(["merge", "reports"]) == 0
    assert "The comment could not be written: the GitHub token may not write here" in capsys.readouterr().out

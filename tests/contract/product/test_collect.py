"""`hf-train collect` on the local Hub and the GitHub stub: a detached Job's report, finished by another step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hf_train.flow import collector
from support import events
from support.github_stub import GitHubStub
from support.hf_cli import eventually
from support.local_hub_process import LIVE, Hub
from support.product import Done, Product, on_github

KEY = "<!-- hf-train:train / train -->"
LINES = "echo \"{'eval_loss': 0.25, 'epoch': 1.0}\""
OK = ("--path", "none", "--", "sh", "-c", LINES)
FAILS = ("--path", "none", "--", "sh", "-c", "exit 3")
GATED = ("--gate", "eval_loss <= 0.1", *OK)


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    with GitHubStub() as server:
        server.state.add_pull(7)
        yield server


@pytest.fixture
def step(product: Product, github: GitHubStub, tmp_path: Path) -> Product:
    """The product in a step of a pull request that detaches, with a check."""
    event = events.load("pull_request_labeled")
    files = on_github(tmp_path)
    ours = {name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
    product.environ |= {
        **event.environ,
        **ours,
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1",
    }
    return product


@pytest.fixture
def later(step: Product, tmp_path: Path) -> Product:
    """The product in a scheduled workflow of the same repository, with tokens of its own."""
    gone = ("GITHUB_EVENT_PATH", "GITHUB_REF", "GITHUB_SHA", "HF_TRAIN_GITHUB_TOKEN")
    environ = {name: value for name, value in step.environ.items() if name not in gone}
    environ |= {"GITHUB_EVENT_NAME": "schedule", "GITHUB_RUN_ID": "4242", "GITHUB_TOKEN": "ghs_localschedule1"}
    environ |= {"GITHUB_WORKFLOW": "collect", "GITHUB_JOB": "collect"}
    return Product(cwd=tmp_path, environ=environ, scratch=tmp_path / "later", fast=True)


def detach(step: Product, *words: str) -> Done:
    done = step.run("--mode", "detach", "--check", *words)
    assert (done.code, done.report["reason"]) == (0, "detached"), done.out
    return done


def ended(account: Hub) -> None:
    eventually(lambda: all(job["status"]["stage"] not in LIVE for job in account.jobs()))


def check(github: GitHubStub) -> tuple[str, str | None]:
    (run,) = github.state.repos["octo/proj"].checks.values()
    return run["status"], run["conclusion"]


def report_of(later: Product, job: str) -> dict[str, object]:
    path = Path(later.environ["RUNNER_TEMP"]) / "hf-train-report" / job / "report.json"
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


@pytest.mark.case(58)
def test_a_collect_that_lost_sight_of_the_job_is_not_the_last(step: Product, later: Product, account: Hub) -> None:
    job = detach(step, *OK).report["job-id"]
    ended(account)
    account.fault(f"GET /api/jobs/*/{job} status=403")
    later.call("collect")
    account.heal()
    assert report_of(later, job)["reason"] == "lost-sight"
    done = later.call("collect")
    assert "its report is finished" in done.out, done.out
    assert report_of(later, job)["reason"] == "completed"


@pytest.mark.case(58)
@pytest.mark.parametrize(
    ("words", "reason", "conclusion"),
    [(OK, "completed", "success"), (GATED, "gate-failed", "failure")],
)
def test_the_report_of_a_detached_job_is_finished_once(
    words: tuple[str, ...],
    reason: str,
    conclusion: str,
    step: Product,
    later: Product,
    account: Hub,
    github: GitHubStub,
) -> None:
    job = detach(step, *words).report["job-id"]
    assert check(github) == ("in_progress", None)
    ended(account)
    done = later.call("collect")
    assert (done.code, "its report is finished" in done.out) == (0, True), done.out
    assert report_of(later, job)["reason"] == reason
    assert check(github) == ("completed", conclusion)
    (comment,) = github.comments()
    assert comment.body.startswith(KEY)
    assert ("0.25" in comment.body) is (reason != "failed")
    assert (done.outputs["job-id"], done.outputs["reason"]) == (job, reason)
    github.requests.clear()
    account.forget()
    again = later.call("collect")
    assert (again.code, "its report was finished before" in again.out) == (0, True), again.out
    assert github.requests == []
    written = [one["path"] for one in account.requests("POST", "/api/")]
    assert [path for path in written if not path.endswith("/paths-info")] == []


@pytest.mark.case(58)
def test_a_named_job_gives_its_own_exit_code(step: Product, later: Product, account: Hub) -> None:
    job = detach(step, *FAILS).report["job-id"]
    ended(account)
    assert later.call("collect", env={"HF_TRAIN_JOBS": f" {job}\n"}).code == 1
    assert later.call("collect", job).code == 1, "a second look does not turn it green"


def test_a_job_that_runs_is_shown_and_collected_later(
    step: Product, later: Product, account: Hub, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "GLANCE_S", 2)
    words = ("--path", "none", "--", "sh", "-c", "echo \"{'loss': 0.5, 'epoch': 1.0}\"; sleep 60")
    job = detach(step, *words).report["job-id"]
    account.wait_for_stage("RUNNING")
    done = later.call("collect")
    assert (done.code, "it has not ended" in done.out) == (0, True), done.out
    assert account.stage(job) == "RUNNING", "a look from outside cancels nothing"
    assert check(github) == ("in_progress", None)
    assert "0.5" in github.comments()[0].body
    account.cancel_all()
    ended(account)
    assert later.call("collect", job).code == 4
    assert check(github) == ("completed", "cancelled")


def test_many_jobs_and_only_detached_ones_of_this_repository(step: Product, later: Product, account: Hub) -> None:
    jobs = {detach(step, "--env", f"SEED={number}", *OK).report["job-id"] for number in range(2)}
    assert step.run("--env", "SEED=9", *OK).code == 0
    foreign = {"GITHUB_REPOSITORY": "octo/other"}
    assert step.run("--mode", "detach", *FAILS, env=foreign).code == 0
    ended(account)
    done = later.call("collect")
    assert done.code == 0
    assert done.out.count("its report is finished") == 2
    folder = Path(later.environ["RUNNER_TEMP"]) / "hf-train-report"
    assert {one.name for one in folder.iterdir() if one.is_dir()} == jobs


@pytest.mark.case(56, 57)
def test_the_report_of_a_lost_run_is_finished_by_its_state_file(
    step: Product, later: Product, account: Hub, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    run = step.start(
        *OK[:2], "--", "sh", "-c", f"echo began; sleep 1; {LINES}", env={"HF_TRAIN_STATE_FILE": str(state)}
    )
    run.wait_for("| began")
    run.process.kill()
    run.done()
    step.end_all()
    ended(account)
    done = later.call("collect", "--state-file", str(state))
    assert (done.code, done.outputs["reason"]) == (0, "completed"), done.out


def test_a_newer_run_keeps_the_comment(step: Product, later: Product, account: Hub, github: GitHubStub) -> None:
    older = detach(step, *FAILS).report["job-id"]
    assert step.run("--reuse", "never", *OK).code == 0
    ended(account)
    before = github.comments()[0].body
    done = later.call("collect", older)
    assert done.code == 1
    assert github.comments()[0].body == before
    assert report_of(later, older)["reason"] == "failed"


@pytest.mark.case(70)
@pytest.mark.parametrize("what", ["command", "nothing"])
def test_labels_alone_are_not_trusted(
    what: str, step: Product, later: Product, account: Hub, github: GitHubStub
) -> None:
    done = detach(step, *OK)
    real = next(job for job in account.jobs() if job["id"] == done.report["job-id"])
    labels = dict(real["labels"])
    command = ["sh", "-c", "echo eval_loss 0"]
    if what == "nothing":
        labels["hft-nonce"] = "...-snapshots"
    forged = account.api.run_job(
        image=real["dockerImage"], command=command, labels=labels, namespace=account.user, flavor="cpu-basic"
    )
    ended(account)
    body = github.comments()[0].body
    collected = later.call("collect", forged.id)
    assert collected.code == 3, collected.out
    assert "it is not collected" in collected.out
    assert github.comments()[0].body == body
    assert check(github) == ("in_progress", None)


@pytest.mark.case(5)
def test_no_secret_is_left_in_the_bucket(step: Product, account: Hub) -> None:
    env = {"WANDB_API_KEY": "hf_localwandbsecret0001"}
    done = step.run("--mode", "detach", "--secrets", "WANDB_API_KEY", *OK, env=env)
    assert done.code == 0, done.out
    files = [one.path for one in account.api.list_bucket_tree(f"{account.user}/jobs-artifacts", "runs", recursive=True)]
    (path,) = [one for one in files if one.endswith("run.json")]
    target = step.scratch / "run.json"
    account.api.download_bucket_files(f"{account.user}/jobs-artifacts", [(path, target)])
    text = target.read_text()
    assert "WANDB_API_KEY" in text
    for secret in (env["WANDB_API_KEY"], account.token, "ghs_localworkflow1"):
        assert secret not in text


def test_a_comment_that_github_does_not_take_is_written_by_the_next_collect(
    step: Product, later: Product, account: Hub, github: GitHubStub
) -> None:
    detach(step, *OK)
    ended(account)
    github.fail("/issues/", 502, times=-1)
    assert later.call("collect").code == 0
    github.state.faults.clear()
    done = later.call("collect")
    assert "its report is finished" in done.out
    assert "0.25" in github.comments()[0].body


@pytest.mark.parametrize(
    ("words", "env", "says", "code"),
    [
        (("a", "--label", "x=y"), {}, "keep one", 2),
        (("--label", "x"), {}, "'x' is not NAME=VALUE", 2),
        (("--state-file", "/nowhere"), {}, "names no launch", 2),
        ((), {"GITHUB_REPOSITORY": ""}, "name at least one Job", 2),
        ((), {"HF_TOKEN": "", "GITHUB_ACTIONS": "true"}, "needs a Hub token", 3),
        (("0" * 24,), {}, "The Hub has no Job", 3),
    ],
)
def test_what_a_collect_needs(
    words: tuple[str, ...], env: dict[str, str], says: str, code: int, later: Product
) -> None:
    done = later.call("collect", *words, env=env)
    assert (done.code, says in done.out) == (code, True), done.out

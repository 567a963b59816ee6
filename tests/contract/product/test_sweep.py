"""`hf-train sweep` on the local Hub and the GitHub stub: ten orphans among forty others, all ten and only those."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.github_stub import GitHubStub, WorkflowRun
from support.local_hub_process import LIVE, Hub
from support.product import Product

OURS = {"hf-train": "1", "hft-repo": "octo-proj"}


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with ten runs that are over, one way or the other, and two that are not."""
    with GitHubStub() as server:
        runs = server.state.repos["octo/proj"].runs
        for number in range(10):
            ended = ("success", "failure", "cancelled")[number % 3]
            runs[100 + number] = WorkflowRun(id=100 + number, status="completed", conclusion=ended)
        runs[200] = WorkflowRun(id=200, status="in_progress", conclusion=None)
        runs[201] = WorkflowRun(id=201, status="queued", conclusion=None)
        yield server


@pytest.fixture
def step(product: Product, github: GitHubStub) -> Product:
    """The product in a scheduled workflow."""
    product.environ |= {
        "GITHUB_REPOSITORY": "octo/proj",
        "GITHUB_API_URL": github.url,
        "GITHUB_TOKEN": "ghs_localworkflow1",
    }
    return product


def plant(account: Hub, labels: dict[str, str], command: str = "sleep 300") -> str:
    """A Job of somebody, with these labels."""
    job = account.api.run_job(image="python:3.12", command=["sh", "-c", command], labels=labels, namespace=account.user)
    return job.id


def stages(account: Hub) -> dict[str, str]:
    return {job["id"]: job["status"]["stage"] for job in account.jobs()}


def forty_others(account: Hub) -> set[str]:
    """Live Jobs that are not orphans of this repository."""
    others = [{"team": "vision"}] * 8
    others += [{**OURS, "hft-run": "200"}] * 8
    others += [{**OURS, "hft-run": "201"}] * 4
    others += [{**OURS, "hft-run": str(100 + number), "hft-mode": "detach"} for number in range(8)]
    others += [{"hf-train": "1", "hft-repo": "octo-other", "hft-run": "100"}] * 4
    others += [{**OURS, "hft-run": "999"}] * 4
    others += [OURS] * 2
    others += [{"hft-repo": "octo-proj", "hft-run": "100"}] * 2
    return {plant(account, labels) for labels in others}


@pytest.mark.case(57)
def test_ten_orphans_among_forty_others(step: Product, account: Hub, github: GitHubStub) -> None:
    account.fault("jobs schedule-seconds=120")  # fifty Jobs, and not one process
    orphans = {plant(account, {**OURS, "hft-run": str(100 + number)}) for number in range(10)}
    others = forty_others(account)
    assert (len(orphans), len(others)) == (10, 40)
    dry = step.call("sweep")
    assert (dry.code, dry.out.count("would be cancelled: ")) == (0, 10), dry.out
    assert set(stages(account).values()) <= LIVE, "dry is dry"
    account.forget()
    wet = step.call("sweep", "--apply")
    assert wet.code == 0, wet.out
    assert {job for job, stage in stages(account).items() if stage not in LIVE} == orphans
    cancels = [one["path"].split("/")[-2] for one in account.requests("POST")]
    assert (sorted(cancels), len(cancels)) == (sorted(orphans), 10), "nothing else was touched, not even asked to"
    assert "10 orphan(s) among" in wet.out
    again = step.call("sweep", "--apply")
    assert (again.code, "0 orphan(s)" in again.out) == (0, True)
    asked = [one.path for one in github.requests]
    assert all("/actions/runs/" in path for path in asked)


@pytest.mark.case(57)
@pytest.mark.parametrize("status", [0, 401, 403, 500, 502])
def test_a_github_that_does_not_answer_makes_no_orphan(
    status: int, step: Product, account: Hub, github: GitHubStub
) -> None:
    account.fault("jobs schedule-seconds=120")
    job = plant(account, {**OURS, "hft-run": "100"})
    github.fail("/actions/runs/", status, times=-1)
    done = step.call("sweep", "--apply")
    assert done.code == 0, done.out
    assert "its workflow run is not known" in done.out
    assert stages(account)[job] in LIVE


def test_young_jobs_are_left_alone_when_asked(step: Product, account: Hub) -> None:
    account.fault("jobs schedule-seconds=120")
    job = plant(account, {**OURS, "hft-run": "100"})
    done = step.call("sweep", "--apply", "--older-than", "1h")
    assert (done.code, stages(account)[job] in LIVE) == (0, True), done.out


def test_a_cancel_that_the_hub_does_not_take_is_said(step: Product, account: Hub) -> None:
    account.fault("jobs schedule-seconds=120", "POST /api/jobs/*/*/cancel status=503")
    plant(account, {**OURS, "hft-run": "100"})
    done = step.call("sweep", "--apply")
    assert (done.code, "1 Job(s) could not be cancelled" in done.out) == (3, True), done.out


@pytest.mark.parametrize(
    ("words", "env", "says", "code"),
    [
        (("--repository", "octo"), {}, "name the GitHub repository", 2),
        ((), {"GITHUB_REPOSITORY": ""}, "name the GitHub repository", 2),
        (("--older-than", "-1h"), {}, "older-than: '-1h' is not a duration", 2),
        ((), {"GITHUB_TOKEN": ""}, "needs a GitHub token", 3),
        ((), {"HF_TOKEN": "", "GITHUB_ACTIONS": "true"}, "needs a Hub token", 3),
    ],
)
def test_what_a_sweep_needs(
    words: tuple[str, ...], env: dict[str, str], says: str, code: int, step: Product, account: Hub
) -> None:
    done = step.call("sweep", *words, env=env)
    assert (done.code, says in done.out) == (code, True), done.out
    assert account.requests() == []

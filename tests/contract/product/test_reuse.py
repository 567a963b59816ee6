"""Never two Jobs of one training, whoever races; and a newer push before an older one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flow.steps import ON_GITHUB, request
from hf_train import hub
from hf_train.clock import SystemClock
from hf_train.flow.launch import Launched, launch
from hf_train.flow.prepare import prepare
from hf_train.flow.strays import Strays
from hf_train.hub import HuggingFaceHub
from hf_train.values import Secret
from support import events
from support.fakes import World
from support.github_stub import GitHubStub
from support.hf_cli import eventually
from support.local_hub_process import LIVE, Hub
from support.product import Product, on_github

SLEEP = ("--path", "none", "--", "sh", "-c", "echo began; sleep 120")
RACERS = 20


def racer(account: Hub, number: int, together: threading.Barrier, launched: list[Launched]) -> threading.Thread:
    """One re-run of the training, in a thread of its own."""
    ports = replace(World().ports, hub=HuggingFaceHub(account.url, Secret(account.token)), clock=SystemClock())
    asked = replace(request(path="none", timeout="10m"), nonce=f"{number:032x}")

    def go() -> None:
        prepared = prepare(asked, ports)
        together.wait(30)
        launched.append(launch(prepared, ON_GITHUB, Strays(prepared.plan, ports), reuse=True, snapshot=None))

    return threading.Thread(target=go)


@pytest.mark.case(69)
@pytest.mark.parametrize("fault", ["jobs schedule-seconds=20", "jobs schedule-seconds=20 listed-after=1"])
def test_twenty_concurrent_reruns_of_one_key_leave_one_job(
    fault: str, account: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All twenty see no Job and send their POST; each list is looked at until it shows the own Job."""
    monkeypatch.setattr(hub.jobs, "close_session", lambda: None)  # here, twenty launches share one process
    account.fault(fault)
    together, launched = threading.Barrier(RACERS), list[Launched]()
    threads = [racer(account, number, together, launched) for number in range(RACERS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(launched) == RACERS
    account.heal()
    jobs = account.jobs()
    live = [job for job in jobs if job["status"]["stage"] in LIVE]
    oldest = min(jobs, key=lambda job: (job["createdAt"], job["id"]))
    assert [job["id"] for job in live] == [oldest["id"]], "the oldest stays, and no other"
    assert {one.state.ref.id for one in launched} == {live[0]["id"]}, "all follow it"
    extras = [job for job in jobs if job["id"] != live[0]["id"]]
    assert all(job["status"]["stage"] == "CANCELED" and not job.get("startedAt") for job in extras), "none was billed"
    print(f"{len(jobs)} POSTs, {len(extras)} cancelled before they ran")


@pytest.mark.case(69, 57)
def test_who_attaches_owns_the_job(product: Product, account: Hub, tmp_path: Path) -> None:
    """A sweep asks for the run that follows the Job now, and its cleanup finds it."""
    env = on_github(tmp_path)
    first = product.run("--mode", "detach", *SLEEP, env=env)
    state = tmp_path / "state.json"
    second = product.start(*SLEEP, env={**env, "GITHUB_RUN_ID": "78", "HF_TRAIN_STATE_FILE": str(state)})
    second.wait_for("Attached to Job")
    eventually(lambda: account.jobs()[0]["labels"]["hft-run"] == "78")
    labels = account.jobs()[0]["labels"]
    assert labels["hft-mode"] == "detach", "the first run's wish stays"
    second.process.kill()
    second.done()
    assert product.call("cancel", "--state-file", str(state)).code == 0
    assert account.stage(first.report["job-id"]) == "CANCELED"


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    with GitHubStub() as server:
        server.state.add_pull(7)
        yield server


@pytest.fixture
def pull(product: Product, github: GitHubStub, tmp_path: Path) -> Product:
    """The product in a step of a pull request."""
    event = events.load("pull_request_labeled")
    files = on_github(tmp_path)
    ours = {name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
    product.environ |= {**event.environ, **ours, "GITHUB_EVENT_PATH": str(event.path), "GITHUB_API_URL": github.url}
    product.environ |= {"HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1"}
    return product


def pushed(pull: Product, tmp_path: Path, sha: str, run_id: str) -> dict[str, str]:
    """Variables of the run of another push to the pull request."""
    path = tmp_path / f"event-{sha[:4]}.json"
    path.write_text(Path(pull.environ["GITHUB_EVENT_PATH"]).read_text().replace("1" * 40, sha))
    return {"GITHUB_EVENT_PATH": str(path), "GITHUB_RUN_ID": run_id}


def trains(seconds: int) -> tuple[str, ...]:
    """A training of another length is another training."""
    return ("--path", "none", "--", "sh", "-c", f"echo began; sleep {seconds}")


@pytest.mark.case(59)
def test_a_newer_push_cancels_the_older_job_whose_report_says_so(
    pull: Product, account: Hub, github: GitHubStub, tmp_path: Path
) -> None:
    older = pull.start(*trains(300))
    older.wait_for("| began")
    newer = pull.run("--mode", "detach", *trains(301), env=pushed(pull, tmp_path, "3" * 40, "1658821500"))
    assert (newer.code, "superseded by 3333333" in newer.out) == (0, True), newer.out
    done = older.done()
    assert (done.code, done.report["stage"], done.report["reason"]) == (4, "CANCELED", "cancelled-on-hub"), done.out
    assert "Superseded by 3333333" in done.report["headline"]
    assert f"superseded by {'3' * 40}" in done.problems
    assert [job["status"]["stage"] in LIVE for job in account.jobs()] == [True, False]


@pytest.mark.case(59)
def test_keep_leaves_it_and_an_older_run_never_ends_a_newer_one(pull: Product, account: Hub, tmp_path: Path) -> None:
    account.fault("jobs schedule-seconds=60")
    newer = pushed(pull, tmp_path, "3" * 40, "1658821500")
    assert pull.run("--mode", "detach", *trains(300), env=newer).code == 0
    assert pull.run("--mode", "detach", *trains(301)).code == 0
    newest = pushed(pull, tmp_path, "4" * 40, "1658821600")
    assert pull.run("--mode", "detach", "--supersede", "keep", *trains(302), env=newest).code == 0
    assert [job["status"]["stage"] in LIVE for job in account.jobs()] == [True, True, True]


@pytest.mark.case(59)
def test_queue_waits_for_the_older_job(pull: Product, account: Hub, tmp_path: Path) -> None:
    assert pull.run("--mode", "detach", *trains(8)).code == 0
    newer = pushed(pull, tmp_path, "3" * 40, "1658821500")
    done = pull.run("--mode", "detach", "--supersede", "queue", *trains(3), env=newer)
    assert (done.code, "supersede: queue" in done.out) == (0, True), done.out
    second, first = account.jobs()
    assert first["status"]["stage"] == "COMPLETED"
    assert first["finishedAt"] <= second["createdAt"]

"""Signals, by process: the Job is cancelled within seconds, and the report says so. All moments: `test_kill.py`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.local_hub_process import LIVE, Hub
from support.product import Live, Product, clean_environ, make_repo, on_github

WITHIN_S = 3.0
SLEEP = ("--path", "none", "--", "sh", "-c", "trap '' INT; echo began; sleep 120")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def product(account: Hub, tmp_path: Path) -> Iterator[Product]:
    """`hf-train` in a repository, with a state file."""
    repo = make_repo(tmp_path / "repo", {"train.py": "print('x')\n"})
    environ = {**account.environ, "HF_TRAIN_STATE_FILE": str(tmp_path / "state.json")}
    made = Product(cwd=repo, environ=environ, scratch=tmp_path)
    yield made
    made.end_all()


def state(product: Product) -> Path:
    """The state file."""
    return Path(product.environ["HF_TRAIN_STATE_FILE"])


def wait_until(condition: Callable[[], object], timeout_s: float = 15) -> None:
    """Until something holds.

    Raises:
        AssertionError: It did not in time.
    """
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.03)


def stopped(run: Live, account: Hub, signum: signal.Signals) -> None:
    """Send the signal; nothing may live on the Hub `WITHIN_S` later, and the report says what was done."""
    began = time.monotonic()
    run.signal(signum)
    wait_until(lambda: all(job["status"]["stage"] not in LIVE for job in account.jobs()), WITHIN_S)
    done = run.done()
    assert done.code == CODES[signum], done.out
    assert all(job["status"]["stage"] not in LIVE for job in account.jobs()), "a Job came to life after the cancel"
    assert done.report["exit-code"] == CODES[signum]
    assert done.report["reason"] == "cancelled", done.out
    assert "Traceback" not in done.out
    assert (done.folder / "comment.md").is_file()
    assert time.monotonic() - began < 7.5, "the runner sends SIGTERM after 7.5 s"


@pytest.mark.case(54)
@pytest.mark.parametrize("signum", CODES)
def test_while_it_runs(signum: signal.Signals, product: Product, account: Hub) -> None:
    run = product.start(*SLEEP)
    run.wait_for("| began")
    assert json.loads(state(product).read_text())["job-id"] == account.jobs()[0]["id"]
    assert state(product).stat().st_mode & 0o077 == 0
    stopped(run, account, signum)
    assert account.jobs()[0]["status"]["stage"] == "CANCELED"
    assert not state(product).exists()


@pytest.mark.case(55, 66)
def test_a_launch_that_the_hub_shows_late_is_found_all_the_same(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* delay=3 after-effect", "jobs listed-after=2")
    run = product.start(*SLEEP)
    wait_until(lambda: account.requests("POST", f"/api/jobs/{account.user}"))
    time.sleep(0.2)
    stopped(run, account, signal.SIGINT)
    account.heal()
    assert account.jobs()[0]["status"]["stage"] == "CANCELED"


@pytest.mark.case(55)
def test_a_launch_that_never_reached_the_hub_leaves_the_label_to_the_cleanup(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* hang")
    run = product.start(*SLEEP)
    wait_until(lambda: account.requests("POST", f"/api/jobs/{account.user}"))
    stopped(run, account, signal.SIGTERM)
    assert account.jobs() == []
    assert state(product).exists()


def test_while_the_last_lines_are_read(product: Product, account: Hub) -> None:
    """The Job has ended by itself: there is nothing to cancel, and the verdict of the step is the signal's."""
    account.fault("logs silent-after=2")
    run = product.start("--path", "none", "--", "sh", "-c", "for i in 1 2 3 4 5; do echo line $i; done; exit 3")
    account.wait_for_stage("ERROR")
    time.sleep(1.5)
    run.signal(signal.SIGTERM)
    done = run.done()
    assert done.code == 143, done.out
    assert account.jobs()[0]["status"]["stage"] == "ERROR"
    assert not state(product).exists()


def test_a_second_signal_does_not_disturb_the_cancel(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/*/*/cancel delay=0.5")
    run = product.start(*SLEEP)
    run.wait_for("| began")
    run.signal(signal.SIGINT)
    time.sleep(0.2)
    run.signal(signal.SIGTERM)
    done = run.done()
    assert done.code == 130, done.out
    assert (done.report["reason"], account.jobs()[0]["status"]["stage"]) == ("cancelled", "CANCELED")


def test_a_cancel_that_fails_once_is_tried_again(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/*/*/cancel status=503 times=1")
    run = product.start(*SLEEP)
    run.wait_for("| began")
    stopped(run, account, signal.SIGINT)


def test_a_cancel_that_never_works_is_said_and_leaves_the_state_file(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/*/*/cancel status=503")
    run = product.start(*SLEEP)
    run.wait_for("| began")
    run.signal(signal.SIGINT)
    done = run.done()
    assert done.code == 130
    assert "the Hub did not confirm that the Job stopped" in done.out
    assert account.jobs()[0]["status"]["stage"] == "RUNNING"
    assert state(product).exists(), "the cleanup step needs it"


def test_on_cancel_keep_leaves_the_job(product: Product, account: Hub) -> None:
    run = product.start("--on-cancel", "keep", *SLEEP)
    run.wait_for("| began")
    run.signal(signal.SIGTERM)
    done = run.done()
    assert (done.code, done.report["reason"]) == (143, "kept-running"), done.out
    assert account.jobs()[0]["status"]["stage"] == "RUNNING"
    assert not state(product).exists()


@pytest.mark.case(56)
def test_what_a_killed_run_left_is_cancelled_by_its_state_file(product: Product, account: Hub) -> None:
    run = product.start(*SLEEP)
    run.wait_for("| began")
    run.signal(signal.SIGKILL)
    assert run.done().code == -9
    other = product.call("run", "--mode", "detach", "--reuse", "never", *SLEEP, env={"HF_TRAIN_STATE_FILE": ""})
    assert other.code == 0
    cleanup = product.call("cancel", "--state-file", str(state(product)))
    assert cleanup.code == 0
    assert "was left running; cancelled" in cleanup.out
    newer, older = (job["status"]["stage"] for job in account.jobs())
    assert newer in LIVE
    assert older == "CANCELED"
    again = product.call("cancel", "--state-file", str(state(product)))
    assert (again.code, "Nothing is left to cancel." in again.out) == (0, True)


@pytest.mark.case(56)
def test_a_run_killed_before_it_knew_the_id_is_found_by_its_label(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* status=503 after-effect delay=0.3")
    run = product.start(*SLEEP)
    wait_until(account.jobs)
    run.signal(signal.SIGKILL)
    run.done()
    assert json.loads(state(product).read_text())["job-id"] == ""
    assert product.call("cancel", "--state-file", str(state(product))).code == 0
    assert account.jobs()[0]["status"]["stage"] == "CANCELED"


@pytest.mark.case(17)
def test_a_state_file_with_a_foreign_id_cancels_nothing_foreign(product: Product, account: Hub, tmp_path: Path) -> None:
    foreign = product.call("run", "--mode", "detach", *SLEEP, env={"HF_TRAIN_STATE_FILE": ""})
    assert foreign.code == 0
    job = account.jobs()[0]["id"]
    path = tmp_path / "forged.json"
    path.write_text(json.dumps({"endpoint": account.url, "namespace": account.user, "nonce": "0" * 32, "job-id": job}))
    assert product.call("cancel", "--state-file", str(path)).code == 0
    assert account.stage(job) in LIVE


@pytest.mark.case(54)
def test_the_step_as_a_runner_starts_it(product: Product, account: Hub, tmp_path: Path) -> None:
    """`bash -e FILE` whose last line is `exec`: SIGINT to that one process reaches ours."""
    script = tmp_path / "step.sh"
    script.write_text(
        f'exec "{sys.executable}" -I -m hf_train run {" ".join(SLEEP[:2])} -- sh -c "echo began; sleep 120"\n'
    )
    environ = clean_environ({**product.environ, **on_github(tmp_path)})
    out = tmp_path / "step.out"
    with out.open("wb") as stream:
        process = subprocess.Popen(
            ["bash", "-e", str(script)], cwd=product.cwd, env=environ, stdout=stream, stderr=stream
        )
    run = Live(process=process, log=out, folder=tmp_path / "runner-temp" / "hf-train-report")
    run.wait_for("| began")
    stopped(run, account, signal.SIGINT)
    printed = out.read_text(encoding="utf-8")
    token = printed.split("::stop-commands::")[-1].split("\n")[0]
    assert f"\n::{token}::\n" in printed, "commands are obeyed again at the end"

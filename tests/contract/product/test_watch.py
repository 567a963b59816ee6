"""Following a Job on a Hub that fails: the stage is the verdict, every line comes once, and one launch is one Job."""

from __future__ import annotations

import re
import resource
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hf_train import hub
from hf_train.flow import watch
from support.hf_cli import eventually
from support.local_hub_process import Hub, names
from support.product import Done, Product, commit, on_github, write

NUMBERS = "for i in $(seq 1 30); do echo line $i; done"
SLOW_NUMBERS = "for i in $(seq 1 30); do echo line $i; sleep 0.03; done"
LINES = [f"line {number}" for number in range(1, 31)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent stream is given up after a second, and tried again after a moment."""
    monkeypatch.setattr(hub.logs, "SILENCE_S", 1.0)
    monkeypatch.setattr(hub.logs, "BACKOFF_S", (0.1, 0.2))
    monkeypatch.setattr(watch, "DRAIN_S", 3.0)


def sh(script: str) -> tuple[str, ...]:
    """A shell as the Job's command, without the code."""
    return ("--path", "none", "--", "sh", "-c", script)


@pytest.mark.case(76)
@pytest.mark.parametrize(
    ("fault", "script", "code"),
    [
        ("GET /api/jobs/*/* status=502 nth=2 times=5", NUMBERS, 0),
        ("GET /api/jobs/*/* status=502 nth=2 times=5", f"{NUMBERS}; exit 3", 1),
        ("GET /api/jobs/*/* status=429 header.Retry-After=7 nth=1 times=3", NUMBERS, 0),
        ("GET /api/jobs/*/* drop=before nth=1 times=4", f"{NUMBERS}; exit 3", 1),
        ("GET /api/jobs/*/* rst=before nth=1 times=4", NUMBERS, 0),
        ("GET /api/jobs/*/* status=404 nth=1 times=1", NUMBERS, 0),
    ],
)
def test_status_polls_that_fail_do_not_change_the_verdict(
    fault: str, script: str, code: int, product: Product, account: Hub
) -> None:
    account.fault(fault)
    done = product.run(*sh(script))
    assert (done.code, done.job_lines) == (code, LINES), done.out
    assert [one["path"] for one in account.requests("POST") if one["path"].endswith("/cancel")] == []


@pytest.mark.case(76)
def test_an_outage_that_lasts_ends_the_watch_and_not_the_job(
    product: Product, account: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "OUTAGE_TOLERANCE_S", 3.0)
    account.fault("GET /api/jobs/*/* status=503 nth=3")
    done = product.run(*sh("sleep 300"))
    assert (done.code, done.report["reason"]) == (75, "lost-sight"), done.out
    assert done.report["job-id"]
    assert "it may still run" in done.out
    account.heal()
    assert account.stage(done.report["job-id"]) == "RUNNING"


@pytest.mark.case(87)
def test_a_token_that_dies_while_watching_is_75_and_not_a_failed_training(product: Product, account: Hub) -> None:
    account.fault("GET /api/jobs/*/* status=401 nth=3")
    done = product.run(*sh("sleep 300"))
    assert (done.code, done.report["reason"]) == (75, "lost-sight"), done.out
    assert "The Job may still run" in done.out


@pytest.mark.case(75)
@pytest.mark.parametrize(("script", "code"), [(NUMBERS, 0), (f"{NUMBERS}; exit 3", 1)])
def test_logs_that_never_open_do_not_change_the_verdict(script: str, code: int, product: Product, account: Hub) -> None:
    account.fault("GET /api/jobs/*/*/logs status=503")
    done = product.run(*sh(script))
    assert done.code == code
    assert "The log stream failed: HTTP 503" in done.problems
    assert "The log stream failed: HTTP 503" in (done.folder / "comment.md").read_text()


@pytest.mark.case(78)
@pytest.mark.case(77, 79)
@pytest.mark.parametrize(
    "fault",
    [
        "logs cut-after=7 times=4",
        "logs rst-after=7 times=4",
        "logs malformed-after=7",
        "logs silent-after=7 times=2",
        "logs cut-after=0 times=2",
        "GET /api/jobs/*/*/logs status=404 times=1",
        "GET /api/jobs/*/*/logs drop=before times=2",
    ],
)
@pytest.mark.parametrize("script", [NUMBERS, SLOW_NUMBERS])
def test_each_line_comes_once_through_a_stream_that_fails(
    fault: str, script: str, product: Product, account: Hub
) -> None:
    account.fault(fault)
    done = product.run(*sh(script))
    assert (done.code, done.job_lines) == (0, LINES), done.out
    shown = [line.removeprefix("| ") for line in done.out.splitlines() if line.startswith("| line")]
    assert shown == LINES
    assert done.report["log-lines"] == 30
    if "malformed" in fault:
        assert "malformed log event(s) were skipped" in done.problems
    elif "rst" in fault:
        assert "The log stream failed" in done.problems


@pytest.mark.case(66)
@pytest.mark.parametrize(
    "fault",
    [
        "POST /api/jobs/* drop=before times=1",
        "POST /api/jobs/* drop=after times=1",
        "POST /api/jobs/* status=503 after-effect times=1",
        "POST /api/jobs/* status=502 times=1",
        "POST /api/jobs/* status=504 after-effect times=1",
        "POST /api/jobs/* status=429 times=1",
    ],
)
def test_a_launch_without_a_clear_answer_makes_one_job(fault: str, product: Product, account: Hub) -> None:
    account.fault(fault)
    done = product.run(*sh("echo once"))
    assert (done.code, done.job_lines) == (0, ["once"]), done.out
    jobs = account.jobs()
    assert [job["id"] for job in jobs] == [done.report["job-id"]]
    assert len(account.launches()) == (1 if "after" in fault else 2)
    assert len({body["labels"]["hft-nonce"] for body in account.launches() if body}) == 1


@pytest.mark.case(66)
def test_a_list_that_lags_behind_the_launch_still_makes_one_job(product: Product, account: Hub) -> None:
    account.fault(
        "POST /api/jobs/* status=503 after-effect times=1",
        # The first list is the one for a Job to reuse; the next two do not show the new Job yet.
        "GET /api/jobs/* status=200 body='[]' nth=2 times=2",
    )
    done = product.run(*sh("echo once"))
    assert done.code == 0, done.out
    assert len(account.jobs()) == 1


@pytest.mark.case(66, 67)
def test_a_launch_that_is_never_answered_is_75_and_names_the_label(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* status=503")
    done = product.run(*sh("true"))
    assert done.code == 75
    assert "hft-nonce=" in done.out
    assert (len(account.launches()), account.jobs()) == (2, [])


@pytest.mark.case(60)
def test_an_unknown_stage_is_waited_out(product: Product, account: Hub) -> None:
    account.fault("jobs stage=PAUSED")
    threading.Timer(2.5, account.heal).start()
    done = product.run(*sh("echo x"))
    assert (done.code, done.report["stage"]) == (0, "COMPLETED"), done.out
    assert done.out.count("The Hub says 'PAUSED'; waiting for one that we know.") == 1


@pytest.mark.case(64)
def test_a_job_cancelled_on_the_hub_is_4(product: Product, account: Hub) -> None:
    threading.Timer(2.0, account.cancel_all).start()
    done = product.run(*sh("echo began; sleep 60"))
    assert (done.code, done.report["stage"], done.report["reason"]) == (4, "CANCELED", "cancelled-on-hub"), done.out
    assert done.job_lines == ["began"]


@pytest.mark.case(64)
def test_a_job_deleted_on_the_hub_is_4(product: Product, account: Hub) -> None:
    account.fault("GET /api/jobs/*/* status=404 nth=4")
    account.fault("jobs listed-after=600")  # for a short time a 404 is no proof, and then the list must agree
    done = product.run(*sh("sleep 60"))
    assert (done.code, done.report["stage"], done.report["reason"]) == (4, "DELETED", "deleted-on-hub"), done.out


@pytest.mark.case(62)
def test_a_timeout_on_the_hub_is_5(product: Product, account: Hub) -> None:
    done = product.run("--timeout", "1s", *sh("echo began; sleep 60"))
    assert (done.code, done.report["stage"], done.report["reason"]) == (5, "ERROR", "timeout"), done.out
    assert "Job timeout" in (done.folder / "comment.md").read_text()


@pytest.mark.case(63)
@pytest.mark.case(60)
@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        ("exit 1", "failed", "exit code 1"),
        ("exit 42", "failed", "exit code 42"),
        ("no-such-command", "failed", "exit code 127"),
        ("kill -9 $$", "out-of-memory", "memory"),
        ("echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1", "failed", "memory"),
    ],
)
def test_a_training_that_fails_is_1_and_says_why(script: str, reason: str, words: str, product: Product) -> None:
    done = product.run(*sh(script))
    assert (done.code, done.report["stage"], done.report["reason"]) == (1, "ERROR", reason), done.out
    assert words in (done.folder / "comment.md").read_text()


@pytest.mark.case(60)
def test_an_end_without_words_is_still_a_failure(product: Product, account: Hub) -> None:
    account.fault("jobs final=ERROR message='The node went away'")
    done = product.run(*sh("true"))
    assert done.code == 1
    assert "The node went away" in (done.folder / "comment.md").read_text()


@pytest.mark.case(71)
def test_no_hardware_in_time_is_75_and_cancelled(product: Product, account: Hub) -> None:
    account.fault("jobs schedule-seconds=60 schedule-message='No capacity'")
    done = product.run("--queue-timeout", "20s", *sh("true"))
    assert (done.code, done.report["reason"]) == (75, "queue-timeout"), done.out
    assert account.jobs()[0]["status"]["stage"] == "CANCELED"


@pytest.mark.case(58)
@pytest.mark.parametrize(
    ("policy", "code", "stage"), [("fail", 75, "RUNNING"), ("detach", 0, "RUNNING"), ("cancel", 75, "CANCELED")]
)
def test_a_watch_that_ends_before_the_job(policy: str, code: int, stage: str, product: Product, account: Hub) -> None:
    done = product.run("--watch-timeout", "3s", "--on-watch-timeout", policy, *sh("sleep 60"))
    assert done.code == code, done.out
    eventually(lambda: account.stage(done.report["job-id"]) == stage)  # waits pass at once here, the Hub takes its time


@pytest.mark.case(1)
def test_hostile_lines_are_one_line_each_and_command_nobody(product: Product, repo: Path, tmp_path: Path) -> None:
    hostile = [
        "a\u2028b\u2029c\x85d",
        "\x1b[31mred\x1b[0m \x1b]8;;http://evil\x07link\x1b]8;;\x07",
        "::error file=a.py::owned",
        "\x1b[0m::set-output name=x::1",
        "##[error]owned",
        "text ##[command]owned",
        "progress 1\rprogress 2\r::add-mask::e",
        "\u00a0::warning::owned",
        "nul \x00 and bell \x07",
        "\u202e reversed",
    ]
    (repo / "hostile.txt").write_bytes("".join(f"{line}\n" for line in hostile).encode() + b"broken \xff bytes\n")
    commit(repo)
    done = product.run("--", "cat", "hostile.txt", env=on_github(tmp_path))
    assert done.code == 0, done.out
    log = (done.folder / "job.log").read_bytes().decode()
    assert log.removesuffix("\n").split("\n") == [*hostile, "broken \ufffd bytes"]
    assert done.report["log-lines"] == len(hostile) + 1
    inside = _window(done.out)
    assert "owned" in inside
    for line in re.split(r"\r\n|\n|\r|\x85|\u2028|\u2029", inside):
        assert not line.lstrip("\u00a0 \t\ufeff").startswith("::"), line
        assert "##[" not in line, line
    assert "\x1b" not in inside
    assert "\u202e" not in inside


def _window(out: str) -> str:
    """What stands between `::stop-commands::TOKEN` and `::TOKEN::`."""
    match = re.search(r"::stop-commands::([0-9a-f]{64})\n(.*)\n::\1::", out, re.DOTALL)
    assert match, out
    return match[2]


@pytest.mark.case(82)
def test_a_hundred_thousand_lines_in_little_time_and_memory(product: Product, repo: Path) -> None:
    write(
        repo,
        {"many.py": "for i in range(100_000):\n    print('step', i, 'of 100000 - some words of a training log')\n"},
    )
    commit(repo)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    done = product.run("--", "python", "many.py")
    seconds = time.monotonic() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert (done.code, done.report["log-lines"]) == (0, 100_000)
    assert len(done.job_lines) == 100_000
    assert "50000 more line(s) are not shown here" in done.out
    print(f"100,000 lines in {seconds:.1f} s, {grown:.0f} MB more")
    assert seconds < 30
    assert grown < 150


@pytest.fixture
def live(account: Hub, product: Product) -> Done:
    """A Job of a training that runs, launched by an earlier run."""
    return product.run("--mode", "detach", *sh("sleep 4; echo shared"))


@pytest.mark.case(69)
def test_a_second_run_attaches_to_the_live_job(product: Product, account: Hub, live: Done) -> None:
    done = product.run(*sh("sleep 4; echo shared"))
    assert (done.code, done.job_lines) == (0, ["shared"]), done.out
    assert done.report["job-id"] == live.report["job-id"]
    assert "Attached to Job" in done.report["reused"]
    assert len(account.launches()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--reuse", "never", *sh("sleep 4; echo shared")),
        ("--flavor", "cpu-upgrade", *sh("sleep 4; echo shared")),
        ("--env", "SEED=2", *sh("sleep 4; echo shared")),
        sh("sleep 4; echo other"),
    ],
)
def test_another_training_or_reuse_never_is_a_new_job(
    words: tuple[str, ...], product: Product, account: Hub, live: Done
) -> None:
    done = product.run("--mode", "detach", *words)
    assert done.code == 0
    assert done.report["job-id"] != live.report["job-id"]
    assert len(account.launches()) == 2, names(account.requests("POST"))


@pytest.mark.case(69)
def test_a_rerun_of_a_workflow_run_takes_the_completed_job_and_not_the_failed_one(
    product: Product, account: Hub, tmp_path: Path
) -> None:
    env = on_github(tmp_path)
    first = product.run(*sh("echo paid"), env=env)
    again = product.run(*sh("echo paid"), env={**env, "GITHUB_RUN_ATTEMPT": "2"})
    assert (again.code, again.job_lines) == (0, ["paid"]), again.out
    assert again.report["job-id"] == first.report["job-id"]
    other_run = product.run(*sh("echo paid"), env={**env, "GITHUB_RUN_ID": "78"})
    assert other_run.report["job-id"] != first.report["job-id"]
    failed = product.run(*sh("exit 1"), env=env)
    retried = product.run(*sh("exit 1"), env={**env, "GITHUB_RUN_ATTEMPT": "2"})
    assert (failed.code, retried.code) == (1, 1)
    assert failed.report["job-id"] != retried.report["job-id"]


@pytest.mark.case(76, 85)
def test_from_the_end_of_the_job_to_the_verdict_it_takes_two_seconds(product: Product, account: Hub) -> None:
    """With the waits as they are in a real run, and the looks at the Job far apart by then."""
    product.fast = False
    done = product.run(*sh("echo began; sleep 12; echo ended"))
    ended = datetime.fromisoformat(account.jobs()[0]["finishedAt"])
    took = (datetime.now(UTC) - ended).total_seconds()
    assert (done.code, done.job_lines) == (0, ["began", "ended"]), done.out
    assert took <= 2.0

"""`hf-train schedule` on the local Hub: the same spec as the real `hf`, set once, and its Jobs really run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.local_hub_process import Hub
from support.product import Done, Product, clean_environ, commit, on_github, write

CRON = ("--name", "weekly", "--cron", "0 3 * * 1")
WORDS = ("--", "python", "-c", "print('rate', open('rate.txt').read())")


def schedules(account: Hub) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = account.ask(f"/api/scheduled-jobs/{account.user}")
    return found


def posts(account: Hub) -> list[dict[str, Any]]:
    path = f"/api/scheduled-jobs/{account.user}"
    return [json.loads(one["body"]) for one in account.requests("POST", path) if one["path"] == path]


def hf_line(done: Done) -> str:
    lines = [line.strip() for line in done.out.split("\n") if "hf jobs scheduled run " in line]
    assert len(lines) == 1, done.out
    return lines[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ("--", "python", "train.py")),
        (
            ("--name", "nightly", "--suspend", "--concurrency"),
            ("--timeout", "90m", "--attempts", "2", "--", "ls", "-d"),
        ),
        (("--no-suspend",), ("--flavor", "t4-small", "--secrets", "A_KEY", "--env", "NOTE=it's # so", "--", "true")),
        (
            (),
            ("--script", "train.py", "--args", "--lr 0.1", "--volumes", "hf://USER/model@v1.0:/m", "--path", "."),
        ),
        ((), ("--path", "none", "--image", "python:3.12-slim", "--", "sh", "-c", 'echo "$0"', "--help")),
    ],
)
def test_the_printed_line_makes_the_same_schedule(
    product: Product, account: Hub, tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    product.environ |= {"A_KEY": "hf-local-secret-1"} | on_github(tmp_path)
    account.api.create_repo(f"{account.user}/model")
    account.api.create_tag(f"{account.user}/model", tag="v1.0")
    words = tuple(word.replace("USER", account.user) for word in words)
    ours = product.call("schedule", "set", *CRON, *options, *words)
    assert ours.code == 0, ours.out + ours.err
    line = hf_line(ours)
    assert "hf-local-secret-1" not in line
    theirs = subprocess.run(
        ["sh", "-c", line],
        cwd=tmp_path,
        env=clean_environ({**product.environ, "HOME": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert theirs.returncode == 0, f"{line}\n{theirs.stdout}{theirs.stderr}"
    first, second = posts(account)
    assert first == second
    labels = first["jobSpec"]["labels"]
    assert labels["hft-mode"] == "schedule"
    assert labels["hft-repo"] == "octo-proj"
    assert not {"hft-run", "hft-attempt", "hft-pr", "hft-family"} & labels.keys()
    assert first["schedule"] == "0 3 * * 1"
    assert first["jobSpec"]["timeoutSeconds"] == (5400 if "90m" in words else 1800), "always sent"
    assert first.get("suspend") == (True if "--suspend" in options else None if not options else False)
    assert first.get("concurrency") == (True if "--concurrency" in options else None)


def test_its_jobs_run_the_commit_of_the_set(product: Product, account: Hub, repo: Path) -> None:
    done = product.call("schedule", "set", *CRON, *WORDS)
    assert done.code == 0, done.out + done.err
    sha = account.ask(f"/api/scheduled-jobs/{account.user}")[0]["jobSpec"]["labels"]["hft-sha"]
    assert f"Its runs train commit {sha[:12]}, also after later pushes" in done.out
    write(repo, {"rate.txt": "9.9\n"})
    commit(repo, "Later")
    one = schedules(account)[0]
    job = account.ask(f"/api/scheduled-jobs/{account.user}/{one['id']}/run", "POST")
    assert account.log(job["id"]) == ["rate 1.5", ""]
    ended = account.wait_for_stage("COMPLETED")
    assert ended["initiator"]["type"] == "scheduled-job"
    assert ended["labels"] == one["jobSpec"]["labels"]


def test_a_run_does_not_take_over_its_live_job(product: Product, account: Hub) -> None:
    words = ("--", "sleep", "60")
    assert product.call("schedule", "set", *CRON, *words).code == 0
    job = account.ask(f"/api/scheduled-jobs/{account.user}/{schedules(account)[0]['id']}/run", "POST")
    assert product.run("--mode", "detach", "--reuse", "auto", *words).code == 0
    assert len(account.launches()) == 1, "it launched its own"
    assert account.ask(f"/api/jobs/{account.user}/{job['id']}")["labels"] == job["labels"]


def test_set_twice_sends_once_and_a_change_replaces(product: Product, account: Hub, repo: Path) -> None:
    assert product.call("schedule", "set", "--name", "weekly", *CRON, *WORDS).code == 0
    (first,) = schedules(account)
    account.forget()
    again = product.call("schedule", "set", "--name", "weekly", *CRON, *WORDS)
    assert (again.code, schedules(account)) == (0, [first])
    assert f"Schedule weekly: unchanged, {account.user}/{first['id']}, next run " in again.out
    assert [one["path"] for one in account.requests() if one["method"] in {"PUT", "DELETE", "PATCH"}] == []
    assert posts(account) == []

    write(repo, {"rate.txt": "2.5\n"})
    commit(repo, "Another rate")
    shown = product.call("schedule", "set", "--dry-run", "--name", "weekly", *CRON, *WORDS)
    assert "Schedule weekly: would be replaced. Nothing was sent." in shown.out
    assert (posts(account), schedules(account)) == ([], [first])
    account.api.suspend_scheduled_job(scheduled_job_id=first["id"])
    replaced = product.call("schedule", "set", "--name", "weekly", *CRON, *WORDS)
    assert "Schedule weekly: replaced" in replaced.out
    assert "next run none, it is paused" in replaced.out
    (second,) = schedules(account)
    assert second["id"] != first["id"]
    assert second["suspend"] is True, "a pause by hand survives a push"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cron", "61 * * * *"), "cron: minute: '61' is not from 0 to 59"),
        (("--cron", "@sometimes"), "cron: '@sometimes' has 1 fields; five are expected, or one of @annually"),
        ((), "cron: give --cron"),
        ((*CRON, "--name", "a b"), "name: 'a b'"),
        (("--cron", "@daily"), "name: give --name"),
        ((*CRON, "--timeout", "soon"), "timeout: "),
        ((*CRON, "--flavor", "a10g-large", "--max-cost", "0.5", "--timeout", "1h"), "max-cost"),
        ((*CRON, "--publish", "/out"), "publish: "),
        ((*CRON, "--local"), "local: the embedded Hub ends"),
    ],
)
def test_bad_input_sends_nothing(product: Product, account: Hub, words: tuple[str, ...], message: str) -> None:
    done = product.call("schedule", "set", *words, *WORDS)
    assert done.code == 2, done.out + done.err
    assert message in done.out + done.err
    assert account.requests("POST") == []
    assert schedules(account) == []


def test_a_dry_run_needs_no_token(product: Product, account: Hub) -> None:
    done = product.call("schedule", "set", "--dry-run", *CRON, *WORDS, env={"HF_TOKEN": "", "HOME": str(product.cwd)})
    assert done.code == 0, done.out + done.err
    for words in ("next run", "a run        at most $", "a month      4.35 run(s), at most $"):
        assert words in done.out, done.out
    assert account.requests("POST") == []


def test_list_and_remove(product: Product, account: Hub) -> None:
    foreign = account.api.create_scheduled_job(
        image="i", command=["true"], schedule="@daily", labels={"name": "weekly"}, namespace=account.user
    )
    assert product.call("schedule", "set", "--name", "weekly", *CRON, *WORDS).code == 0
    assert product.call("schedule", "set", "--name", "daily", "--cron", "@daily", *WORDS).code == 0
    rows = json.loads(product.call("schedule", "list", "--format", "json").out)
    assert [(row["name"], row["schedule"]) for row in rows] == [("daily", "@daily"), ("weekly", "0 3 * * 1")]
    told = product.call("schedule", "list").out
    assert f"weekly  {account.user}/{rows[1]['id']}  0 3 * * 1  next run " in told
    assert "03:00 UTC" in told

    assert product.call("schedule", "remove", "weekly").code == 0
    assert product.call("schedule", "remove", rows[0]["id"]).code == 0
    assert [one["id"] for one in schedules(account)] == [foreign.id], "what is not ours stays"
    for name in ("weekly", foreign.id):
        gone = product.call("schedule", "remove", name)
        assert gone.code == 3
        assert "there is: none" in gone.out + gone.err
    assert "hf-train set no schedule here." in product.call("schedule", "list").out


@pytest.mark.parametrize("effect", ["after-effect", ""])
def test_a_lost_answer_makes_one(product: Product, account: Hub, effect: str) -> None:
    account.fault(f"POST /api/scheduled-jobs/* status=502 times=1 {effect}")
    done = product.call("schedule", "set", *CRON, *WORDS)
    assert done.code == 0, done.out + done.err
    assert len(schedules(account)) == 1


def test_no_token(product: Product) -> None:
    for words in (("set", *CRON, *WORDS), ("list",), ("remove", "weekly")):
        done = product.call(
            "schedule", *words, env={"HF_TOKEN": "", "HOME": str(product.cwd), "HF_HOME": str(product.cwd)}
        )
        assert done.code == 3, done.out + done.err

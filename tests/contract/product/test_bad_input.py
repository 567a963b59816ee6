"""What is refused before a Job: by us without a single request, by the Hub with one clear message and no second try."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.local_hub_process import Hub
from support.product import Done, Product, on_github, write

SECRET = "hf_localjobsecret123456"
RUNNER = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "octo/proj", "RUNNER_ENVIRONMENT": "github-hosted"}


@dataclass(frozen=True, kw_only=True)
class Bad:
    """One bad input.

    Attributes:
        words: Words after `hf-train run`.
        says: What the one message must hold.
    """

    words: Sequence[str] = ("--", "true")
    says: Sequence[str]
    config: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


BAD = {
    "unknown-key": Bad(config="flavour: t4-small\n", says=[".github/hf-train.yml: flavour", "did you mean flavor?"]),
    "spending-key": Bad(config="max-cost: 100\n", says=["max-cost", "a pull request can edit it"]),
    "not-yaml": Bad(config="command: [a, b\n", says=[".github/hf-train.yml: it is not YAML", "line"]),
    "image-is-an-option": Bad(words=("--image", "--flavor", "--", "true"), says=["image: '--flavor' is not an image"]),
    "image-in-file": Bad(config="image: --flavor\n", says=["image: '--flavor' is not an image"]),
    "empty-command": Bad(words=("--command", " "), says=["command: it is empty"]),
    "empty-list": Bad(words=(), config="command: []\n", says=["command: it is empty"]),
    "nothing": Bad(words=(), says=["nothing to run"]),
    "missing-script": Bad(words=("--script", "nope.py"), says=["script: there is no file 'nope.py'"]),
    "missing-config": Bad(
        words=("--script", "train.py", "--config", "c.yml"), says=["config: there is no file 'c.yml'"]
    ),
    "missing-path": Bad(words=("--path", "nope", "--", "true"), says=["path: there is no folder 'nope'"]),
    "script-outside": Bad(words=("--script", "../x.py"), says=["script: there is no file '../x.py'"]),
    "mount-twice": Bad(
        words=("--volumes", "hf://buckets/o/a:/data", "--volumes", "hf://datasets/o/b:/data/", "--", "true"),
        says=["/data is mounted twice"],
    ),
    "mount-over-code": Bad(
        words=("--volumes", "hf://buckets/o/a:/code", "--", "true"), says=["/code is mounted twice"]
    ),
    "secret-absent": Bad(words=("--secrets", "WANDB_API_KEY", "--", "true"), says=["WANDB_API_KEY has no value"]),
    "volume-absent": Bad(
        words=("--volumes", "./nope:/data", "--", "true"), says=["volumes: there is no folder './nope'"]
    ),
    "repo-writable": Bad(words=("--volumes", "hf://datasets/o/a:/d:rw", "--", "true"), says=["only a bucket"]),
    "script-and-command": Bad(words=("--script", "train.py", "--", "true"), says=["script and command: both"]),
    "command-twice": Bad(words=("--command", "a", "--", "true"), says=["command: given both"]),
    "timeout": Bad(words=("--timeout", "soon", "--", "true"), says=["timeout: 'soon' is not a duration"]),
    "attempts": Bad(words=("--attempts", "0", "--", "true"), says=["attempts: '0'"]),
    "timeout-negative": Bad(words=("--timeout", "-1h", "--", "true"), says=["timeout: '-1h' is not a duration"]),
    "supersede-yes": Bad(words=("--supersede", "yes", "--", "true"), says=["supersede: 'yes'", "cancel, keep, queue"]),
    "watch-too-long": Bad(
        words=("--watch-timeout", "7h", "--", "true"),
        env=RUNNER,
        says=["watch-timeout: 25200 s is longer than the 6 hours after which a hosted runner ends"],
    ),
    "watch-without-a-policy": Bad(
        words=("--timeout", "8h", "--", "true"), env=RUNNER, says=["on-watch-timeout:", "say what happens then"]
    ),
    "watch-policy": Bad(words=("--on-watch-timeout", "ignore", "--", "true"), says=["on-watch-timeout: 'ignore'"]),
    "lease-short": Bad(words=("--lease", "10s", "--", "true"), says=["lease: 10 s is too short"]),
    "lease-detached": Bad(
        words=("--lease", "10m", "--mode", "detach", "--", "true"), says=["lease: it ends the Job", "mode: detach"]
    ),
    "max-cost": Bad(words=("--max-cost", "free", "--", "true"), says=["max-cost: 'free' is not an amount"]),
    "max-cost-per-pr": Bad(words=("--max-cost-per-pr", "-5", "--", "true"), says=["max-cost-per-pr: '-5' is not"]),
    "max-cost-per-day": Bad(words=("--max-cost-per-day", "5 EUR", "--", "true"), says=["max-cost-per-day: '5 EUR'"]),
    "max-cost-per-day-in-file": Bad(config="max-cost-per-day: 100\n", says=["max-cost-per-day: not read from this"]),
    "unknown-price-in-file": Bad(config="allow-unknown-price: true\n", says=["allow-unknown-price: not read from"]),
    "retry": Bad(words=("--retry", "lots", "--", "true"), says=["retry: 'lots' is not a whole number from 0 to 10"]),
    "retry-in-file": Bad(config="retry: 3\n", says=["retry: not read from this file"]),
    "smoke-key": Bad(words=("--smoke", "flavour: t4-small", "--", "true"), says=["smoke:", "did you mean flavor?"]),
    "smoke-mapping": Bad(config="smoke:\n  steps: 20\n", says=["smoke: 'steps: 20' is not one of the lines"]),
    "smoke-flag": Bad(words=("--smoke", "true", "--", "true"), says=["smoke: 'true' is not one of the lines"]),
    "smoke-timeout": Bad(words=("--smoke", "timeout: soon", "--", "true"), says=["smoke: 'soon' is not a duration"]),
    "flavor-words": Bad(words=("--flavor", "T4 small", "--", "true"), says=["flavor: 'T4 small'"]),
    "secret-in-clear": Bad(
        words=("--secrets", "KEY", "--", "echo", f"--token={SECRET}"), env={"KEY": SECRET}, says=["in clear"]
    ),
    "secret-as-env": Bad(words=("--env", f"WANDB_API_KEY={SECRET}", "--", "true"), says=["looks like a secret"]),
    "quotes": Bad(words=("--command", "python 'x"), says=["command:", "check its quotes"]),
    "plain-http": Bad(words=("--script", "http://example.org/x.py"), says=["is not https"]),
    "look-alike": Bad(words=("--script", "https://huggingface.co.example.org/x.py"), says=["only looks like it"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message_and_no_request(name: str, product: Product, account: Hub, repo: Path) -> None:
    bad = BAD[name]
    if bad.config:
        write(repo, {".github/hf-train.yml": bad.config})
    done = product.run(*bad.words, env=bad.env)
    assert done.code == 2, done.out
    errors = [line for line in done.out.splitlines() if line.startswith(("error: ", "::error "))]
    assert len(errors) == 1, done.out
    assert done.err == ""
    for words in bad.says:
        assert words in errors[0]
    assert "Nothing was sent to the Hub and nothing was spent." in done.out
    assert "Traceback" not in done.out
    assert SECRET not in done.out + json.dumps(done.report)
    assert account.requests() == []
    assert done.report["exit-code"] == 2


def test_all_problems_are_told_at_once(product: Product, account: Hub, repo: Path) -> None:
    write(repo, {".github/hf-train.yml": "flavour: x\ntimeout: soon\n"})
    done = product.run("--secrets", "ABSENT", "--volumes", "./nope:/data", "--script", "nope.py")
    assert done.code == 2
    for words in ("flavour", "timeout: 'soon'", "ABSENT has no value", "'./nope'", "'nope.py'"):
        assert words in done.out
    assert "5 bad inputs" in done.out
    assert account.requests() == []


def test_on_a_runner_the_message_is_one_annotation(product: Product, account: Hub, repo: Path, tmp_path: Path) -> None:
    done = product.run("--image", "--flavor", "--", "true", env=on_github(tmp_path))
    annotations = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert (done.code, len(annotations), account.requests()) == (2, 1, [])
    assert "%0A" in annotations[0]
    assert done.outputs["exit-code"] == "2"
    assert "is not an image" in (tmp_path / "runner-temp" / "summary.md").read_text()


def test_a_flavor_that_the_hub_does_not_have_is_refused_before_anything_is_sent(product: Product, account: Hub) -> None:
    done = product.run("--flavor", "h9000", "--", "true")
    assert done.code == 2
    assert "flavor: the Hub has no 'h9000'; it has cpu-basic" in done.out
    assert {one["method"] for one in account.requests()} == {"GET"}


@pytest.mark.case(22)
def test_a_launch_over_max_cost_is_refused_before_anything_is_sent(product: Product, account: Hub) -> None:
    done = product.run("--flavor", "h200x8", "--timeout", "10h", "--attempts", "2", "--max-cost", "5", "--", "true")
    assert done.code == 2
    assert "can cost $800.00; max-cost is $5.00" in done.out
    assert {one["method"] for one in account.requests()} == {"GET"}


@pytest.mark.case(19)
def test_without_a_token_a_step_on_github_is_skipped(product: Product, account: Hub, tmp_path: Path) -> None:
    env = {**on_github(tmp_path), "HF_TOKEN": ""}
    done = product.run("--", "true", env=env)
    assert (done.code, done.report["stage"], done.report["reason"]) == (0, "SKIPPED", "skipped")
    assert "There is no Hub token in this step" in done.report["skipped"]
    assert done.outputs["stage"] == "SKIPPED"
    assert "no Hub token" in (tmp_path / "runner-temp" / "summary.md").read_text()
    assert account.requests() == []


@pytest.mark.case(19)
def test_without_a_token_a_required_step_fails(product: Product, account: Hub, tmp_path: Path) -> None:
    done = product.run("--required", "--", "true", env={**on_github(tmp_path), "HF_TOKEN": ""})
    assert done.code == 3
    assert "There is no Hub token" in done.out
    assert done.outputs["exit-code"] == "3"
    assert account.requests() == []


REFUSALS = {
    400: "Not accepted by the Hub",
    401: "Token not accepted",
    402: "No credit",
    403: "Not allowed",
    404: "Not found",
    422: "Not accepted by the Hub",
}


def _refused(done: Done, account: Hub) -> None:
    assert done.code == 3, done.out
    assert done.report["exit-code"] == 3
    assert (done.report["reason"], done.report["job-id"]) == ("refused", "")
    assert len([line for line in done.out.splitlines() if line.startswith("error: ")]) == 1
    assert account.token not in done.out + json.dumps(done.report)
    assert account.jobs() == []


@pytest.mark.case(68)
@pytest.mark.parametrize("status", REFUSALS)
def test_a_clear_no_to_the_launch_is_not_tried_again(status: int, product: Product, account: Hub) -> None:
    account.fault(f"POST /api/jobs/* status={status} message='Words of the Hub {status}'")
    done = product.run("--", "true")
    _refused(done, account)
    assert REFUSALS[status] in done.out
    assert f"Words of the Hub {status}" in done.out
    assert len(account.requests("POST", "/api/jobs/")) == 1


@pytest.mark.case(68)
def test_a_token_that_is_not_accepted_ends_it_at_the_first_question(product: Product, account: Hub) -> None:
    done = product.run("--", "true", env={"HF_TOKEN": "hf_local_invalid"})
    _refused(done, account)
    assert "Token not accepted" in done.out
    assert [one["method"] for one in account.requests() if one["path"] == "/api/whoami-v2"] == ["GET"]


@pytest.mark.case(30)
def test_a_token_that_may_only_read_is_told_what_it_lacks(product: Product, account: Hub) -> None:
    done = product.run("--", "true", env={"HF_TOKEN": f"hf_local_read_as_{account.user}"})
    _refused(done, account)
    assert "job.write" in done.out


@pytest.mark.case(68)
def test_a_foreign_namespace_is_refused(product: Product, account: Hub) -> None:
    done = product.run("--namespace", "somebody-else", "--", "true")
    _refused(done, account)


def test_a_missing_volume_is_found_before_the_launch(product: Product, account: Hub) -> None:
    done = product.run("--volumes", f"hf://datasets/{account.user}/none:/data", "--", "true")
    _refused(done, account)
    assert "is not there, or the token that launches cannot see it" in done.out


@pytest.mark.case(73)
@pytest.mark.parametrize("fault", ["GET /api/whoami-v2 status=503", "GET /api/jobs/hardware drop=before"])
def test_a_hub_that_is_down_before_the_start_is_75(fault: str, product: Product, account: Hub) -> None:
    account.fault(fault)
    done = product.run("--", "true")
    assert done.code == 75, done.out
    assert "Hub not reached" in done.out
    assert account.requests("POST") == []


@pytest.mark.case(73)
def test_a_hub_that_comes_back_before_the_start_is_waited_for(product: Product, account: Hub) -> None:
    account.fault(
        "GET /api/whoami-v2 status=502 times=3", "GET /api/jobs/hardware status=429 header.Retry-After=20 times=2"
    )
    assert product.run("--", "true").code == 0


def test_a_script_that_git_does_not_track_is_not_launched(product: Product, account: Hub) -> None:
    (product.cwd / "new.py").write_text("print(1)\n", encoding="utf-8")
    for words in (["--script", "new.py"], ["--script", "train.py", "--exclude", "train.py"]):
        done = product.run(*words)
        assert done.code == 2, done.out
        assert "is not sent: git does not track it (git add)" in done.out + done.err
    assert account.requests() == []

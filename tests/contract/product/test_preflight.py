"""`plan --check` and the preflight of a run, on the local Hub: real scopes, real repos, real sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hf_train.local_hub.accounts import fine_token
from support.local_hub_process import Hub
from support.product import Product

BOTH = ["job.write", "repo.write"]


def _check(product: Product, *words: str, token: str = "", **env: str) -> tuple[int, list[dict[str, Any]]]:
    """`hf-train plan --check --format json`: the exit code and the findings."""
    given = {**env, **({"HF_TOKEN": token} if token else {})}
    done = product.call("plan", "--check", "--format", "json", *words, env=given)
    return done.code, json.loads(done.out)["checks"]


def _only_read(account: Hub) -> bool:
    return {one["method"] for one in account.requests()} <= {"GET", "HEAD"}


@pytest.mark.case(30)
def test_the_scopes_of_a_fine_grained_token_as_the_hub_enforces_them(product: Product, account: Hub) -> None:
    user = account.user
    table = [
        (fine_token(user, {user: BOTH}), 0, []),
        (fine_token(user, {user: ["repo.write"]}), 3, ["Token may not start Jobs"]),
        (fine_token(user, {f"{user}/m": BOTH}), 3, ["Token may not start Jobs", "Bucket perhaps closed"]),
        (f"hf_local_read_as_{user}", 3, ["Token can only read"]),
        (account.token, 0, ["A token for everything"]),
    ]
    for token, code, titles in table:
        found_code, found = _check(product, "--", "true", token=token)
        assert (found_code, [one["title"] for one in found]) == (code, titles), token
    assert _only_read(account)
    assert product.run("--", "true", env={"HF_TOKEN": fine_token(user, {user: BOTH})}).code == 0, "enough in truth"
    account.forget()
    done = product.run("--", "true", env={"HF_TOKEN": fine_token(user, {user: ["repo.write"]})})
    assert (done.code, done.report["reason"]) == (3, "refused")
    assert f"has no job.write on {user}" in done.out
    assert account.requests("POST") == []


@pytest.mark.case(30)
def test_the_token_of_the_job_and_the_model_repo(product: Product, account: Hub) -> None:
    repo = f"{account.user}/m"
    words = ("--model-repo", repo, "--", "python", "train.py", "--push_to_hub", "--hub_model_id", repo)
    one_repo = fine_token(account.user, {repo: ["repo.write"]})
    code, found = _check(product, *words, HF_TRAIN_JOB_TOKEN=one_repo)
    assert (code, found[-1]["title"]) == (3, "Model repo cannot be created")
    code, found = _check(product, *words)
    assert (code, found[-1]["title"], found[-1]["input"]) == (2, "No token in the Job", "job-token")
    code, found = _check(product, *words, HF_TRAIN_JOB_TOKEN="hf_local_invalid")
    assert (code, found[-1]["title"]) == (3, "Token of the Job not accepted")
    account.api.create_repo(repo)
    code, found = _check(product, *words, HF_TRAIN_JOB_TOKEN=one_repo)
    assert (code, [one["level"] for one in found]) == (0, ["advice"])


def test_sources_that_are_missing_gated_or_too_large(product: Product, account: Hub) -> None:
    owner = Hub(url=account.url, user=f"{account.user}x", data=account.data)
    gated, large = f"{owner.user}/gated", f"{account.user}/large"
    owner.api.create_repo(gated)
    owner.api.update_repo_settings(gated, gated="auto")
    account.api.create_repo(large, repo_type="dataset")
    for one in ("a.bin", "b.bin"):
        account.api.upload_file(path_or_fileobj=bytes(2000), path_in_repo=one, repo_id=large, repo_type="dataset")
    command = f"python train.py --model {gated} --dataset {large} --teacher_model {account.user}/typo"
    code, found = _check(product, "--command", command)
    said = {one["title"]: one["what"] for one in found if one["level"] == "warning"}
    assert code == 0
    assert f"{account.user}/typo is not there" in said["Source not readable"]
    assert any("is gated" in one["what"] for one in found)
    assert "Disk too small" not in said
    assert _only_read(account) is False, "this test's own uploads"


def test_everything_that_stands_against_a_launch_is_one_message(product: Product, account: Hub) -> None:
    token = f"hf_local_read_as_{account.user}"
    words = ("--flavor", "h9000", "--", "python", "train.py", "--push_to_hub")
    done = product.run(*words, env={"HF_TOKEN": token})
    assert done.code == 2
    errors = [line for line in done.out.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    for said in ("flavor: the Hub has no 'h9000'", "hf-token: the token that launches can only read", "job-token:"):
        assert said in done.out
    assert account.requests("POST") == []


def test_the_check_in_words(product: Product, account: Hub) -> None:
    done = product.call("plan", "--check", "--flavor", "a10g-largex4", "--timeout", "30h", "--", "python", "train.py")
    assert done.code == 0
    assert "warning  Idle GPUs: flavor: a10g-largex4 has 4 GPUs" in done.out
    assert "warning  Long timeout: timeout: the Job may run for 30 h 00 min and cost $150.00" in done.out
    assert "advice   A token for everything" in done.out
    assert _only_read(account)


def test_a_model_repo_is_created_private_before_the_launch(product: Product, account: Hub) -> None:
    repo = f"{account.user}/fresh"
    env = {"HF_TRAIN_JOB_TOKEN": account.token}
    done = product.run("--model-repo", repo, "--no-require-model", "--", "true", env=env)
    assert done.code == 0
    assert account.api.model_info(repo).private
    assert f"Created the private model repo {repo}." in done.out
    order = [one["path"] for one in account.requests("POST")]
    assert order.index("/api/repos/create") < order.index(f"/api/jobs/{account.user}")

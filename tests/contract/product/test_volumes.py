"""Volumes against the local Hub: pinned to a commit, and what is not there is told before anything is sent."""

from __future__ import annotations

import pytest

from hf_train.hub import HubAccess
from hf_train.ports import RepoFact
from hf_train.values import Secret
from support.local_hub_process import Hub
from support.product import Product

SHOW = ("--path", "none", "--", "sh", "-c", "cat /data/a.txt")


@pytest.fixture
def data(account: Hub) -> tuple[str, str, str]:
    """A data set with two commits, and a tag on the first."""
    name = f"{account.user}/data"
    account.api.create_repo(name, repo_type="dataset", private=True)
    first, second = (
        account.api.upload_file(path_or_fileobj=text, path_in_repo="a.txt", repo_id=name, repo_type="dataset").oid
        for text in (b"old\n", b"new\n")
    )
    account.api.create_tag(name, tag="v1", revision=str(first), repo_type="dataset")
    account.api.create_bucket(f"{account.user}/out", private=True)
    account.forget()
    return name, str(first), str(second)


def test_a_job_reads_the_commit_that_the_plan_names(product: Product, account: Hub, data: tuple[str, str, str]) -> None:
    name, first, second = data
    for revision, commit, text in (("", second, "new"), ("@v1", first, "old"), (f"@{first}", first, "old")):
        done = product.run("--volumes", f"hf://datasets/{name}{revision}:/data", *SHOW)
        assert (done.code, done.job_lines) == (0, [text]), done.out
        assert f" hf://datasets/{name}@{commit}:/data" in done.report["hf-jobs-run"]
        assert account.jobs()[0]["volumes"][0]["revision"] == commit


def test_all_that_is_not_there_is_told_before_anything_is_sent(
    product: Product, account: Hub, data: tuple[str, str, str]
) -> None:
    mounts = (
        f"hf://datasets/{data[0]}@v9:/a",
        f"hf://models/{account.user}/none:/b",
        f"hf://buckets/{account.user}/no:/c",
    )
    words = [word for one in mounts for word in ("--volumes", one)]
    done = product.run(*words, "--", "true")
    assert done.code == 3
    assert "3 things stand against the launch" in done.out
    for said in (
        "has no revision v9",
        f"the model {account.user}/none is not there",
        f"bucket {account.user}/no is not",
    ):
        assert said in done.out
    assert [one for one in account.requests("POST") if "/api/jobs" in one["path"] or "commit" in one["path"]] == []


def test_what_one_look_says(account: Hub, data: tuple[str, str, str]) -> None:
    name, first, second = data
    access = HubAccess(account.url, Secret(account.token), None)
    assert access.mounted("dataset", name, None) == RepoFact(exists=True, private=True, commit=second)
    assert access.mounted("dataset", name, "v1") == RepoFact(exists=True, private=True, commit=first)
    assert access.mounted("dataset", name, "v2") == RepoFact(exists=True)
    assert access.mounted("space", name, None) == RepoFact(exists=False)
    assert access.mounted("bucket", f"{account.user}/out", None) == RepoFact(exists=True, private=True)
    assert access.mounted("bucket", f"{account.user}/nothing", None) == RepoFact(exists=False)
    assert access.repo("dataset", name).commit == second

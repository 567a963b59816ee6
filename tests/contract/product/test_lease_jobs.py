"""A lease on the local Hub: real Jobs that end when nobody renews, and run on while somebody does."""

from __future__ import annotations

import sys

import pytest

from hf_train.flow import watch
from hf_train.hub.reports import BucketReports
from support.local_hub_process import Hub
from support.product import Product

SLEEP = ("--", "sh", "-c", "echo began; sleep 120")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease may be as short as a test."""
    monkeypatch.setattr(sys.modules["hf_train.inputs.across"], "MIN_LEASE_S", 1)


@pytest.mark.case(57)
def test_a_job_whose_step_is_gone_ends_itself(product: Product, account: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    save, count = BucketReports.save, iter(range(1000))

    def dies(self: BucketReports, bucket: str, paths: list[str], content: str) -> None:
        if next(count) < 2 or not paths[0].startswith("leases/"):
            save(self, bucket, paths, content)

    monkeypatch.setattr(BucketReports, "save", dies)
    done = product.run("--lease", "2s", *SLEEP)
    assert (done.code, done.report["stage"]) == (1, "ERROR"), done.out
    assert "exit code 79" in done.report["headline"]
    assert done.job_lines[0] == "began"
    assert any("was not heard of for 2 s (lease)" in line for line in done.job_lines)


def test_a_job_that_is_followed_runs_on(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LAST_POLL_S", 1.0)  # a lease is renewed at looks, and real ones are longer than 30 s
    product.fast = False
    done = product.run("--lease", "5s", "--", "sh", "-c", "sleep 9; echo done")
    assert (done.code, done.job_lines) == (0, ["done"]), done.out

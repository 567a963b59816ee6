"""The use of GPUs through the Hub's metrics stream: what it says, and that it holds nothing up."""

from __future__ import annotations

import threading
import time

import pytest

from hf_train.hub import HuggingFaceHub, metrics
from hf_train.report import gpus
from hf_train.values import JobRef, Secret
from support.hf_cli import eventually
from support.local_hub_process import Hub
from support.product import Product

SLEEP = ("--path", "none", "--flavor", "a10g-largex4", "--", "sh", "-c", "sleep 3")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "ENOUGH", 2)
    monkeypatch.setattr(metrics, "BACKOFF_S", (0.2,))
    monkeypatch.setattr(metrics, "SILENCE_S", 2.0)


def _streams(account: Hub) -> list[int]:
    return [one["status"] for one in account.requests("GET") if one["path"].endswith("/metrics")]


def test_the_report_says_which_gpus_were_used(product: Product, account: Hub) -> None:
    account.fault("jobs gpu-use=91,0,0,2")
    product.fast = False
    done = product.run(*SLEEP)
    assert done.code == 0, done.out
    assert [one["max-pct"] for one in done.report["gpus"]] == [91, 0, 0, 2]
    assert done.report["gpus"][0]["memory-total-bytes"] == 24 << 30
    assert "1 of 4 GPUs was used; the others were under 5 % for the whole run" in done.out
    assert "**GPU** ⚠️ 1 of 4 GPUs was used" in (done.folder / "comment.md").read_text(encoding="utf-8")
    assert len(_streams(account)) == 1


@pytest.mark.parametrize(
    "fault",
    [
        "GET /api/jobs/*/*/metrics status=500",
        "GET /api/jobs/*/*/metrics hang",
        "GET /api/jobs/*/*/metrics status=200 body='<html>'",
    ],
)
def test_a_stream_that_fails_changes_nothing(fault: str, product: Product, account: Hub) -> None:
    account.fault(fault)
    began = time.monotonic()
    done = product.run("--path", "none", "--flavor", "a10g-largex4", "--", "sh", "-c", "sleep 1")
    assert (done.code, done.report["gpus"], done.problems) == (0, [], "")
    assert "GPU" not in [line.partition(":")[0] for line in done.out.splitlines()]
    assert time.monotonic() - began < 15


def test_the_stream_goes_on_after_a_failure_and_ends_when_told(account: Hub) -> None:
    account.fault("jobs gpu-use=50", "GET /api/jobs/*/*/metrics status=500 times=2")
    job = account.api.run_job(image="i", command=["sleep", "60"], flavor="t4-small")
    account.wait_for_stage("RUNNING")
    hub = HuggingFaceHub(account.url, Secret(account.token))
    gauge = hub.gauge(JobRef(id=job.id, namespace=account.user, url=""))
    eventually(lambda: sum(one.samples for one in gauge.use()) >= 2)
    assert [one.mean_pct for one in gauge.use()] == [50.0]
    gauge.close()
    eventually(lambda: all(one.name != "job-metrics" for one in threading.enumerate()))

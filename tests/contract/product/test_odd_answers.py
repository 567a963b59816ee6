"""Answers that no Hub should give, once: none of them leaves a paid Job behind, or makes a second one."""

from __future__ import annotations

import pytest

from support.local_hub_process import Hub
from support.product import Product

ECHO = ("--path", "none", "--", "sh", "-c", "echo once")
PAGE = "body='<html>Attention required</html>'"


@pytest.mark.case(66, 76)
@pytest.mark.parametrize(
    "fault",
    [
        f"GET /api/jobs/*/* status=200 {PAGE} nth=2 times=1",
        "GET /api/jobs/*/* unset.status nth=2 times=1",
        "GET /api/jobs/*/* status=520 nth=2 times=2",
        f"POST /api/jobs/* status=200 {PAGE} after-effect times=1",
        "POST /api/jobs/* status=520 after-effect times=1",
        f"GET /api/jobs/* status=200 {PAGE} nth=2 times=1",
        "GET /api/jobs/* status=200 body='{}' nth=2 times=1",
    ],
)
def test_an_answer_that_is_none_changes_no_verdict(fault: str, product: Product, account: Hub) -> None:
    account.fault(fault)
    done = product.run(*ECHO)
    assert (done.code, done.job_lines) == (0, ["once"]), done.out
    assert [(job["id"], job["status"]["stage"]) for job in account.jobs()] == [(done.report["job-id"], "COMPLETED")]


@pytest.mark.case(66)
def test_a_launch_is_found_in_a_list_whose_rows_are_broken(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* status=503 after-effect times=1", "GET /api/jobs/* set.owner=null")
    done = product.run("--reuse", "never", *ECHO)
    assert (done.code, done.job_lines) == (0, ["once"]), done.out
    assert len(account.jobs()) == 1


@pytest.mark.case(66)
def test_a_row_that_cannot_be_read_is_not_no_row(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* status=503 after-effect times=1", "GET /api/jobs/* unset.status nth=2 times=1")
    done = product.run("--reuse", "never", *ECHO)
    assert (done.code, done.job_lines) == (0, ["once"]), done.out
    assert len(account.launches()) == 1


@pytest.mark.case(67)
def test_a_cancel_that_a_proxy_refuses_is_sent_again(product: Product, account: Hub) -> None:
    account.fault("jobs schedule-seconds=60", "POST /api/jobs/*/*/cancel status=520 times=1")
    done = product.run("--queue-timeout", "20s", *ECHO)
    assert done.code == 75, done.out
    assert account.jobs()[0]["status"]["stage"] == "CANCELED"

"""Limits and estimates from what the local Hub says of its Jobs."""

from __future__ import annotations

import json

import pytest

from support.local_hub_process import Hub
from support.product import Product


@pytest.mark.case(22)
def test_a_limit_over_several_runs_counts_the_labelled_jobs_of_the_hub(product: Product, account: Hub) -> None:
    # cpu-xl is $1.00 an hour: at worst $0.50 for half an hour, and one started minute of it is $0.0167.
    words = ("--flavor", "cpu-xl", "--reuse", "never", "--max-cost-per-day", "1.02")
    assert product.run(*words, "--mode", "detach", "--", "sleep", "60").code == 0
    done = product.run(*words, "--", "true")
    assert done.code == 0, done.out
    done = product.run(*words, "--timeout", "35m", "--", "true")
    assert (done.code, len(account.jobs())) == (2, 2)
    assert "Over max-cost-per-day" in done.out
    account.cancel_all()
    assert product.run(*words, "--timeout", "35m", "--", "true").code == 0, "what was cancelled counts as it was"


def test_the_plan_estimates_from_earlier_jobs(product: Product, account: Hub) -> None:
    assert json.loads(product.call("plan", "--format", "json", "--", "true").out)["estimate"] is None
    assert product.run("--", "true").code == 0
    plan = json.loads(product.call("plan", "--format", "json", "--", "true").out)
    assert plan["estimate"]["runs"] == 1
    assert plan["estimate"]["seconds"] < 30
    assert plan["usd-per-minute"] * 30 == pytest.approx(plan["worst-case-usd"])
    assert "(as an earlier run)" in product.call("plan", "--", "true").out

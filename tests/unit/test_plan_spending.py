"""What Jobs cost and took, from what the Hub says of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hf_train.context import Context
from hf_train.flow.spend import problem
from hf_train.plan.spending import estimate, job_usd, spent
from hf_train.preflight import Finding, money_findings
from hf_train.values import JobRef, JobState, Stage
from unit.makers import FACTS, FLAVORS, ON_GITHUB, plan

NOW = datetime(2026, 12, 2, 12, 0, tzinfo=UTC)


def _job(number: int = 1, stage: Stage = Stage.COMPLETED, **changes: Any) -> JobState:
    made = plan()
    ref = JobRef(id=f"{number:024x}", namespace="alice", url="")
    state = JobState(
        ref=ref, stage=stage, created_at=NOW - timedelta(hours=1), running_s=600.0, flavor="t4-small",
        image=made.job.image, command=made.job.command, labels={**made.job.labels, "hft-nonce": f"n{number}"},
    )  # fmt: skip
    return replace(state, **changes)


@pytest.mark.parametrize(
    ("changes", "usd"),
    [
        ({}, 0.067),
        ({"running_s": 601.0}, 0.0737),
        ({"running_s": 0.0, "stage": Stage.CANCELED}, 0.0),
        ({"running_s": None, "stage": Stage.CANCELED}, 0.0),
        ({"running_s": None, "started_at": NOW, "finished_at": NOW + timedelta(minutes=3)}, 0.0201),
        ({"running_s": None}, None),
        ({"running_s": float("nan"), "started_at": NOW}, None),
        ({"flavor": "mystery"}, None),
        ({"flavor": "gone"}, None),
        ({"stage": Stage.RUNNING}, 45 * 0.0067),
        ({"stage": Stage.SCHEDULING}, 45 * 0.0067),
        ({"stage": Stage.UNKNOWN}, 45 * 0.0067),
        ({"stage": Stage.RUNNING, "labels": {}}, None),
        ({"stage": Stage.RUNNING, "labels": {"hft-minutes": "-1"}}, None),
    ],
    ids=str,
)
def test_what_a_job_costs_by_the_hubs_own_word(changes: dict[str, Any], usd: float | None) -> None:
    assert job_usd(_job(**changes), FLAVORS) == (usd if usd is None else pytest.approx(usd))


def test_the_label_counts_started_minutes_of_all_attempts() -> None:
    assert plan(timeout="61s", attempts="3").job.labels["hft-minutes"] == "6"


def test_the_sum_names_what_it_does_not_know() -> None:
    total = spent([_job(1), _job(2, flavor="gone"), _job(3)], FLAVORS)
    assert total.usd == pytest.approx(0.134)
    assert total.unknown == (f"{2:024x}",)


# ---- the estimate ----


def _estimate(*jobs: JobState) -> tuple[float, int] | None:
    made = plan(facts=replace(FACTS, earlier=jobs)).budget.estimate
    return (made.seconds, made.runs) if made else None


def test_the_estimate_is_the_median_of_the_newest_runs_of_the_same_command() -> None:
    took = [600.0, 900.0, 660.0, 600.0, 640.0, 99_999.0]
    assert _estimate(*(_job(n, running_s=seconds) for n, seconds in enumerate(took))) == (640.0, 5)
    made = plan(facts=replace(FACTS, earlier=(_job(),))).budget.estimate
    assert made is not None
    assert made.usd == pytest.approx(0.067)


def test_another_command_counts_only_when_the_same_has_never_run() -> None:
    other = _job(2, command=("other",), running_s=60.0)
    assert _estimate(other, _job(1)) == (600.0, 1)
    assert _estimate(other) == (60.0, 1)
    assert _estimate(replace(other, labels={**other.labels, "hft-family": "another"})) is None


@pytest.mark.parametrize(
    "changes", [{"stage": Stage.ERROR}, {"flavor": "cpu-basic"}, {"image": "x"}, {"running_s": None}]
)
def test_what_says_nothing_about_this_training(changes: dict[str, Any]) -> None:
    assert _estimate(_job(**changes)) is None
    assert estimate(plan().job, None, []) is None


# ---- the timeout ----


def test_a_timeout_below_what_earlier_runs_took_is_said() -> None:
    made = plan(facts=replace(FACTS, earlier=(_job(running_s=2600.0),)))
    (found,) = money_findings(made, FLAVORS)
    assert (found.level, found.field) == ("warning", "timeout")
    assert "an earlier run took 43 min 20 s" in found.what
    assert money_findings(plan(facts=replace(FACTS, earlier=(_job(),))), FLAVORS) == []


def test_a_day_without_a_limit_is_said() -> None:
    (found,) = money_findings(plan(timeout="30h"), FLAVORS)
    assert "there is no max-cost" in found.what
    assert money_findings(plan(timeout="30h", max_cost="100"), FLAVORS) == []


# ---- limits over several runs ----


def _over(*jobs: JobState, context: Context = ON_GITHUB, **flags: Any) -> Finding | None:
    return problem(plan(context=context, **flags), context, jobs, FLAVORS, NOW)


@pytest.mark.case(22)
def test_the_runs_of_a_pull_request_are_counted_together() -> None:
    live = _job(2, stage=Stage.RUNNING)  # at worst 45 minutes, $0.3015
    assert _over(live, _job(1), max_cost_per_pr="0.66") is not None
    assert _over(live, _job(1), max_cost_per_pr="0.671") is None
    found = _over(live, _job(1), max_cost_per_pr="0.5")
    assert found is not None
    assert found.title == "Over max-cost-per-pr"
    assert found.what == (
        "2 Job(s) of pull request #7 cost $0.37 (those that run, at worst); this one can cost $0.30 more, and "
        "max-cost-per-pr is $0.50."
    )


def test_jobs_of_other_pull_requests_do_not_count_for_this_one() -> None:
    other = replace(_job(2, stage=Stage.RUNNING), labels={**_job().labels, "hft-pr": "8", "hft-nonce": "x"})
    assert _over(other, max_cost_per_pr="0.31") is None
    assert _over(other, max_cost_per_day="0.31") is not None
    assert _over(other, context=replace(ON_GITHUB, pull=None), max_cost_per_pr="0.01") is None, "no pull request"


def test_a_day_is_the_last_24_hours_and_what_runs_now() -> None:
    old = NOW - timedelta(hours=25)
    assert _over(_job(created_at=old), max_cost_per_day="0.31") is None
    assert _over(_job(created_at=NOW - timedelta(hours=23)), max_cost_per_day="0.31") is not None
    assert _over(_job(created_at=old, stage=Stage.RUNNING), max_cost_per_day="0.31") is not None


def test_a_launch_does_not_count_against_itself() -> None:
    mine = replace(_job(stage=Stage.SCHEDULING), labels={**_job().labels, "hft-nonce": "nonce1"})
    assert _over(mine, max_cost_per_day="0.31") is None


def test_a_limit_that_cannot_be_counted_is_not_kept_silently() -> None:
    strange = _job(flavor="gone")
    found = _over(strange, max_cost_per_day="100")
    assert found is not None
    assert found.title == "Spending not known"
    assert _over(strange, max_cost_per_day="100", allow_unknown_price="true") is None
    made = plan(max_cost_per_day="100")
    assert problem(made, ON_GITHUB, None, FLAVORS, NOW) is not None
    assert problem(plan(), ON_GITHUB, None, FLAVORS, NOW) is None

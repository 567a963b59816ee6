"""The limits over several runs: what the labelled Jobs of a pull request and of a day cost, counted on the Hub.

The sum is looked at twice: before anything is sent, and again once the Job is there, because two runs that start at
once see nothing of each other before. The Jobs that the Hub made first stay; the one that came too late is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hf_train.context import Context
from hf_train.errors import JobGone, LostSight, RefusedByHub, RefusedByPolicy, TransientHubError
from hf_train.flow.verdict import cancel_all
from hf_train.plan import Plan, label, usd
from hf_train.plan.spending import job_usd, spent
from hf_train.ports import Ports
from hf_train.preflight import Finding, NotReady
from hf_train.values import Flavor, JobState

DAY = timedelta(hours=24)
TRIES = 3
LONGEST_PAUSE_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Limit:
    """One limit: its input, its amount, and which Jobs count."""

    name: str
    usd: float
    whose: str
    jobs: tuple[JobState, ...]


def earlier(context: Context, namespace: str, ports: Ports) -> tuple[JobState, ...] | None:
    """Jobs of this repository on the Hub, newest first; None when they cannot be listed."""
    labels = {"hf-train": "1"}
    if context.repository:
        labels["hft-repo"] = label(context.repository)
    for attempt in range(TRIES):
        try:
            return tuple(ports.hub.find(namespace, labels))
        except TransientHubError as error:
            if attempt + 1 < TRIES:
                ports.clock.sleep(min(max(1.0, error.retry_after_s or 0.0), LONGEST_PAUSE_S))
        except (RefusedByHub, JobGone):
            return None
    return None


def problem(
    plan: Plan, context: Context, jobs: Sequence[JobState] | None, flavors: Sequence[Flavor], now: datetime
) -> Finding | None:
    """Why one more Job of this plan would break a limit; None when it would not.

    Args:
        plan: What is to be launched.
        context: Where this run stands.
        jobs: Jobs of this repository; None when they cannot be listed.
        flavors: The Hub's prices.
        now: Wall clock.
    """
    budget = plan.budget
    if budget.max_day_usd is None and (budget.max_pr_usd is None or context.pull is None):
        return None
    if budget.worst_case_usd is None:
        return None  # the preflight has refused it, or it may run at any price
    if jobs is None:
        what = "The Jobs of this repository could not be listed, so it is not known what they cost."
        return _finding("Spending not known", what, "Try again later.")
    for limit in _limits(plan, context, jobs, now):
        so_far = spent(limit.jobs, flavors)
        if so_far.unknown and not budget.unknown_price_allowed:
            names = ", ".join(so_far.unknown[:3])
            what = f"What Job {names} costs is not known, so {limit.name} cannot be kept."
            return _finding("Spending not known", what, "Wait for its end, or set allow-unknown-price.")
        if so_far.usd + (budget.ahead_usd or 0.0) + budget.worst_case_usd > limit.usd:
            return _finding(
                f"Over {limit.name}",
                f"{len(limit.jobs)} Job(s) of {limit.whose} cost {usd(so_far.usd)} (those that run, at worst); "
                f"this one can cost {usd(budget.worst_case_usd)} more, and {limit.name} is {usd(limit.usd)}.",
                f"Lower timeout, wait, or raise {limit.name}.",
            )
    return None


def check_before(plan: Plan, context: Context, ports: Ports) -> None:
    """Once more right before the launch.

    Raises:
        NotReady: The launch would break a limit.
    """
    if plan.budget.max_day_usd is None and plan.budget.max_pr_usd is None:
        return
    jobs = earlier(context, plan.job.namespace, ports)
    if (finding := problem(plan, context, jobs, plan.flavors, ports.clock.now())) is not None:
        raise NotReady([finding])


def check_after(plan: Plan, context: Context, ports: Ports, mine: JobState, others: Sequence[JobState] = ()) -> None:
    """Once the Job is there: cancel it when those that the Hub made before it leave no room for it.

    Args:
        plan: The launch.
        context: Where this run stands.
        ports: The world.
        mine: The Job.
        others: Further nodes of it.

    Raises:
        RefusedByPolicy: It was cancelled.
        LostSight: It should have been cancelled, and the Hub did not confirm it.
    """
    if plan.budget.max_day_usd is None and plan.budget.max_pr_usd is None:
        return
    jobs = earlier(context, plan.job.namespace, ports)
    if jobs is None:
        return  # it was within the limits a moment ago, and its own timeout bounds it
    before = [one for one in jobs if _order(one) < _order(mine)]
    finding = problem(plan, context, before, plan.flavors, ports.clock.now())
    if finding is None:
        return
    words = f"{finding.what} Other runs came first, at the same moment"
    for ref in cancel_all(ports.hub, [mine.ref, *(one.ref for one in others)], ports.clock):
        hint = f"Cancel it by hand: {ref.url}"
        raise LostSight(finding.title, f"{words}; the Hub did not confirm the cancel of Job {ref.id}.", hint)
    raise RefusedByPolicy(finding.title, f"{words}; Job {mine.ref.id} was cancelled at its start.", finding.fix)


def of_pull(plan: Plan, context: Context, ports: Ports, state: JobState | None) -> float | None:
    """What all Jobs of this pull request cost; None when there is only one, or it is not known."""
    if context.pull is None:
        return None
    jobs = {one.ref.id: one for one in earlier(context, plan.job.namespace, ports) or () if _of_pull(one, context)}
    if state is not None:
        jobs[state.ref.id] = state
    costs = [job_usd(one, plan.flavors) for one in jobs.values()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(jobs) > 1 and len(known) == len(costs) else None


def _finding(title: str, what: str, fix: str) -> Finding:
    return Finding(level="error", title=title, what=what, fix=fix)


def _limits(plan: Plan, context: Context, jobs: Sequence[JobState], now: datetime) -> list[_Limit]:
    counted = [one for one in jobs if one.labels.get("hft-nonce") != plan.nonce]
    limits = []
    if plan.budget.max_pr_usd is not None and context.pull is not None:
        of_it = tuple(one for one in counted if _of_pull(one, context))
        whose = f"pull request #{context.pull.number}"
        limits.append(_Limit(name="max-cost-per-pr", usd=plan.budget.max_pr_usd, whose=whose, jobs=of_it))
    if plan.budget.max_day_usd is not None:
        recent = tuple(one for one in counted if _recent(one, now))
        limits.append(
            _Limit(name="max-cost-per-day", usd=plan.budget.max_day_usd, whose="the last 24 hours", jobs=recent)
        )
    return limits


def _of_pull(job: JobState, context: Context) -> bool:
    return context.pull is not None and job.labels.get("hft-pr") == str(context.pull.number)


def _recent(job: JobState, now: datetime) -> bool:
    """A Job that began before and still runs is paid for today as well."""
    return not job.stage.is_terminal or job.created_at is None or now - job.created_at <= DAY


def _order(job: JobState) -> tuple[float, str]:
    return (job.created_at.timestamp() if job.created_at else 0.0, job.ref.id)

"""What a launch may cost, against the limits; and whether its timeout makes sense."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.plan import Plan, usd
from hf_train.preflight.model import Finding
from hf_train.report.words import duration
from hf_train.values import Flavor

LONG_S = 24 * 3600
ROOM = 1.1
"""A timeout should leave this much room above what earlier Jobs took."""


def money_findings(plan: Plan, flavors: Sequence[Flavor] | None) -> list[Finding]:
    """The flavor, its price, the limit of one run, and the timeout.

    Args:
        plan: The plan.
        flavors: The Hub's hardware list; None when the Hub could not be asked.
    """
    if flavors is not None and plan.budget.flavor is None:
        names = ", ".join(one.name for one in flavors)
        what = f"the Hub has no {plan.job.flavor!r}; it has {names}"
        return [Finding(level="error", title="Bad input", what=what, field="flavor")]
    return [*_price(plan, asked=flavors is not None), *_timeout(plan)]


def _price(plan: Plan, *, asked: bool) -> list[Finding]:
    budget, job = plan.budget, plan.job
    worst = budget.worst_case_usd
    if worst is None:
        return _unknown(plan) if asked or budget.max_usd is not None else []
    if budget.ahead_usd is None and not budget.unknown_price_allowed:
        what = "The Hub has no price for the flavor of the smoke run."
        return [Finding(level="error", title="Price not known", what=what, field="smoke")]
    ahead = budget.ahead_usd or 0.0
    if budget.max_usd is None or budget.spent_usd + ahead + worst <= budget.max_usd:
        return []
    before = f" after the {usd(budget.spent_usd)} that this run has paid already" if budget.spent_usd else ""
    before += f", and its smoke run {usd(ahead)}" if ahead else ""
    of_nodes = f"{len(plan.specs)} nodes of " if plan.others else ""
    what = (
        f"{of_nodes}{job.flavor} for {job.timeout_s} s, {job.attempts or 1} attempt(s), can cost {usd(worst)}{before}; "
        f"max-cost is {usd(budget.max_usd)}."
    )
    fix = "Lower timeout, choose a smaller flavor, or raise max-cost."
    return [Finding(level="error", title="Over max-cost", what=what, fix=fix)]


def _unknown(plan: Plan) -> list[Finding]:
    """What it costs is known before a launch, or there is none; unless the workflow says that it may be unknown."""
    budget = plan.budget
    limits = (budget.max_usd, budget.max_pr_usd, budget.max_day_usd)
    if budget.unknown_price_allowed:
        kept = " The limits of cost are not kept." if any(limit is not None for limit in limits) else ""
        what = f"The Hub gives no price for {plan.job.flavor}, and allow-unknown-price lets it run.{kept}"
        return [Finding(level="warning", title="Price not known", what=what, field="allow-unknown-price")]
    limit = f"max-cost is {usd(budget.max_usd)}, but the" if budget.max_usd is not None else "The"
    return [
        Finding(
            level="error",
            title="Price not known",
            what=f"{limit} Hub gives no price for {plan.job.flavor}.",
            fix="Choose another flavor, or set allow-unknown-price.",
        )
    ]


def _timeout(plan: Plan) -> list[Finding]:
    found = plan.budget.estimate
    if found is not None and found.seconds * ROOM > plan.job.timeout_s:
        took = "an earlier run took" if found.runs == 1 else f"the last {found.runs} runs took about"
        return [
            Finding(
                level="warning",
                title="Short timeout",
                what=f"the Job ends after {duration(plan.job.timeout_s)}, and {took} {duration(found.seconds)}.",
                why="A Job that is cut off is paid for and leaves no model.",
                field="timeout",
            )
        ]
    if plan.job.timeout_s > LONG_S and plan.budget.max_usd is None and plan.budget.worst_case_usd is not None:
        what = f"the Job may run for {duration(plan.job.timeout_s)} and cost {usd(plan.budget.worst_case_usd)},"
        return [
            Finding(
                level="warning",
                title="Long timeout",
                what=f"{what} and there is no max-cost.",
                why="A training that hangs is billed to its timeout.",
                field="timeout",
            )
        ]
    return []

"""What a launch may cost."""

from __future__ import annotations

from hf_train.inputs import Inputs
from hf_train.plan.model import Budget, Facts
from hf_train.plan.spending import estimate, worst_case
from hf_train.values import Flavor, JobSpec


def flavor_of(name: str, facts: Facts) -> Flavor | None:
    """The Hub's row of a flavor; None when it has none or could not be asked."""
    return next((one for one in facts.flavors or () if one.name == name), None)


def budget_of(inputs: Inputs, job: JobSpec, facts: Facts) -> Budget:
    """What the launch costs at worst, what it will cost by experience, and the limits that stand against it."""
    flavor, smoke = flavor_of(inputs.flavor, facts), inputs.smoke
    worst = worst_case(flavor, job.timeout_s, job.attempts)
    ahead: float | None = 0.0
    if smoke is not None:
        one = worst_case(flavor_of(smoke.flavor or inputs.flavor, facts), smoke.timeout_s, None)
        ahead = None if one is None else one * inputs.nodes
    return Budget(
        flavor=flavor,
        worst_case_usd=None if worst is None else worst * inputs.nodes,
        max_usd=inputs.max_cost,
        max_pr_usd=inputs.max_cost_per_pr,
        max_day_usd=inputs.max_cost_per_day,
        unknown_price_allowed=inputs.allow_unknown_price,
        spent_usd=facts.spent_usd,
        ahead_usd=ahead,
        estimate=estimate(job, flavor, facts.earlier, inputs.nodes),
    )


def usd(amount: float) -> str:
    """Dollars for people: four digits after the point below ten cents, two above."""
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:.2f}"

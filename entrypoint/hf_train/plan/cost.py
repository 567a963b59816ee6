"""What a launch may cost, and whether that is within the limit."""

from __future__ import annotations

from hf_train.errors import BadInput, RefusedByPolicy
from hf_train.inputs import Inputs
from hf_train.plan.model import Budget, Facts
from hf_train.values import Flavor


def flavor_of(inputs: Inputs, facts: Facts) -> Flavor | None:
    """The flavor that was asked for; None when the Hub could not be asked.

    Raises:
        BadInput: The Hub has no such flavor.
    """
    if facts.flavors is None:
        return None
    found = next((one for one in facts.flavors if one.name == inputs.flavor), None)
    if found is None:
        names = ", ".join(one.name for one in facts.flavors)
        raise BadInput([f"flavor: the Hub has no {inputs.flavor!r}; it has {names}"])
    return found


def budget_of(inputs: Inputs, flavor: Flavor | None) -> Budget:
    """What the launch costs at worst.

    Raises:
        RefusedByPolicy: That is more than `max-cost`, or it is not known while there is a limit.
    """
    price = flavor.cost_usd(inputs.timeout) if flavor else None
    worst = None if price is None else price * (inputs.attempts or 1)
    limit = inputs.max_cost
    if limit is not None and worst is None:
        raise RefusedByPolicy(
            "Price not known",
            f"max-cost is {usd(limit)}, but the Hub gives no price for {inputs.flavor}.",
            "Choose another flavor, or leave max-cost out.",
        )
    if limit is not None and worst is not None and worst > limit:
        raise RefusedByPolicy(
            "Over max-cost",
            f"{inputs.flavor} for {inputs.timeout} s, {inputs.attempts or 1} attempt(s), can cost {usd(worst)}; "
            f"max-cost is {usd(limit)}.",
            "Lower timeout, choose a smaller flavor, or raise max-cost. Nothing was sent and nothing was spent.",
        )
    return Budget(flavor=flavor, worst_case_usd=worst, max_usd=limit)


def usd(amount: float) -> str:
    """Dollars for people: four digits after the point below ten cents, two above."""
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:.2f}"

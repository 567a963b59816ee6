"""What Jobs cost, by the Hub's own durations and prices; and what a training like this one took before. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hf_train.values import Flavor, JobSpec, JobState, Stage

MINUTES_LABEL = "hft-minutes"
"""Label of every Job: how many minutes can be billed at most. `JobInfo` of huggingface_hub 2.4.0 tells no timeout."""
LOOKED_BACK = 5
"""Earlier Jobs that an estimate is made from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What the training will take, by what earlier ones took.

    Attributes:
        seconds: Median of their running times.
        usd: What that costs; None when the price is not known.
        runs: How many there were.
    """

    seconds: float
    usd: float | None
    runs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What several Jobs cost together; those that live count with their worst case.

    Attributes:
        usd: The sum of what is known, US dollars.
        unknown: Ids of Jobs whose cost is not known.
    """

    usd: float
    unknown: tuple[str, ...] = ()


def billed_minutes(timeout_s: int, attempts: int | None) -> int:
    """Most minutes that a Job can be billed for: the Hub bills started minutes, and each attempt for itself."""
    return math.ceil(timeout_s / 60) * (attempts or 1)


def worst_case(flavor: Flavor | None, timeout_s: int, attempts: int | None) -> float | None:
    """The most that a Job can cost, US dollars; None when the price is not known."""
    if flavor is None or flavor.usd_per_minute is None:
        return None
    return flavor.usd_per_minute * billed_minutes(timeout_s, attempts)


def job_usd(state: JobState, flavors: Sequence[Flavor]) -> float | None:
    """What a Job cost; its worst case while it lives. None when that is not known."""
    flavor = next((one for one in flavors if one.name == state.flavor), None)
    if flavor is None or flavor.usd_per_minute is None:
        return None
    if state.stage.is_terminal:
        seconds = seconds_run(state)
        return None if seconds is None else flavor.cost_usd(seconds)
    minutes = state.labels.get(MINUTES_LABEL, "")
    return flavor.usd_per_minute * int(minutes) if re.fullmatch(r"[0-9]{1,7}", minutes) else None


def seconds_run(state: JobState) -> float | None:
    """Seconds that an ended Job ran: the Hub's own count, else from its dates; None when neither is known."""
    if state.running_s is not None and math.isfinite(state.running_s):
        return state.running_s
    if state.started_at is None:
        return 0.0 if state.stage is Stage.CANCELED else None
    return (state.finished_at - state.started_at).total_seconds() if state.finished_at else None


def spent(jobs: Sequence[JobState], flavors: Sequence[Flavor]) -> Spent:
    """What these Jobs cost together."""
    costs = [(state.ref.id, job_usd(state, flavors)) for state in jobs]
    return Spent(
        usd=sum(usd for _, usd in costs if usd is not None), unknown=tuple(name for name, usd in costs if usd is None)
    )


def estimate(job: JobSpec, flavor: Flavor | None, earlier: Sequence[JobState], nodes: int = 1) -> Estimate | None:
    """From the newest completed Jobs of this image and flavor: the same command, else the same workflow job.

    Args:
        job: What is to run.
        flavor: Its hardware.
        earlier: Jobs of this repository, newest first.
        nodes: How many of it run at once.
    """
    alike = [
        (state, seconds)
        for state in earlier
        if state.stage is Stage.COMPLETED
        and not state.node
        and (state.image, state.flavor) == (job.image, job.flavor)
        and (seconds := seconds_run(state)) is not None
    ]
    family = job.labels.get("hft-family")
    same = [seconds for state, seconds in alike if state.command == job.command]
    near = [seconds for state, seconds in alike if family and state.labels.get("hft-family") == family]
    taken = (same or near)[:LOOKED_BACK]
    if not taken:
        return None
    seconds = median(taken)
    cost = flavor.cost_usd(seconds) if flavor else None
    return Estimate(seconds=seconds, usd=None if cost is None else cost * nodes, runs=len(taken))

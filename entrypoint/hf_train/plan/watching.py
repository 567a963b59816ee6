"""How long a step may follow its Job, and what a Job that lives longer is called."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.context import Context
from hf_train.inputs import Inputs

HOSTED_LIMIT_S = 6 * 3600
"""A job on a hosted runner ends after 6 hours, on a self-hosted one after 5 days (GitHub: usage limits)."""
HOSTED_WATCH_S = int(5.5 * 3600)
"""Half an hour of the six is kept for what comes before and after the watch."""


def longest(inputs: Inputs) -> int:
    """Seconds that the Job may run: each of its attempts has the whole timeout."""
    return inputs.timeout * (inputs.attempts or 1)


def watch_limit(inputs: Inputs, context: Context) -> int | None:
    """Seconds that this step follows the Job; None for no limit."""
    if inputs.mode == "detach":
        return None
    return inputs.watch_timeout or (HOSTED_WATCH_S if context.hosted else None)


def watch_problems(inputs: Inputs, context: Context) -> Sequence[str]:
    """What is wrong with the time that this step may follow the Job, in words; found before anything is spent."""
    problems = []
    if context.hosted and (inputs.watch_timeout or 0) > HOSTED_LIMIT_S:
        problems.append(
            f"watch-timeout: {inputs.watch_timeout} s is longer than the 6 hours after which a hosted runner ends; "
            "take 5h30m, or mode: detach with hf-train collect"
        )
    limit = watch_limit(inputs, context)
    if limit is not None and longest(inputs) > limit and inputs.on_watch_timeout is None:
        times = f" ({inputs.attempts} attempts)" if (inputs.attempts or 1) > 1 else ""
        problems.append(
            f"on-watch-timeout: the Job may run for {longest(inputs)} s{times}, but this step follows it for "
            f"{limit} s only (watch-timeout); say what happens then: detach, cancel or fail"
        )
    return problems


def outlives(inputs: Inputs, context: Context) -> bool:
    """Whether the user wants the Job to go on when this step has ended; such a Job is never an orphan."""
    if inputs.mode == "detach" or inputs.on_cancel == "keep":
        return True
    limit = watch_limit(inputs, context)
    return limit is not None and longest(inputs) > limit and inputs.on_watch_timeout in {"detach", "fail"}

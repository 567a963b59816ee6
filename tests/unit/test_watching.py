"""How long a step follows its Job, and which Jobs outlive their step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hf_train.context import Context, Pull
from hf_train.inputs import Inputs, Layers, parse
from hf_train.plan import family, outlives, watch_problems
from unit.makers import ON_GITHUB, plan

SELF_HOSTED = replace(ON_GITHUB, self_hosted=True)


def inputs(**flags: Any) -> Inputs:
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    return parse(Layers(flags={"command": "true", **given}))


@pytest.mark.case(58)
@pytest.mark.parametrize(
    ("flags", "context", "says"),
    [
        ({}, ON_GITHUB, ""),
        ({"timeout": "5h30m"}, ON_GITHUB, ""),
        ({"timeout": "8h"}, ON_GITHUB, "say what happens then: detach, cancel or fail"),
        ({"timeout": "8h"}, SELF_HOSTED, ""),
        ({"timeout": "8h"}, Context(), ""),
        ({"timeout": "8h", "on_watch_timeout": "fail"}, ON_GITHUB, ""),
        ({"timeout": "8h", "on_watch_timeout": "detach"}, ON_GITHUB, ""),
        ({"timeout": "8h", "on_watch_timeout": "cancel"}, ON_GITHUB, ""),
        ({"timeout": "8h", "mode": "detach"}, ON_GITHUB, ""),
        ({"timeout": "2h", "watch_timeout": "1h"}, Context(), "follows it for 3600 s only"),
        ({"timeout": "2h", "watch_timeout": "1h"}, SELF_HOSTED, "follows it for 3600 s only"),
        ({"watch_timeout": "6h"}, ON_GITHUB, ""),
        ({"timeout": "2h", "attempts": "2"}, ON_GITHUB, ""),
        ({"timeout": "2h", "attempts": "3"}, ON_GITHUB, "may run for 21600 s (3 attempts)"),
        ({"watch_timeout": "361m"}, ON_GITHUB, "longer than the 6 hours"),
        ({"watch_timeout": "100h"}, SELF_HOSTED, ""),
    ],
)
def test_a_watch_that_ends_too_early_is_told_before_the_launch(
    flags: dict[str, Any], context: Context, says: str
) -> None:
    problems = watch_problems(inputs(**flags), context)
    assert len(problems) == bool(says)
    assert says in "".join(problems)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, False),
        ({"mode": "detach"}, True),
        ({"on_cancel": "keep"}, True),
        ({"timeout": "8h", "on_watch_timeout": "detach"}, True),
        ({"timeout": "8h", "on_watch_timeout": "fail"}, True),
        ({"timeout": "8h", "on_watch_timeout": "cancel"}, False),
        ({"timeout": "1h", "on_watch_timeout": "detach"}, False),
        ({"timeout": "2h", "attempts": "3", "on_watch_timeout": "detach"}, True),
    ],
)
def test_a_job_that_may_outlive_its_step_is_labelled(flags: dict[str, Any], expected: bool) -> None:
    assert outlives(inputs(**flags), ON_GITHUB) is expected
    assert plan(**flags).job.labels.get("hft-mode") == ("detach" if expected else None)


@pytest.mark.case(59, 72)
def test_a_family_is_one_workflow_on_one_pull_request() -> None:
    mine = family(ON_GITHUB, "train / sft")
    assert mine == family(replace(ON_GITHUB, sha="9" * 40, run_id="2"), "train / sft")
    other_pull = replace(ON_GITHUB, pull=Pull(number=8))
    other_repo = replace(ON_GITHUB, repository="octo/other")
    branch = replace(ON_GITHUB, pull=None)
    others = [family(one, "train / sft") for one in (other_pull, other_repo, branch)]
    assert len({mine, *others, family(ON_GITHUB, "train / dpo")}) == 5

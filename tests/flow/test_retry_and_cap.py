"""No sequence of inputs and answers submits a Job above a limit: retries, smoke runs, attempts, repeated POSTs."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow.money import Life, MoneyHub
from flow.steps import request
from hf_train.errors import RefusedByHub, TransientHubError, UserError
from hf_train.flow import runs
from hf_train.values import Flavor, JobRef, JobState, Stage
from support.fakes import START, World

_LOG = (
    (1.0, " 50%|#####     | 10/20 [00:10<00:10,  1.00it/s]"),
    (2.0, "{'train_steps_per_second': '1.5', 'epoch': '1'}"),
)
_ENDS = st.sampled_from(
    [
        Life(),
        Life(log=_LOG),
        Life(stage=Stage.ERROR, message="Node was lost"),
        Life(stage=Stage.ERROR, message="evicted"),
        Life(stage=Stage.ERROR, message="Job failed with exit code: 1. Reason: Error"),
        Life(stage=Stage.CANCELED),
        Life(error=TransientHubError("HTTP 503"), stored=True),
        Life(error=TransientHubError("HTTP 503"), stored=False),
        Life(error=RefusedByHub("No credit", "The Hub answered 402.")),
    ]
)
_LIVES = st.lists(
    st.builds(lambda end, seconds: replace(end, seconds=seconds), _ENDS, st.floats(0.5, 20_000)), min_size=1, max_size=6
)
_PRICE = st.integers(-1, 9).map(lambda tenth: None if tenth < 0 else 0.01 + tenth / 20)
_CENTS = st.integers(1, 20_000).map(lambda cents: f"{cents / 100:.2f}")


def _others(count: int, running: int) -> list[JobState]:
    """Jobs of the same pull request from before: an hour of cpu-basic each, some of them still running."""
    labels = {"hf-train": "1", "hft-repo": "octo-proj", "hft-pr": "7", "hft-minutes": "60"}
    return [
        JobState(
            ref=JobRef(id=f"{900 + number:024x}", namespace="alice", url=""),
            stage=Stage.RUNNING if number < running else Stage.COMPLETED,
            created_at=START - timedelta(hours=2),
            running_s=3600.0,
            flavor="cpu-basic",
            labels={**labels, "hft-nonce": f"o{number}"},
        )
        for number in range(count)
    ]


@pytest.mark.case(22, 65, 66)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lives=_LIVES,
    prices=st.tuples(_PRICE, _PRICE),
    limits=st.fixed_dictionaries(
        {}, optional={"max_cost": _CENTS, "max_cost_per_pr": _CENTS, "max_cost_per_day": _CENTS}
    ),
    minutes=st.integers(1, 120),
    more=st.fixed_dictionaries(
        {},
        optional={
            "retry": st.integers(0, 3).map(str),
            "attempts": st.integers(1, 3).map(str),
            "smoke": st.sampled_from(["timeout: 5m", "flavor: t4-small", "args: --max_steps 9\ntimeout: 90s"]),
            "mode": st.just("detach"),
            "reuse": st.just("never"),
        },
    ),
    others=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    reruns=st.integers(1, 2),
)
def test_no_sequence_of_inputs_and_answers_submits_a_job_above_a_limit(
    lives: list[Life],
    prices: tuple[float | None, float | None],
    limits: dict[str, str],
    minutes: int,
    more: dict[str, str],
    others: tuple[int, int],
    reruns: int,
) -> None:
    world = World()
    flavors = (Flavor(name="cpu-basic", usd_per_minute=prices[0]), Flavor(name="t4-small", usd_per_minute=prices[1]))
    hub = MoneyHub(world.clock, flavors=flavors, lives=lives, existing=_others(*others))
    world.hub = hub
    for number in range(reruns):
        hub.forget()
        flags: dict[str, Any] = {"timeout": f"{minutes}m", "watch_timeout": "6h", **limits, **more}
        asked = request(**flags)
        with contextlib.suppress(UserError):
            runs.run(replace(asked, nonce=f"run{number}"), world.ports)
        if prices[0] is None:
            assert all(spec.flavor != "cpu-basic" for spec, _ in hub.submitted)
        else:
            assert hub.dearest <= float(limits.get("max_cost", "inf")) * (1 + 1e-9)
            both = min(float(limits.get(name, "inf")) for name in ("max_cost_per_pr", "max_cost_per_day"))
            assert hub.dearest_of_all <= both * (1 + 1e-9)
        world.clock.seconds += 60

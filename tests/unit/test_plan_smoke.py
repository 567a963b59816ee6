"""From a smoke run to the full one: steps, speed, time, cost, and the timeout to set."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.inputs import Layers, parse
from hf_train.smoke import Forecast, forecast, smoke_inputs
from hf_train.values import Findings, Flavor, Metric
from unit.makers import plan

FLAVOR = Flavor(name="cpu-basic", usd_per_minute=0.1)


def _told(
    command: str = "python t.py --max_steps 1000",
    smoke: str = "args: --max_steps 20",
    *,
    config: str | None = None,
    ran_s: float | None = 30.0,
    **findings: Any,
) -> Forecast:
    inputs = parse(Layers(flags={"command": command, "smoke": smoke}))
    given_findings: dict[str, Any] = {"progress": (20, 20), "steps_per_second": 2.0, **findings}
    return forecast(inputs, config, Findings(**given_findings), ran_s, FLAVOR)


def test_what_takes_no_steps_is_taken_once() -> None:
    told = _told()  # 30 s, of which 20 steps at 2 a second took 10
    assert (told.steps, told.seconds) == (1000, 520.0)
    assert told.cost_usd == pytest.approx(0.9)
    assert told.timeout_s == 1500, "a third more and ten minutes, in whole five minutes"
    assert told.text == (
        "1,000 steps at 2 a second: the full run takes about 8 min 40 s ($0.90); a timeout of 25 min would do"
    )


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"command": "t.py --max-steps=500"}, 500),
        ({"command": "t.py --max_steps 500 --max_steps 700"}, 700),
        ({"command": "t.py --max_train_steps 900"}, 900),
        ({"command": "t.py", "config": "max_steps: 640"}, 640),
        ({"command": "t.py --max_steps -1", "progress": (20, 400), "smoke": "timeout: 5m"}, 400),
        ({"command": "t.py", "progress": (20, 400), "smoke": "timeout: 5m"}, 400),
        ({"command": "t.py", "progress": (20, 400), "smoke": "args: --report_to none"}, 400),
        ({"command": "t.py", "progress": (20, 20)}, None),
        ({"command": "t.py", "progress": (20, 20), "smoke": "args: --max_train_samples 100"}, None),
        ({"command": "t.py --num_train_epochs 3", "epoch": 0.5}, 120),
        ({"command": "t.py --num_train_epochs 3", "epoch": 0.01}, None),
        ({"command": "t.py --epochs 2", "progress": (None, None), "epoch": 1.0}, None),
    ],
    ids=str,
)
def test_steps_of_the_full_run(changes: dict[str, Any], steps: int | None) -> None:
    told = _told(**changes)
    assert told.steps == steps
    assert (told.why == "") == (steps is not None)


def test_a_trainer_without_a_bar_says_its_steps_by_time_and_speed() -> None:
    runtime = (Metric(name="train_runtime", value=10.0, source="log"),)
    told = _told(progress=(None, None), metrics=runtime)
    assert (told.steps, told.seconds) == (1000, 520.0)


@pytest.mark.parametrize(
    "findings",
    [{"steps_per_second": None}, {"steps_per_second": 0.0}, {"steps_per_second": float("nan")}, {"progress": (0, 5)}],
    ids=str,
)
def test_without_a_speed_nothing_is_made_up(findings: dict[str, Any]) -> None:
    told = _told(**findings)
    assert (told.seconds, told.timeout_s, told.why) == (None, None, "its log shows no speed")


def test_another_machine() -> None:
    assert "another machine" in _told(smoke="flavor: t4-small").why
    assert _told(smoke="flavor: cpu-basic\nargs: --max_steps 20").seconds == 520.0


@given(st.floats(0.001, 1e4), st.integers(1, 10**7), st.integers(1, 10**7), st.none() | st.floats(0, 1e6))
def test_a_forecast_is_never_below_the_steps_themselves(rate: float, step: int, full: int, ran_s: float | None) -> None:
    told = _told(f"t.py --max_steps {full}", steps_per_second=rate, progress=(step, step), ran_s=ran_s)
    assert told.seconds is not None
    assert told.timeout_s is not None
    assert told.seconds >= full / rate
    assert told.timeout_s >= told.seconds
    assert told.text


def test_the_smoke_run_keeps_the_command_and_adds_its_words() -> None:
    inputs = parse(
        Layers(
            flags={"script": "t.py", "args": "--lr 1", "smoke": "args: --max_steps 9", "gate": "x > 1", "retry": "1"}
        )
    )
    made = smoke_inputs(inputs)
    assert made.args == ("--lr", "1", "--max_steps", "9")
    assert (made.smoke, made.gate, made.baseline, made.require_model, made.timeout) == (None, (), "none", False, 600)
    assert (made.retry, made.mode, made.on_cancel) == (1, "wait", "cancel")


def test_the_plan_says_that_a_smoke_run_goes_first() -> None:
    notes = " ".join(plan(smoke="args: --max_steps 5\ntimeout: 10m").notes)
    assert "A smoke run goes first: t4-small for at most 600 s, $0.0670 at most with --max_steps 5." in notes
    assert "smoke" not in " ".join(plan().notes)

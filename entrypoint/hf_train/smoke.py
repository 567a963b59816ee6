"""Smoke first: what a short Job says about the full one. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hf_train.inputs import Inputs
from hf_train.plan import usd
from hf_train.preflight.sources import configured, options
from hf_train.report.words import duration
from hf_train.values import Findings, Flavor

MARK = "HFT_SMOKE"
"""Variable of the smoke Job, set to 1: a script may look at it, and the Job's key differs from the full run's."""
_STEPS = frozenset({"max_steps", "max_train_steps", "num_train_steps", "train_steps", "total_steps", "max_iters"})
_EPOCHS = frozenset({"num_train_epochs", "num_epochs", "epochs", "max_epochs"})
_FEWER = re.compile(r"samples|subset|limit|fraction|percent|examples|shots")
LEAST_EPOCH = 0.1
"""Trainers print the epoch with two digits; below this, steps of an epoch would be more guessed than measured."""
ROOM, EXTRA_S, ROUND_S = 1.3, 600, 300
"""A timeout leaves a third for slow hardware, ten minutes for evaluation and upload, and is a whole five minutes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What the full run will take, by what the smoke run took.

    Attributes:
        steps: Steps of the full run; None when they are not known.
        rate: Steps a second; None when the log does not say.
        seconds: How long it runs; None when it is not known.
        cost_usd: What that costs; None when it is not known.
        why: Why it is not known, in words; empty when it is.
    """

    steps: int | None = None
    rate: float | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    why: str = ""

    @property
    def timeout_s(self) -> int | None:
        """The timeout to set, seconds."""
        if self.seconds is None:
            return None
        return math.ceil((self.seconds * ROOM + EXTRA_S) / ROUND_S) * ROUND_S

    @property
    def text(self) -> str:
        """In words."""
        if self.seconds is None or self.timeout_s is None:
            return f"how long the full run takes is not known: {self.why}"
        cost = f" ({usd(self.cost_usd)})" if self.cost_usd is not None else ""
        return (
            f"{self.steps:,} steps at {self.rate:.3g} a second: the full run takes about {duration(self.seconds)}{cost}"
            f"; a timeout of {duration(self.timeout_s)} would do"
        )


def smoke_inputs(inputs: Inputs) -> Inputs:
    """The inputs of the short Job: nothing of it is published, compared or gated by us."""
    smoke = inputs.smoke
    assert smoke is not None  # noqa: S101  (its caller looked)
    return replace(
        inputs,
        smoke=None,
        flavor=smoke.flavor or inputs.flavor,
        timeout=smoke.timeout_s,
        attempts=None,
        args=(*inputs.args, *smoke.args) if inputs.script or inputs.recipe else inputs.args,
        command=inputs.command if inputs.script or inputs.recipe else (*inputs.command, *smoke.args),
        # A folder of the Job's own: the real run's holds its checkpoints, and this run's are worth nothing.
        env={**inputs.env, MARK: "1", **({"HF_TRAIN_OUTPUT_DIR": "output"} if inputs.output else {})},
        output=None,
        model_repo=None,
        require_model=False,
        metrics_file=None,
        baseline="none",
        gate=(),
        mode="wait",
        on_watch_timeout="cancel",  # the full run waits for its end, and nobody else would
        on_cancel="cancel",
    )


def forecast(
    inputs: Inputs, config: str | None, findings: Findings, ran_s: float | None, flavor: Flavor | None
) -> Forecast:
    """From what the smoke run did to what the full run will do.

    Args:
        inputs: Inputs of the full run.
        config: Text of the training library's YAML.
        findings: What the smoke run's log says.
        ran_s: Seconds that it ran.
        flavor: Hardware of the full run.
    """
    smoke, rate, step = inputs.smoke, findings.steps_per_second, _done(findings)
    if smoke is not None and smoke.flavor not in {None, inputs.flavor}:
        return Forecast(rate=rate, why=f"the smoke run was on {smoke.flavor}, and another machine has another speed")
    if not rate or not math.isfinite(rate) or not step:
        return Forecast(why="its log shows no speed")
    steps = _steps(inputs, config, findings)
    if steps is None:
        return Forecast(rate=rate, why="the number of its steps shows neither in the command nor in the log")
    setup = max(0.0, (ran_s or 0.0) - step / rate)
    seconds = setup + steps / rate
    price = flavor.cost_usd(seconds) if flavor else None
    return Forecast(steps=steps, rate=rate, seconds=seconds, cost_usd=None if price is None else price * inputs.nodes)


def _steps(inputs: Inputs, config: str | None, findings: Findings) -> int | None:
    """Steps of the full run: as the command says, as the log says when the smoke run was not shortened, by epochs."""
    given = [*configured(config), *options((*inputs.command, *inputs.args))]
    if (steps := _last(given, _STEPS)) is not None:
        return math.ceil(steps)
    step, total = _done(findings), findings.progress[1]
    if total and not _shortened(inputs.smoke.args if inputs.smoke else ()):
        return total
    epochs = _last(given, _EPOCHS)
    if epochs is None or not step or not findings.epoch or findings.epoch < LEAST_EPOCH:
        return None
    return math.ceil(epochs * step / findings.epoch)


def _done(findings: Findings) -> int | None:
    """Steps that were done: by the bar, else by what a trainer without one says at its end."""
    step, rate = findings.progress[0], findings.steps_per_second
    ran = next((metric.value for metric in findings.metrics if metric.name == "train_runtime"), None)
    if step or not rate or ran is None or not math.isfinite(rate * ran):
        return step
    return round(rate * ran) or None


def _last(given: Sequence[tuple[str, str]], names: frozenset[str]) -> float | None:
    """The last value above zero; `--max_steps -1` means none."""
    found = None
    for name, value in given:
        if name in names:
            found = float(value) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", value) and float(value) > 0 else None
    return found


def _shortened(args: Sequence[str]) -> bool:
    return any(name in _STEPS or name in _EPOCHS or _FEWER.search(name) for name, _ in options(args))

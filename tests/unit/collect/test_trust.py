"""Which source is believed, and what is said when two disagree."""

from __future__ import annotations

import math

import pytest

from hf_train.collect import Metric, Source, merge
from hf_train.collect.trust import FAKE, ORDER, agree


def by_name(*sources: Source) -> dict[str, Metric]:
    return {metric.name: metric for metric in merge(sources)}


def test_the_order_of_trust() -> None:
    sources = [Source(kind, {"eval_loss": float(index)}) for index, kind in enumerate(ORDER)]
    for first in range(len(sources)):
        assert by_name(*reversed(sources[first:]))["eval_loss"].source == ORDER[first]


def test_each_metric_has_its_source_and_step() -> None:
    found = by_name(
        Source("log", {"loss": 0.5, "eval_loss": 0.65}, step=40),
        Source("trainer_state.json", {"eval_loss": 0.646312}, step=40, name="trainer_state.json in checkpoint-40"),
    )
    assert (found["loss"].value, found["loss"].source, found["loss"].step) == (0.5, "log", 40)
    assert found["eval_loss"].source == "trainer_state.json in checkpoint-40"


def test_rounding_is_no_disagreement_and_more_is_told() -> None:
    files = Source("all_results.json", {"eval_loss": 0.646312, "eval_accuracy": 0.65, "train_runtime": 7.3764})
    found = by_name(files, Source("log", {"eval_loss": 0.6463, "eval_accuracy": 0.61, "train_runtime": 7.37}))
    assert found["eval_loss"].problems == ()
    assert found["train_runtime"].problems == ()  # the block cuts, it does not round
    assert found["eval_accuracy"].problems == ("the log says 0.61",)
    assert found["eval_accuracy"].value == 0.65


def test_a_diverged_run_s_finite_train_loss_is_called_fake() -> None:
    found = by_name(
        Source("all_results.json", {"train_loss": 0.0516, "eval_accuracy": 0.6}),
        Source("log", {"loss": 0.0, "grad_norm": math.nan, "train_loss": 0.0516}),
    )
    assert FAKE in found["train_loss"].problems
    assert found["eval_accuracy"].problems == ()
    healthy = by_name(Source("log", {"loss": 0.5, "grad_norm": math.nan, "train_loss": 0.5}))
    assert healthy["train_loss"].problems == ()


def test_null_gives_way_and_nan_does_not() -> None:
    found = by_name(
        Source("metrics-file", {"kl": None, "eval_loss": math.nan}), Source("log", {"kl": 0.2, "eval_loss": 0.5})
    )
    assert (found["kl"].value, found["kl"].source) == (0.2, "log")
    assert math.isnan(found["eval_loss"].value or 0)
    assert found["eval_loss"].problems == ("the log says 0.5",)


def test_trackers_names_are_the_trainer_s() -> None:
    found = by_name(
        Source("tensorboard", {"train/loss": 0.5, "eval/accuracy": 0.9, "train/train_loss": 0.6, "lr": 0.1})
    )
    assert set(found) == {"loss", "eval_accuracy", "train_loss", "lr"}


def test_nothing_gives_nothing() -> None:
    assert merge([]) == ()


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (0.646312, 0.6463, True),
        (0.646312, 0.6464, False),
        (0.646312, 0.6470, False),
        (5.904713948567708, 5.905, True),
        (20350.0, 20347.6, True),
        (20350.0, 20361.0, False),
        (1.0, 0.65, False),
        (1.0, 0.9962, False),
        (0.0, 0.4, False),
        (0.0005, 0.000512, True),
        (-0.5, 0.5, False),
        (0.0, 0.0, True),
        (math.nan, math.nan, True),
        (math.nan, 0.0, False),
        (math.inf, math.inf, True),
        (math.inf, 1.0, False),
        (4.6e-06, 4.615e-06, True),
        (0.0, 0.00004, True),
    ],
)
def test_agree(left: float, right: float, same: bool) -> None:
    assert agree(left, right) is same

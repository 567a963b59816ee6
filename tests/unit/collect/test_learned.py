"""Lines that come again are read by a learned pattern: always as the grammar would have read them."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.collect import LogReading, explain_json, learned, read_log
from hf_train.collect.learned import AFTER, Learned

TEMPLATES = (
    "12/02 22:18:02 - mmengine - INFO - Epoch(train) [1][20/735]  lr: 1.0e-02  eta: 0:10:00  time: 0.3012  loss: 0.25",
    " iteration       10/     500 | consumed samples:          640 | lm loss: 1.052145E+01 | grad norm: 2.143 |",
    "2026-12-02 03:51:00,123 | INFO | train_inner | epoch 001:     20 / 735 loss=8.5, ppl=362.04, wps=31234.5, gnorm=2",
    "[rank0]: step 12 | loss 0.5123 | lr 1.00e-03 | acc1: 31.25 (30.9) acc5 61.2",
    "Epoch: 3 [12/735 (2%)]  loss: 0.2251 (0.3)  f1: 0.5  top-5: 9",
    "step 1,234 loss: 0,512 pérdida: 1,25",
    "val Epoch 3/10 Loss: 0.25 Acc: 91.2%",
    "Accuracy: 9135/10000 (91%)",
    "layer7/loss: 1.5 x2=3 f9: 4 epoch 2.5 step: 1e3",
    "[80746] [  169.9s] train_loss: -0.25 max_steps: 500 step: 3",
    "loss: nan grad_norm: inf step 4",
    "Train: 3 [  20/735 (  3%)]  Loss: 6.91 (6.92)  LR: 1.000e-06",
)


def _other_digits(rng: random.Random, template: str) -> str:
    """The same line with other digits, often as many, sometimes a few or very many."""

    def run(found: re.Match[str]) -> str:
        length = len(found[0]) if rng.random() < 0.7 else rng.choice((1, 2, 3, 5, 8, 10, 13))
        return "".join(rng.choice("0123456789") for _ in range(length))

    return re.sub(r"\d+", run, template)


def _lines(seed: int, templates: list[str]) -> bytes:
    rng = random.Random(seed)
    return "".join(_other_digits(rng, rng.choice(templates)) + "\n" for _ in range(60)).encode()


def _read(data: bytes, after: int) -> LogReading:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned, "AFTER", after)
        return read_log([data])


@given(st.integers(0, 10**9), st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=4))
def test_learned_lines_are_read_as_by_the_grammar(seed: int, templates: list[str]) -> None:
    data = _lines(seed, templates)
    by_grammar = _read(data, 10**9)
    by_pattern = _read(data, 2)
    assert explain_json(by_pattern) == explain_json(by_grammar)
    assert repr(by_pattern) == repr(by_grammar)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_line_that_comes_again_with_other_digits(template: str) -> None:
    for seed in range(4):
        data = _lines(seed, [template])
        assert explain_json(_read(data, 1)) == explain_json(_read(data, 10**9))


def test_a_shape_is_learned_only_when_it_comes_again_and_the_patterns_of_a_log_are_bounded() -> None:
    some: Learned[str] = Learned()
    for number in range(AFTER - 1):
        some.see(f"loss: 0.{number}", "loss", [(6, 9)], 0)
        assert some.match("loss: 0.7") is None
    some.see("loss: 0.7", "loss", [(6, 9)], 0)
    assert some.match("loss: 12.75") == ("loss", [12.75])
    assert some.match("loss: 0.7 ") is None
    assert some.match("acc: 0.7") is None
    many: Learned[str] = Learned()
    names = [f"{first}{second}oss: 0.5" for first in "abcdefghijklmnop" for second in "abcdefghijklmnop"]
    for name in names:
        for _ in range(AFTER):
            many.see(name, name, [(7, 10)], 0)
    assert sum(many.match(name) is not None for name in names) == 64

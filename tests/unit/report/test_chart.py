"""Curves: what is drawn, in a grammar that Mermaid reads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.report.chart import BLOCKS, caption, main_curve, mermaid, sparkline, thin
from unit.report.hostile import POINTS, TEXT

NUMBER = r"-?(?:\d+(?:\.\d+)?)"
"""`NUMBER_WITH_DECIMAL` of mermaid's xychart.jison: no exponents."""
CHART = re.compile(
    r"```mermaid\n%%\{init: [^\n]*\}%%\nxychart-beta\n"
    rf'    x-axis "step" {NUMBER} --> {NUMBER}\n'
    rf'    y-axis "[A-Za-z0-9_./@ -]*" {NUMBER} --> {NUMBER}\n'
    rf"    line \[{NUMBER}(?:, {NUMBER})*\]\n```"
)
DOWN = tuple((float(step), 1 / (step + 1)) for step in range(500))


def test_the_chart_of_a_loss() -> None:
    text = mermaid("loss", ((0.0, 2.0), (1e6, 1.0), (2e6, 1e-7)))
    assert text.splitlines()[2:] == [
        "xychart-beta",
        '    x-axis "step" 0 --> 2000000',
        '    y-axis "loss" -0.0999999 --> 2.1',
        "    line [2, 1, 0.0000001]",
        "```",
    ]


@given(st.dictionaries(TEXT, POINTS, min_size=1, max_size=3))
def test_any_curve_gives_a_chart_that_mermaid_reads_or_none(curve: dict[str, tuple[tuple[float, float], ...]]) -> None:
    found = main_curve(curve)
    if found is None:
        return
    name, points = found
    assert CHART.fullmatch(mermaid(name, points)), mermaid(name, points)
    assert set(sparkline(points)) <= set(BLOCKS)
    assert len(sparkline(points)) <= 40
    assert "\n" not in caption(name, points)


def test_a_loss_is_preferred_and_a_stub_is_no_curve() -> None:
    three = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    assert main_curve({"acc": three * 5, "eval_loss": three}) == ("eval_loss", three)
    assert main_curve({"acc": three, "loss": three[:2]}) == ("acc", three)
    assert main_curve({}) is None
    nan = ((0.0, float("nan")), (float("inf"), 1.0), *three)
    assert main_curve({"loss": nan}) == ("loss", three)


@given(st.lists(st.tuples(st.integers(0, 10**6).map(float), st.floats(-1e6, 1e6)), min_size=1, max_size=400))
def test_thinning_keeps_the_ends_and_the_extremes(points: list[tuple[float, float]]) -> None:
    kept = thin(points)
    assert len(kept) <= 40
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    values = [value for _, value in kept]
    assert min(values) == min(value for _, value in points)
    assert max(values) == max(value for _, value in points)


@pytest.mark.parametrize(("points", "blocks"), [(DOWN[:1], "▁"), (((0.0, 1.0), (1.0, 1.0)), "▁▁"), (DOWN[:3], "█▃▁")])
def test_a_sparkline(points: tuple[tuple[float, float], ...], blocks: str) -> None:
    assert sparkline(points) == blocks

"""Curves: what is drawn, in a grammar that Mermaid reads."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.report.chart import BLOCKS, caption, drawable, main_curve, mermaid, sparkline, thin
from unit.report.hostile import POINTS, TEXT

NUMBER = r"-?(?:\d+(?:\.\d+)?)"
"""`NUMBER_WITH_DECIMAL` of mermaid's xychart.jison: no exponents."""
CHART = re.compile(
    r"```mermaid\n%%\{init: [^\n]*\}%%\nxychart-beta\n"
    rf'    x-axis "step" {NUMBER} --> {NUMBER}\n'
    rf'    y-axis "[A-Za-z0-9_./@ -]*" {NUMBER} --> {NUMBER}\n'
    rf"(?:    line \[{NUMBER}(?:, {NUMBER})*\]\n){{1,2}}```"
)
DOWN = tuple((float(step), 1 / (step + 1)) for step in range(500))


def test_the_chart_of_a_loss() -> None:
    text = mermaid("loss", ((0.0, 2.0), (1e6, 0.0), (2e6, 1e-7)))
    assert text.splitlines()[2:] == [
        "xychart-beta",
        '    x-axis "step" 0 --> 2000000',
        '    y-axis "loss" -0.1 --> 2.1',
        "    line [2, 0, 0.0000001]",
        "```",
    ]


def lines_of(text: str) -> list[list[float]]:
    """The values of each line of a chart."""
    return [json.loads(line.strip().removeprefix("line ")) for line in text.splitlines() if "line [" in line]


@given(st.dictionaries(TEXT, POINTS, min_size=1, max_size=3), POINTS)
def test_any_curve_gives_a_chart_that_mermaid_reads_or_none(
    curve: dict[str, tuple[tuple[float, float], ...]], other: tuple[tuple[float, float], ...]
) -> None:
    found = main_curve(curve)
    if found is None:
        return
    name, points = found
    base = drawable(other)
    text = mermaid(name, points, base)
    assert CHART.fullmatch(text), text
    assert len(lines_of(text)) == (2 if len(base) >= 2 else 1)
    assert set(sparkline(points, base)) <= set(BLOCKS)
    assert len(sparkline(points)) <= 40
    assert "\n" not in caption(name, points)


def test_a_loss_is_preferred_and_a_stub_is_no_curve() -> None:
    three = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    assert main_curve({"acc": (*three, (3.0, 4.0)), "eval_loss": three}) == ("eval_loss", three)
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


# ---- on even steps, beside the baseline ----


def test_the_baseline_is_drawn_behind_this_run() -> None:
    ours = tuple((float(step), 2.0 - step / 100) for step in range(0, 101, 10))
    base = tuple((float(step), 2.5 - step / 100) for step in range(0, 101, 10))
    text = mermaid("loss", ours, base)
    assert lines_of(text) == [[value for _, value in base], [value for _, value in ours]]
    assert '"plotColorPalette": "#8c959f, #2f81f7"' in text, "grey is the baseline, blue this run"


@pytest.mark.parametrize(("end", "last"), [(50.0, 0.5), (200.0, 1.0)])
def test_a_baseline_of_another_length_stands_at_its_own_steps(end: float, last: float) -> None:
    """Mermaid spreads the values of each line over the whole axis, so both must be on the same steps."""
    ours = ((0.0, 0.0), (50.0, 0.5), (100.0, 1.0))
    base = tuple((step * end / 10, step * end / 1000) for step in range(11))
    first, second = lines_of(mermaid("loss", ours, base))
    slots = [100 * i / 39 for i in range(40)]
    assert first == pytest.approx([min(x / 100, last) for x in slots], abs=0.02), "flat from where it ended"
    assert second == [0, 0.5, 1]


def test_uneven_steps_are_drawn_where_they_are() -> None:
    (line,) = lines_of(mermaid("loss", ((0.0, 4.0), (1.0, 2.0), (100.0, 1.0))))
    assert len(line) == 40
    assert (line[0], line[-1]) == (4, 1)
    assert line[20] == pytest.approx(1.5, abs=0.02)


@given(st.lists(st.tuples(st.integers(0, 10**6).map(float), st.floats(1, 1e3)), min_size=3, max_size=400))
def test_a_line_on_even_steps_keeps_its_ends_and_extremes(points: list[tuple[float, float]]) -> None:
    curve = drawable(points)
    if len(curve) < 3:
        return
    (line,) = lines_of(mermaid("loss", curve))
    values = [value for _, value in curve]
    assert len(line) <= 40
    assert line[0] == pytest.approx(values[0], rel=1e-5)
    assert line[-1] == pytest.approx(values[-1], rel=1e-5)
    assert min(line) == pytest.approx(min(values), rel=1e-5)
    assert max(line) == pytest.approx(max(values), rel=1e-5)


def test_a_restart_counts_with_its_last_value() -> None:
    assert drawable(((0.0, 3.0), (1.0, 2.0), (0.0, 2.5), (2.0, 1.0))) == ((0.0, 2.5), (1.0, 2.0), (2.0, 1.0))


@pytest.mark.parametrize(
    ("low", "title", "ends"),
    [(0.001, "log10 of loss", (1, -3)), (0.01, "loss", (10, 0.01)), (0.0, "loss", (10, 0)), (-1.0, "loss", (10, -1))],
)
def test_the_logarithm_is_plotted_where_it_helps_and_the_axis_says_so(
    low: float, title: str, ends: tuple[float, float]
) -> None:
    text = mermaid("loss", ((0.0, 10.0), (1.0, 1.0), (2.0, low)))
    assert f'y-axis "{title}"' in text
    (line,) = lines_of(text)
    assert (line[0], line[-1]) == ends


def test_two_sparklines_share_a_scale() -> None:
    low, high = ((0.0, 0.0), (1.0, 1.0)), ((0.0, 3.0), (1.0, 4.0))
    assert (sparkline(low, high), sparkline(high, low)) == ("▁▃", "▇█")

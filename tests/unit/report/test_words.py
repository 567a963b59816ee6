"""Numbers, times and money, for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.report.words import DASH, duration, money, number, one_line

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, DASH), (NAN, DASH), (INF, DASH), (0, "0 s"), (41.4, "41 s"), (60, "1 min"), (724, "12 min 4 s"), (3600,
     "1 h 00 min"),
     (11_220, "3 h 07 min"), (59.6, "1 min")],
)  # fmt: skip
def test_a_duration(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, DASH),
        (NAN, DASH),
        (0, "$0.00"),
        (0.000167, "$0.0002"),
        (0.0871, "$0.0871"),
        (0.1, "$0.10"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount(amount: float | None, text: str) -> None:
    assert money(amount) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.90123, "0.9012"), (12.0, "12"), (-0.0, "0"), (1e-9, "1e-09"), (123456.789, "123,456.8"), (1e21, "1.000e+21"),
     (NAN, "NaN"), (INF, "∞"), (-INF, "-∞"), (1500000.0, "1,500,000"), (999.99996, "1000")],
)  # fmt: skip
def test_a_number(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats())
def test_any_number_is_short_and_has_a_word(value: float) -> None:
    text = number(value)
    assert 0 < len(text) <= 24
    if text.replace(",", "").lstrip("-") not in {"NaN", "∞"}:
        assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-4)


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert line.splitlines() in ([], [line])
    assert len(line) <= limit + 1
    assert one_line(line, limit + 1) == line.strip()
    line.encode("utf-8")

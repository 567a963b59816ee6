"""Curves of a trackio database, which a Job wrote and which is therefore hostile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.collect import trackio
from hf_train.collect.trackio import read_trackio
from support.trackio import database
from unit.words import examples

NOW = datetime(2026, 12, 2, 15, 0, tzinfo=UTC)
SPAN = (NOW - timedelta(minutes=1), NOW + timedelta(hours=1))
GOOD = database([(NOW, at, {"loss": 1.0 / (at + 1), "note": "text"}) for at in range(5)])


def _rows(count: int) -> list[tuple[datetime, int, dict[str, float]]]:
    return [(NOW, at, {"train/loss": 1.0, "train/global_step": at * 10.0, "eval/loss": 2.0}) for at in range(count)]


def test_what_an_own_script_logged_keeps_its_names_and_steps() -> None:
    assert GOOD[18:20] == b"\x02\x02", "as trackio leaves it: with a write-ahead log"
    assert read_trackio(GOOD, *SPAN) == {"loss": tuple((float(at), 1.0 / (at + 1)) for at in range(5))}


def test_what_the_trainer_logged_gets_its_own_names_and_steps_back() -> None:
    found = read_trackio(database(_rows(3)), *SPAN)
    assert found == {
        "loss": ((0.0, 1.0), (10.0, 1.0), (20.0, 1.0)),
        "eval_loss": ((0.0, 2.0), (10.0, 2.0), (20.0, 2.0)),
    }


def test_other_runs_of_the_project_are_left_out() -> None:
    rows = [(NOW - timedelta(days=1), 0, {"a": 1.0}), (NOW, 1, {"a": 2.0}), (NOW + timedelta(days=1), 2, {"a": 3.0})]
    odd = [("2026-12-02T15:00:00", 3, {"a": 4.0}), ("yesterday", 4, {"a": 5.0})]
    assert read_trackio(database([*rows, *odd]), *SPAN) == {"a": ((1.0, 2.0),)}


@pytest.mark.parametrize(
    "metrics",
    [
        b"[1]",
        b"{",
        b"\xff",
        b'{"a":"NaN"}',
        b'{"a":1e999}',
        b'{"a":true}',
        b"[" * 60_000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_a_row_that_is_none_is_left_out(metrics: bytes) -> None:
    assert read_trackio(database([(NOW, 0, metrics), (NOW, 1, {"a": 1.0})]), *SPAN) == {"a": ((1.0, 1.0),)}


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS step, "


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SQLite format 3\x00",
        b"SQLite format 3\x00" + b"\x00" * 5000,
        GOOD[:3000],
        database(
            [], "DROP TABLE metrics", f"CREATE VIEW metrics AS {ENDLESS} 'now' AS timestamp, '{{}}' AS metrics FROM n"
        ),
        database([], "DROP TABLE metrics", "CREATE VIRTUAL TABLE metrics USING fts5(id, timestamp, step, m)"),
    ],
)
def test_what_is_no_such_database_gives_nothing(content: bytes) -> None:
    assert read_trackio(content, *SPAN) == {}


def test_what_takes_too_long_is_left_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = database(_rows(12_000))
    assert read_trackio(whole, *SPAN)["loss"][-1][0] == 119_990
    monkeypatch.setattr(trackio, "MAX_INSTRUCTIONS", 10_000)
    assert 0 < read_trackio(whole, *SPAN)["loss"][-1][0] < 119_990


@examples(60)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=40))
def test_damage_never_raises(changes: list[tuple[int, int]]) -> None:
    content = bytearray(GOOD)
    for at, value in changes:
        content[at] = value
    read_trackio(bytes(content), *SPAN)


def test_points_are_thinned() -> None:
    found = read_trackio(database(_rows(3000)), *SPAN)
    assert {name: len(points) <= 500 for name, points in found.items()} == {"loss": True, "eval_loss": True}

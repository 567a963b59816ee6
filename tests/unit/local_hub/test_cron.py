"""Schedules."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.jobs.cron import NICKNAMES, parse

LAST = datetime(9000, 1, 1)  # noqa: DTZ001  (hypothesis adds the time zone)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "now", "due"),
    [
        ("* * * * *", "2026-12-02T06:44:59", "2026-12-02T06:45:00"),
        ("*/15 * * * *", "2026-12-02T06:45:00", "2026-12-02T07:00:00"),
        ("0 9 * * 1", "2026-12-02T06:44:00", "2026-12-07T09:00:00"),
        ("0 9 * * mon-fri", "2026-12-04T09:00:00", "2026-12-07T09:00:00"),
        ("30 8-10/2,20 * * *", "2026-12-02T08:30:00", "2026-12-02T10:30:00"),
        ("0 0 29 2 *", "2026-12-02T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
        ("0 0 31 * *", "2026-12-31T00:00:00", "2027-01-31T00:00:00"),
        ("0 0 13 * fri", "2026-12-02T00:00:00", "2026-12-04T00:00:00"),
        ("0 0 */2 * 7", "2026-12-02T00:00:00", "2026-12-13T00:00:00"),
        ("5/20 0 1 jan *", "2026-12-02T00:00:00", "2027-01-01T00:05:00"),
        ("@hourly", "2026-12-02T06:00:00", "2026-12-02T07:00:00"),
        ("@daily", "2026-12-02T06:00:00", "2026-12-03T00:00:00"),
        ("@weekly", "2026-12-02T06:00:00", "2026-12-06T00:00:00"),
        ("@monthly", "2026-12-02T06:00:00", "2027-01-01T00:00:00"),
        ("@yearly", "2026-12-02T06:00:00", "2027-01-01T00:00:00"),
        ("@annually", "2026-12-02T06:00:00", "2027-01-01T00:00:00"),
    ],
)
def test_next_time(schedule: str, now: str, due: str) -> None:
    assert parse(schedule).after(at(now)) == at(due)


def test_times_are_utc() -> None:
    noon_in_tokyo = datetime(2026, 12, 2, 12, 0, tzinfo=timezone(timedelta(hours=9)))
    assert parse("@daily").after(noon_in_tokyo) == at("2026-12-03T00:00:00")


BAD = (
    *("", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *"),
    *("5-1 * * * *", "*/0 * * * *", "*/x * * * *", "1,,2 * * * *", "- * * * *", "0 0 30 2 *", "@often", "¹ * * * *"),
)


@pytest.mark.parametrize("text", BAD)
def test_bad_schedules(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


@given(st.datetimes(timezones=st.just(UTC), max_value=LAST), st.sampled_from(sorted(NICKNAMES)))
def test_always_later_and_on_the_minute(moment: datetime, nickname: str) -> None:
    due = parse(nickname).after(moment)
    assert due is not None
    assert due > moment
    assert (due.second, due.microsecond) == (0, 0)
    assert parse(nickname).after(due - timedelta(seconds=1)) == due


@given(st.text())
def test_any_text_is_a_schedule_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse(text)

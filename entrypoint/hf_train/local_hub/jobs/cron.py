"""Schedules: five cron fields in UTC, or `@hourly` and its like.

Source: the docstring of huggingface_hub 2.4.0 `ScheduledJobInfo` for the nicknames; crontab(5) for fields, and for the
rule that day of month and day of week are joined by "or" when both are restricted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

NICKNAMES = {
    "@annually": "0 0 1 1 *",
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_NAMES = {"month": _MONTHS, "day of week": _DAYS}
_YEARS = 8
"""29 February is at most eight years away."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When to run.

    Attributes:
        minutes: 0 to 59.
        hours: 0 to 23.
        days: 1 to 31.
        months: 1 to 12.
        weekdays: 0 (Sunday) to 6.
        either_day: Whether a day of the month or one of the week is enough.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment, in UTC; None when there is none (30 February)."""
        start = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = start.replace(hour=0, minute=0)
        for _ in range(366 * _YEARS + 1):
            if day.month in self.months and self._has_day(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        found = day.replace(hour=hour, minute=minute)
                        if found >= start:
                            return found
            day += timedelta(days=1)
        return None

    def _has_day(self, day: datetime) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either_day else (of_month and of_week)


def parse(text: str) -> Schedule:
    """Read a schedule.

    Raises:
        ValueError: With what is wrong.
    """
    fields = NICKNAMES.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{text!r}: five fields are expected, or one of {', '.join(NICKNAMES)}")
    sets = [_field(field, *bounds) for field, bounds in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = sets
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    schedule = Schedule(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)
    if schedule.after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise ValueError(f"{text!r}: this day never comes")
    return schedule


def _field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and (not step.isascii() or not step.isdecimal() or int(step) == 0):
            raise ValueError(f"{name}: {part!r}: the step is a whole number of at least 1")
        first, last = _span(span, name, low, high, open_end=bool(slash))
        found.update(range(first, last + 1, int(step) if slash else 1))
    return frozenset(found)


def _span(text: str, name: str, low: int, high: int, *, open_end: bool) -> tuple[int, int]:
    if text == "*":
        return low, high
    begin, dash, end = text.partition("-")
    first = _number(begin, name, low, high)
    last = _number(end, name, low, high) if dash else high if open_end else first
    if first > last:
        raise ValueError(f"{name}: {text!r} runs backwards")
    return first, last


def _number(text: str, name: str, low: int, high: int) -> int:
    number = _NAMES.get(name, {}).get(text.lower())
    if number is None and text.isascii() and text.isdecimal():
        number = int(text)
    if number is None or not low <= number <= high:
        raise ValueError(f"{name}: {text!r} is not a number from {low} to {high}")
    return number

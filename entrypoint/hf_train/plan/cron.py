"""When a schedule runs: five cron fields or a preset, in UTC. Pure.

Source: the docstring of huggingface_hub 2.4.0 `create_scheduled_job` for the presets; crontab(5) for the fields, their
names, and the rule that day of month and day of week are joined by "or" when neither is `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise

PRESETS = {
    "@annually": "0 0 1 1 *",
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_WORDS = {
    "month": {word: at for at, word in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)},  # noqa: SIM905
    "day of week": {word: at for at, word in enumerate("sun mon tue wed thu fri sat".split())},  # noqa: SIM905
}
_CYCLE_DAYS = 28 * 365 + 7
"""After so many days the dates of a year fall on the same days of the week again."""
_PART = re.compile(r"(?P<first>\*|[0-9]{1,2}|[a-z]{3})(?:-(?P<last>[0-9]{1,2}|[a-z]{3}))?(?:/(?P<step>[0-9]{1,2}))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cron:
    """A schedule that was read.

    Attributes:
        text: As the Hub gets it.
        times: Times of the day, ascending.
        days: Days of the month, 1 to 31.
        months: 1 to 12.
        weekdays: 0 (Sunday) to 6.
        either: Whether one of the two kinds of day is enough.
    """

    text: str
    times: tuple[time, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def after(self, moment: datetime, count: int) -> Sequence[datetime]:
        """The first runs after a moment, in UTC."""
        start = moment.astimezone(UTC)
        return list(islice((run for run in self._from(start.date()) if run > start), count))

    @property
    def runs_a_month(self) -> float:
        """How many there are in a twelfth of a year, on average."""
        return sum(self._has(day) for day in _days(date(2001, 1, 1))) * len(self.times) / (28 * 12)

    def shortest_gap_s(self, moment: datetime) -> float:
        """Seconds between the two runs that lie closest together, among the next ones."""
        runs = self.after(moment, 2 * len(self.times) + 8)
        return min((later - earlier).total_seconds() for earlier, later in pairwise(runs))

    def _from(self, first: date) -> Iterator[datetime]:
        while True:
            for day in _days(first):
                if self._has(day):
                    yield from (datetime.combine(day, at, UTC) for at in self.times)
            first += timedelta(days=_CYCLE_DAYS)

    def _has(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and ((of_month or of_week) if self.either else (of_month and of_week))


def read_cron(text: str) -> Cron:
    """Read a schedule.

    Raises:
        ValueError: With what is wrong.
    """
    words = PRESETS.get(text.strip(), text).split()
    if len(words) != len(_FIELDS):
        raise ValueError(f"{text!r} has {len(words)} fields; five are expected, or one of {', '.join(PRESETS)}")
    minutes, hours, days, months, weekdays = (
        _numbers(word.lower(), *bounds) for word, bounds in zip(words, _FIELDS, strict=True)
    )
    cron = Cron(
        text=" ".join(text.split()),
        times=tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either=not words[2].startswith("*") and not words[4].startswith("*"),
    )
    if cron.runs_a_month == 0:
        raise ValueError(f"{text!r}: this day never comes")
    return cron


def _days(first: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range(_CYCLE_DAYS))


def _numbers(text: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None or (match["first"] == "*" and match["last"]):
            raise ValueError(f"{name}: {part!r} is not a number, a range, or * with or without /STEP")
        if match["first"] == "*":
            first, last = low, high
        else:
            first = _number(match["first"], name, low, high)
            last = _number(match["last"], name, low, high) if match["last"] else high if match["step"] else first
        step = int(match["step"] or 1)
        if first > last:
            raise ValueError(f"{name}: {part!r} runs backwards")
        if step == 0:
            raise ValueError(f"{name}: {part!r}: the step is at least 1")
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, name: str, low: int, high: int) -> int:
    number = int(text) if text.isdecimal() else _WORDS.get(name, {}).get(text, -1)
    if not low <= number <= high:
        raise ValueError(f"{name}: {text!r} is not from {low} to {high}")
    return number

r"""What goes wrong on purpose, as data: `--fault SPEC`, and at run time over the admin route.

A spec is words separated by blanks; values with blanks are quoted as in a shell. Three kinds:

    POST /api/jobs/*  status=503 nth=1 times=2 after-effect header.Retry-After=3 body='{"error":"x"}'
    GET /api/jobs/*/*  drop=before|after     delay=5
    logs  cut-after=3 | rst-after=3 | silent-after=3 | malformed-after=3   times=1
    jobs  schedule-seconds=5 schedule-message="Waiting for hardware" final=ERROR message="Job timeout" stage=PAUSED

* The first word of a route fault is a method or `*`, the second a glob over the path (`*` stays inside one segment,
  `**` does not). `nth` (default 1) is the first match that is hit, `times` (default: every one from there on) how many.
* `status` answers instead of the route; with `after-effect` the route does its work first and its answer is lost.
* `drop=before` closes the connection without an answer, `drop=after` does the work first.
* `delay` waits so many seconds before anything else; `logs` faults count events of a stream, `times` connections.
"""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

_FLAGS = frozenset({"after-effect"})
_ROUTE_KEYS = frozenset({"status", "nth", "times", "drop", "delay", "body", "message", "code", *_FLAGS})
_LOG_KEYS = frozenset({"cut-after", "rst-after", "silent-after", "malformed-after", "times", "nth"})
_JOB_KEYS = frozenset({"schedule-seconds", "schedule-message", "final", "message", "stage"})
_METHOD = re.compile(r"\*|GET|POST|PUT|DELETE|HEAD|PATCH")


@dataclass(slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: `route`, `logs` or `jobs`.
        method: For a route: the method or `*`.
        pattern: For a route: what the path must match.
        values: `key=value` words.
        matches: How often it could have struck.
    """

    kind: str
    method: str = "*"
    pattern: re.Pattern[str] | None = None
    values: dict[str, str] = field(default_factory=dict)
    matches: int = 0

    def strikes(self) -> bool:
        """Count one match; whether it is one of those that are hit."""
        self.matches += 1
        first = int(self.values.get("nth", "1"))
        times = self.values.get("times")
        return self.matches >= first and (times is None or self.matches < first + int(times))


def parse(text: str) -> Fault:
    """Read one spec.

    Raises:
        ValueError: With what is wrong and what would be right.
    """
    words = shlex.split(text)
    if not words:
        message = "an empty fault; write for instance: POST /api/jobs/* status=503"
        raise ValueError(message)
    if words[0] in {"logs", "jobs"}:
        kind, rest = words[0], words[1:]
        allowed = _LOG_KEYS if kind == "logs" else _JOB_KEYS
        return Fault(kind=kind, values=_values(rest, allowed, text))
    if len(words) < 3 or not _METHOD.fullmatch(words[0]):
        message = f"{text!r}: a fault begins with a method and a path, or with logs or jobs"
        raise ValueError(message)
    values = _values(words[2:], _ROUTE_KEYS, text)
    if values.get("drop", "before") not in {"before", "after"}:
        message = f"{text!r}: drop is before or after"
        raise ValueError(message)
    return Fault(kind="route", method=words[0], pattern=_glob(words[1]), values=values)


def _values(words: list[str], allowed: frozenset[str], text: str) -> dict[str, str]:
    values = {}
    for word in words:
        key, equals, value = word.partition("=")
        if (key not in allowed and not key.startswith("header.")) or bool(equals) == (key in _FLAGS):
            message = f"{text!r}: {word!r} is not one of {', '.join(sorted(allowed))}, header.NAME"
            raise ValueError(message)
        if key in {"status", "nth", "times", "delay"} or key.endswith(("-after", "-seconds")):
            try:
                float(value)
            except ValueError:
                message = f"{text!r}: {key} is a number"
                raise ValueError(message) from None
        values[key] = value
    return values


def _glob(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", glob)
    table = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(table.get(part, re.escape(part)) for part in parts))


class Faults:
    """The faults of one Hub. Safe to ask from many threads."""

    def __init__(self, specs: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._faults = [parse(spec) for spec in specs]

    def add(self, spec: str) -> None:
        """One more.

        Raises:
            ValueError: The spec cannot be read.
        """
        fault = parse(spec)
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """No faults any more."""
        with self._lock:
            self._faults.clear()

    def route(self, method: str, path: str) -> Mapping[str, str] | None:
        """The values of the fault that strikes this request, if one does."""
        with self._lock:
            for fault in self._faults:
                matches = fault.kind == "route" and fault.method in {"*", method}
                if matches and fault.pattern and fault.pattern.fullmatch(path) and fault.strikes():
                    return fault.values
        return None

    def stream(self) -> Mapping[str, str]:
        """What strikes the log connection that opens now."""
        with self._lock:
            for fault in self._faults:
                if fault.kind == "logs" and fault.strikes():
                    return fault.values
        return {}

    def text(self, key: str) -> str:
        """A word of a `jobs` fault, empty when there is none."""
        with self._lock:
            for fault in reversed(self._faults):
                if fault.kind == "jobs" and key in fault.values:
                    return fault.values[key]
        return ""

    def number(self, key: str, default: float) -> float:
        """A number of a `jobs` fault."""
        text = self.text(key)
        return float(text) if text else default

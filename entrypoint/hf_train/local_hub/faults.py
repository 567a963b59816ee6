r"""What goes wrong on purpose, as data: `--fault SPEC`, and at run time over the admin route.

A spec is words separated by blanks; values with blanks are quoted as in a shell. Three kinds:

    POST /api/jobs/*  status=503 nth=1 times=2 after-effect header.Retry-After=3 body='{"error":"x"}'
    GET /api/jobs/*/* drop=before nth=3
    GET /api/jobs/hardware unset.unitCostUSD
    logs  cut-after=3 times=1
    jobs  schedule-seconds=5 schedule-message="Waiting for hardware" final=ERROR message="Job timeout"

A request's fault begins with a method or `*` and a glob over the path (`*` stays in one part of it, `**` does not).
`nth=N` (default 1) is the first match that is hit, `times=N` how many are (default: every one from there on).

Requests
    status=N            Answers instead of the route: `message=TEXT`, `code=CODE`, `body=TEXT`, `header.NAME=TEXT`.
    after-effect        The route does its work first: its answer is lost (`status`) or late (`delay`).
    drop=before|after   Closes the connection without an answer, before or after the work.
    rst=before|after    The same by a TCP reset.
    hang                Takes the request and never answers.
    delay=SECONDS       Waits before anything else; with `after-effect` between the work and the answer.
    set.KEY=JSON        Changes a key (dots go deeper) of the JSON answer, in each item of a list; `unset.KEY` drops it.

Log streams, `logs`: `nth` and `times` count connections, the others count events, the start marker too
    cut-after=N         Ends the stream after N events, as if the Job had nothing more to say.
    drop-after=N        Closes the connection in mid-stream; `rst-after=N` by a TCP reset.
    silent-after=N      Sends nothing more, no keep-alive either, and never closes.
    malformed-after=N   Puts a bad event after N events: `malformed=cut-json|no-data|not-utf8|surrogate` (cut-json).
    skip=N              The replay lacks its first N events.
    reverse             The events that are there at the start come in reverse order.
    never-close         The stream stays open after the end of the Job.

Jobs, `jobs`
    schedule-seconds=S  How long they stay in SCHEDULING; `schedule-message=TEXT` is the status message meanwhile.
    final=STAGE         The stage at the end, with `message=TEXT`.
    stage=NAME          What their status says while they are not at their end (`PAUSED`).
    memory-mb=N         Their memory limit instead of the flavor's: an OOM kill for real, on any machine.
    gpu-use=N,N,...     Utilisation of each GPU in percent, in their metrics stream: no GPU is here to be measured.
    listed-after=S      Lists lack them for so many seconds after their creation.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

MALFORMED = ("cut-json", "no-data", "not-utf8", "surrogate")
_SIDES = ("before", "after")
_METHOD = re.compile(r"\*|GET|POST|PUT|DELETE|HEAD|PATCH")
_COUNTS = {"nth": "whole", "times": "whole"}
_ROUTE_OPTIONS = {
    **_COUNTS,
    "status": "status",
    "message": "text",
    "code": "text",
    "body": "text",
    "after-effect": "flag",
    "drop": "side",
    "rst": "side",
    "hang": "flag",
    "delay": "number",
}
_LOG_OPTIONS = {
    **_COUNTS,
    **dict.fromkeys(("cut-after", "drop-after", "rst-after", "silent-after", "malformed-after", "skip"), "whole"),
    "malformed": "malformed",
    "reverse": "flag",
    "never-close": "flag",
}
_JOB_OPTIONS = {
    "schedule-seconds": "number",
    "schedule-message": "text",
    "final": "text",
    "message": "text",
    "stage": "text",
    "memory-mb": "whole",
    "gpu-use": "percents",
    "listed-after": "number",
}


@dataclass(slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: `route`, `logs` or `jobs`.
        method: For a request: the method or `*`.
        pattern: For a request: what the path must match.
        values: `key=value` words; a flag's value is empty.
        matches: How often it could have struck.
    """

    kind: str
    method: str = "*"
    pattern: re.Pattern[str] | None = None
    values: dict[str, str] = field(default_factory=dict)
    matches: int = 0

    def fits(self, method: str, path: str) -> bool:
        """Whether it is about such a request."""
        named = self.kind == "route" and self.method in {"*", method}
        return named and self.pattern is not None and self.pattern.fullmatch(path) is not None

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
        raise ValueError("an empty fault; write for instance: POST /api/jobs/* status=503")
    if words[0] in {"logs", "jobs"}:
        options = _LOG_OPTIONS if words[0] == "logs" else _JOB_OPTIONS
        return Fault(kind=words[0], values=_values(words[1:], options, text))
    if len(words) < 3 or not _METHOD.fullmatch(words[0]) or not words[1].startswith(("/", "*")):
        raise ValueError(
            f"{text!r}: a fault begins with a method and a path, or with logs or jobs, and says what goes wrong"
        )
    return Fault(
        kind="route", method=words[0], pattern=_glob(words[1]), values=_values(words[2:], _ROUTE_OPTIONS, text)
    )


def _values(words: list[str], options: Mapping[str, str], text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    free = "status" in options
    for word in words:
        key, equals, value = word.partition("=")
        kind = options.get(key, "")
        if free and not kind:
            kind = {"header": "text", "set": "json", "unset": "flag"}.get(key.partition(".")[0], "")
        more = ", header.NAME=, set.KEY=, unset.KEY" if free else ""
        if not kind:
            raise ValueError(f"{text!r}: {word!r} is not one of {', '.join(options)}{more}")
        if bool(equals) == (kind == "flag"):
            raise ValueError(f"{text!r}: {key} {'stands alone' if kind == 'flag' else 'needs a value'}")
        problem = _problem(kind, value)
        if problem:
            raise ValueError(f"{text!r}: {key} is {problem}, not {value!r}")
        values[key] = value
    if not values:
        raise ValueError(f"{text!r}: says nothing that goes wrong")
    return values


def _problem(kind: str, value: str) -> str:
    """What a value of this kind should have been; empty when it is right."""
    right = {
        "whole": (value.isascii() and value.isdecimal(), "a whole number"),
        "number": (re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII) is not None, "a number"),
        "status": (re.fullmatch(r"[2-5]\d\d", value, re.ASCII) is not None, "an HTTP status (200 to 599)"),
        "percents": (re.fullmatch(r"\d{1,3}(,\d{1,3}){0,63}", value, re.ASCII) is not None, "percents, as 91,0,0,0"),
        "side": (value in _SIDES, "before or after"),
        "malformed": (value in MALFORMED, f"one of {', '.join(MALFORMED)}"),
        "json": (_is_json(value), "a JSON value"),
    }
    good, expected = right.get(kind, (True, ""))
    return "" if good else expected


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
                if fault.fits(method, path) and fault.strikes():
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
        """A word of a `jobs` fault, empty when there is none. The fault that was added last wins."""
        with self._lock:
            for fault in reversed(self._faults):
                if fault.kind == "jobs" and key in fault.values:
                    return fault.values[key]
        return ""

    def number(self, key: str, default: float) -> float:
        """A number of a `jobs` fault."""
        text = self.text(key)
        return float(text) if text else default

"""What users see of their libraries: `libraries.yaml`, `failures.yaml`, `traps.yaml` under `tests/fixtures/logs`.

Each log is read whole and compared with all that is in it: a metric too much is as wrong as one that is missing. Then
it is read with CRLF, with a rank in front of each line, in odd chunks, and cut: the reading must stay, and nothing be
invented. A new library is one more entry there.
"""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import yaml

from hf_train.collect import LogReading, read_log
from hf_train.collect.signatures import CODES
from unit.collect.samples import LOGS, invented, printed_as

_SIGNS = str.maketrans({"␍": "\r", "␛": "\x1b", "␈": "\b"})
CASES: list[dict[str, Any]] = [
    {**case, "log": case["log"].translate(_SIGNS)}
    for name in ("libraries", "failures", "traps")
    for case in yaml.safe_load((LOGS / f"{name}.yaml").read_text(encoding="utf-8"))
]
each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def wrong_metrics(expected: dict[str, float | str | None], reading: LogReading) -> dict[str, object]:
    """Metrics that are missing, too much, or have another value."""
    found = dict(reading.metrics)
    wrong: dict[str, object] = {name: value for name, value in found.items() if name not in expected}
    for name, value in expected.items():
        got = found.get(name, math.inf)
        if not (got is None if value is None else printed_as(value, got)):
            wrong[name] = f"{got} instead of {value}"
    return wrong


@each_case
def test_all_that_is_in_the_log_and_nothing_else(case: dict[str, Any]) -> None:
    reading = read_log([case["log"].encode()])
    progress = reading.progress
    assert wrong_metrics(case["all_metrics"], reading) == {}
    assert {"step": progress.step, "total": progress.total, "epoch": progress.epoch} == case["progress"]
    assert (reading.status, reading.cause, reading.cause_line, reading.cause_rank) == (
        case["status"],
        case.get("cause"),
        case.get("cause_line"),
        case.get("cause_rank"),
    )
    assert list(reading.model_urls) == case.get("model_urls", [])
    assert list(reading.tracker_urls) == case.get("tracker_urls", [])
    assert list(reading.warnings) == case.get("warnings", [])


@each_case
def test_the_reading_stays_with_other_line_ends_and_chunks(case: dict[str, Any]) -> None:
    data = case["log"].replace("\n", "\r\n").encode()
    reading = read_log(data[at : at + 61] for at in range(0, len(data), 61))
    assert wrong_metrics(case["all_metrics"], reading) == {}
    assert (reading.status, reading.cause) == (case["status"], case.get("cause"))


@each_case
def test_the_reading_stays_with_a_rank_in_front_of_each_line(case: dict[str, Any]) -> None:
    if "ank" in case["log"]:
        return  # it has ranks of its own
    text = re.sub(r"(?m)^(?=.)", "[rank0]: ", case["log"])
    reading = read_log([text.encode()])
    missing = {name for name in wrong_metrics(case["all_metrics"], reading) if name in case["all_metrics"]}
    assert missing <= {"epoch"}  # "| epoch 1 |" behind a prefix: its bar is the prefix's
    assert reading.cause == case.get("cause")


@each_case
def test_a_cut_log_invents_nothing(case: dict[str, Any]) -> None:
    data = case["log"].encode()
    for end in range(0, len(data), 89):
        text = data[:end].decode("utf-8", "replace")
        assert invented(dict(read_log([data[:end]]).metrics), text) == {}, f"cut at {end}"


def test_each_cause_has_a_log() -> None:
    assert {case["cause"] for case in CASES if "cause" in case} == set(CODES)

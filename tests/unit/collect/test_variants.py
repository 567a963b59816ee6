"""Our own variants of every format family: other keys, prefixes, ranks, line ends, bars on and off, cut ends.

The cases stand in `tests/fixtures/logs/variants.json`. Each is also read with CRLF, in colour, and
with a timestamp or a rank in front of every line: the reading must stay.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hf_train.collect import LogReading, read_log
from unit.collect.samples import LOGS, invented, printed_as

CASES: list[dict[str, Any]] = json.loads((LOGS / "variants.json").read_text(encoding="utf-8"))
IDS = [case["name"] for case in CASES]
PREFIXED = [case for case in CASES if "log" in case and not re.search(r"prefix|cut|no newline|keras eta", case["name"])]


def data_of(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["log_bytes"]) if "log_bytes" in case else str(case["log"]).encode()


def check(case: dict[str, Any], reading: LogReading, *keys: str) -> None:
    for name, value in case.get("metrics", {}).items():
        assert name in reading.metrics, f"{name} not in {dict(reading.metrics)}"
        got = reading.metrics[name]
        assert got is None if value is None else printed_as(value, got), f"{name}: {got} instead of {value}"
    for name in case.get("absent", []):
        assert name not in reading.metrics
    for key in keys:
        if key in case:
            got_value = getattr(reading, key)
            assert (list(got_value) if isinstance(got_value, tuple) else got_value) == case[key], reading.cause_line
    for key in ("step", "total", "epoch"):
        if key in case and "status" in keys:
            assert getattr(reading.progress, key) == case[key]


ALL = ("status", "cause", "cause_line", "cause_rank", "model_urls", "tracker_urls", "warnings")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_variant(case: dict[str, Any]) -> None:
    check(case, read_log([data_of(case)]), *ALL)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_variant_invents_nothing(case: dict[str, Any]) -> None:
    data = data_of(case)
    if "log_bytes" in case:
        return
    for end in range(0, len(data), 7):
        text = data[:end].decode("utf-8", "replace")
        assert invented(dict(read_log([data[:end]]).metrics), text) == {}, f"cut at {end}"


@pytest.mark.parametrize("case", [case for case in CASES if "log" in case], ids=lambda case: case["name"])
def test_variant_with_crlf(case: dict[str, Any]) -> None:
    text = str(case["log"]).replace("\r\n", "\n").replace("\n", "\r\n")
    check(case, read_log([text.encode()]), *ALL)


@pytest.mark.parametrize("prefix", ["[rank0]: ", "[  169.9s] ", "2026-12-02T03:33:53.123456Z "])
@pytest.mark.parametrize("case", PREFIXED, ids=lambda case: case["name"])
def test_variant_with_a_prefix_on_each_line(case: dict[str, Any], prefix: str) -> None:
    text = str(case["log"])
    if "rank" in text.lower():
        return  # ranks of its own
    lines = text.split("\n")
    prefixed = "\n".join(prefix + line if line else line for line in lines)
    keys = ("cause", "model_urls", "tracker_urls")
    check({key: value for key, value in case.items() if key != "absent"}, read_log([prefixed.encode()]), *keys)


@pytest.mark.parametrize("case", [case for case in CASES if "log" in case], ids=lambda case: case["name"])
def test_variant_in_colour(case: dict[str, Any]) -> None:
    text = str(case["log"])
    coloured = "\n".join(f"\x1b[34m{line}\x1b[0m" if line and "\r" not in line else line for line in text.split("\n"))
    check(case, read_log([coloured.encode()]), "cause", "model_urls")

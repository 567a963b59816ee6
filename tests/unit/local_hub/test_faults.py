"""The grammar of faults."""

from __future__ import annotations

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.faults import Faults, parse


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("POST /api/jobs/* status=503", "route", {"status": "503"}),
        (
            "* /api/** drop=after nth=2 times=3 after-effect",
            "route",
            {"drop": "after", "nth": "2", "times": "3", "after-effect": ""},
        ),
        (
            'GET /x status=429 header.Retry-After=3 body=\'{"error": "slow down"}\'',
            "route",
            {"status": "429", "header.Retry-After": "3", "body": '{"error": "slow down"}'},
        ),
        ("GET /x set.a.b=[1] unset.c", "route", {"set.a.b": "[1]", "unset.c": ""}),
        ("logs rst-after=0 times=1", "logs", {"rst-after": "0", "times": "1"}),
        ("jobs final=ERROR message='Job timeout'", "jobs", {"final": "ERROR", "message": "Job timeout"}),
    ],
)
def test_good_specs(text: str, kind: str, values: dict[str, str]) -> None:
    fault = parse(text)
    assert (fault.kind, fault.values) == (kind, values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty fault"),
        ("POST", "a method and a path"),
        ("POST /x", "says what goes wrong"),
        ("FETCH /x status=500", "a method and a path"),
        ("POST x status=500", "a method and a path"),
        ("POST /x status=99", "status is an HTTP status"),
        ("POST /x status", "status needs a value"),
        ("POST /x after-effect=1", "after-effect stands alone"),
        ("POST /x drop=maybe", "drop is before or after"),
        ("POST /x nth=-1", "nth is a whole number"),
        ("POST /x delay=nan", "delay is a number"),
        ("POST /x set.a=oops", "set.a is a JSON value"),
        ("POST /x cut-after=1", "'cut-after=1' is not one of"),
        ("logs status=500", "'status=500' is not one of"),
        ("logs", "says nothing"),
        ("jobs nth=1", "'nth=1' is not one of"),
        ("jobs gpu-use=91,", "gpu-use is percents"),
        ("jobs header.A=b", "'header.A=b' is not one of"),
        ("logs malformed=new", "malformed is one of"),
        ("GET /x body='", "No closing quotation"),
    ],
)
def test_bad_specs(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        parse(text)


@given(st.text())
def test_any_text_is_a_fault_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse(text)


@given(st.integers(1, 6), st.one_of(st.none(), st.integers(0, 6)), st.integers(0, 12))
def test_which_matches_are_hit(nth: int, times: int | None, calls: int) -> None:
    words = f"status=500 nth={nth}" + ("" if times is None else f" times={times}")
    faults = Faults((f"GET /a {words}",))
    hits = [number for number in range(1, calls + 1) if faults.route("GET", "/a")]
    last = calls if times is None else nth + times - 1
    assert hits == list(range(nth, min(calls, last) + 1))


@given(st.lists(st.text(string.ascii_letters + string.digits + "-_.", min_size=1), min_size=1, max_size=5))
def test_stars_and_segments(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert Faults((f"* {path} status=500",)).route("GET", path)
    assert Faults(("* /** status=500",)).route("GET", path)
    assert Faults((f"* {'/*' * len(parts)} status=500",)).route("GET", path)
    assert not Faults((f"* {'/*' * (len(parts) + 1)} status=500",)).route("GET", path)


def test_the_last_word_on_jobs_wins() -> None:
    faults = Faults(("jobs final=ERROR", "jobs final=CANCELED schedule-seconds=2"))
    assert (faults.text("final"), faults.number("schedule-seconds", 1), faults.number("memory-mb", 7)) == (
        "CANCELED",
        2,
        7,
    )
    faults.clear()
    assert faults.text("final") == ""

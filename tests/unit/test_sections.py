"""A section of ours in a hostile text: once, replaced, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.text.sections import at_end, marks, section, without

BEGIN, END = marks("x")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a {BEGIN} b {END} c", "a  c"),
        (f"a {BEGIN} b", "a  b"),
        (f"a {END} b", "a  b"),
        (f"a {BEGIN} b {BEGIN} c {END} d", "a  b  d"),
        (f"a {BEGIN} b {END} c {END} d {BEGIN} e {END}", "a  c  d "),
        (f"a {marks('y')[0]} b {END}", f"a {marks('y')[0]} b "),
    ],
)
def test_only_what_lies_between_a_pair_of_marks_goes(text: str, left: str) -> None:
    assert without(text, "x") == left


def test_a_body_cannot_end_its_section() -> None:
    body = f"a {END} b {BEGIN} c"
    assert without(section("x", body) + "rest", "x") == "rest"


_PIECES = st.lists(st.sampled_from([BEGIN, END, "a", "\n", "<!--", "-->", "```"]), max_size=12).map("".join)


@given(_PIECES, _PIECES, _PIECES)
def test_however_often_it_is_there_once(text: str, first: str, second: str) -> None:
    once = at_end(text, "x", first)
    assert at_end(once, "x", second) == at_end(text, "x", second)
    assert at_end(once, "x", first) == once
    assert (once.count(BEGIN), once.count(END)) == (1, 1)

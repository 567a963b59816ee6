"""Secrets that are broken over lines, at every place and in every coat: nothing of them is shown."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.text.redact import Redactor
from hf_train.text.unbroken import LEAST, Unbroken
from unit.words import examples

SECRET = "hf_local_T0pSecretT0ken9x"
COATS = {
    "itself": SECRET,
    "base64": base64.b64encode(SECRET.encode()).decode().rstrip("="),
    "hex": SECRET.encode().hex(),
    "backwards": SECRET[::-1],
}


def _shown(lines: Sequence[str], *secrets: str) -> list[str]:
    """What is shown of these lines when each comes alone, with each line's own secrets taken out as well."""
    redactor = Redactor(secrets or (SECRET,))
    unbroken = Unbroken(redactor)
    out: list[str] = []
    for line in lines:
        out += unbroken.feed([line])
    return [redactor(line) for line in (*out, *unbroken.flush())]


def _left(lines: Sequence[str], coat: str) -> str:
    """The longest piece of a coat, of five characters and more, that is still there."""
    text = "".join(line.strip() for line in lines)
    pieces = [coat[i:j] for i in range(len(coat)) for j in range(i + 5, len(coat) + 1) if coat[i:j] in text]
    return max(pieces, key=len, default="")


@pytest.mark.case(4)
@pytest.mark.parametrize("name", COATS)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("token: ", " ok"), ("  \x1b[31m", "\x1b[0m")])
def test_a_secret_is_broken_at_every_place(name: str, before: str, after: str) -> None:
    coat = COATS[name]
    for at in range(1, len(coat)):
        lines = ["first", before + coat[:at], coat[at:] + after, "last"]
        shown = _shown(lines)
        assert len(shown) == 4
        assert (shown[0], shown[3]) == ("first", "last")
        assert _left(shown, coat) == "", (at, shown)


@pytest.mark.case(4)
@pytest.mark.parametrize("name", COATS)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 10, 16])
def test_a_secret_is_wrapped(name: str, width: int) -> None:
    coat = COATS[name]
    for lead in range(width):
        lines = textwrap.wrap("-" * lead + coat + "+" * 5, width, break_on_hyphens=False)
        shown = _shown(["start", *lines, "end"])
        assert len(shown) == len(lines) + 2
        if width >= LEAST:
            assert _left(shown, coat) == "", (lead, shown)


def test_a_passphrase_is_broken_at_a_blank() -> None:
    assert _shown(["say correct horse", "battery staple!"], "correct horse battery staple") == ["say ***", "***!"]


def test_two_secrets_in_one_break() -> None:
    shown = _shown(["hf_local_T0pSec", "retT0ken9x and second-sec", "ret-value."], SECRET, "second-secret-value")
    assert shown == ["***", "*** and ***", "***."]


def test_the_indent_stays() -> None:
    assert _shown(["  > hf_local_T0pSec", "    retT0ken9x <"]) == ["  > ***", "    *** <"]


def test_a_line_that_only_begins_like_a_secret_is_shown_with_the_next() -> None:
    unbroken = Unbroken(Redactor([SECRET]))
    assert unbroken.feed(["see hf_local"]) == []
    assert unbroken.feed(["other", "more"]) == ["see hf_local", "other", "more"]
    assert unbroken.feed(["see hf_local"]) == []
    assert unbroken.flush() == ["see hf_local"]
    assert unbroken.flush() == []


def test_not_every_line_waits() -> None:
    assert Unbroken(Redactor([SECRET])).feed(["ends with h", "ends with hf_", "x"]) == [
        "ends with h",
        "ends with hf_",
        "x",
    ]


def test_nothing_waits_for_ever() -> None:
    unbroken = Unbroken(Redactor(["a" * 40]))
    out = [line for _ in range(500) for line in unbroken.feed(["a" * 5])]
    assert len(out) > 250
    assert "a" * 5 not in "".join(out)


@pytest.mark.case(3, 4)
@pytest.mark.parametrize("width", [60, 77, 100, 200])
def test_a_long_secret_is_wrapped_after_it_was_encoded(width: int) -> None:
    secret = "".join(f"{number * 7919 % 10007:04}" for number in range(700))
    for coat in (secret, base64.b64encode(secret.encode()).decode(), secret.encode().hex()):
        shown = _shown(["start", *(coat[at : at + width] for at in range(0, len(coat), width)), "end"], secret)
        assert all(line.startswith("***") and len(line) <= 6 for line in shown[1:-1]), "but for base64's last character"


def test_numbers_at_the_end_of_a_line_are_no_reason_to_wait() -> None:
    secret = "".join(f"{number * 7919 % 10007:04}" for number in range(700))
    lines = [f"step {number}" for number in range(1000, 2000)]
    assert Unbroken(Redactor([secret])).feed(lines) == lines


def test_without_secrets_nothing_is_looked_at() -> None:
    lines = ["a", "b"]
    assert Unbroken(Redactor([])).feed(lines) is lines


@pytest.mark.case(4)
@examples(200)
@given(
    st.lists(st.text(max_size=12) | st.sampled_from([SECRET[:9], SECRET[9:], SECRET[:4], SECRET[4:], ""]), max_size=8)
)
def test_what_holds_no_secret_is_shown_as_it_came(lines: list[str]) -> None:
    unbroken = Unbroken(Redactor([SECRET]))
    shown = [*unbroken.feed(lines), *unbroken.flush()]
    assert len(shown) == len(lines)
    if SECRET not in "".join(line.strip() for line in lines):
        assert shown == lines
    else:
        assert SECRET not in "".join(line.strip() for line in shown) or any(SECRET in line for line in lines)

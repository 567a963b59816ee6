"""One printer for all that a Job says: no runner takes a line of it for a command, whatever stands in it."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_train.console import GUTTER
from hf_train.text.redact import Redactor
from hf_train.text.untrusted import MAX_LINE, bar, clean, disarm, printable, redacted_line
from support.runner_oracle import Runner
from unit.hostile_lines import hostile_lines
from unit.words import examples, scaled

FORMS = [
    "::add-mask::e", "::set-output name=x::y", "::error file=a.py,line=1::boom", "::group::x", "##[error]boom",
    "loss ##[add-mask]e", "x\r::warning::boom", "\xa0::error::boom", "\u3000\t::debug::x", "::ERROR::x",
    "a\n::stop-commands::t",
    "\x1b[0m::error::x", "#\x1b[0m#[error]x", ":\x1b[1m:error::x", "\x1b]0;t\x07::error::x", "\u200b::error::x",
    "##\u200b[error]x", ":\u200b:error::x", "\x9b1m::error::x", "\ufeff##[group]x", "a\x0b##[error]x",
]  # fmt: skip


def _printed(lines: list[str]) -> str:
    return "".join(f"{GUTTER}{line}\n" for line in lines)


@pytest.mark.case(1)
@pytest.mark.parametrize("line", FORMS)
def test_the_oracle_obeys_these_and_never_after_the_printer(line: str) -> None:
    stripped = "\n".join(clean(line))
    assert Runner().read(line).obeyed or Runner().read(stripped).obeyed, "no force, so it proves nothing"
    for safe in (_printed(printable(line)), "\n".join(printable(line))):
        assert Runner().read(safe).obeyed == []


@pytest.mark.case(1)
def test_no_hostile_line_is_obeyed() -> None:
    count = scaled(10_000)
    bare = sum(bool(Runner().read(line).obeyed) for line in hostile_lines(count))
    assert bare > count // 4, "many of the lines have force as they are"
    for line in hostile_lines(count):
        assert Runner().read(_printed(printable(line))).obeyed == [], repr(line)
        assert Runner().read("\n".join(printable(line))).obeyed == [], f"without the gutter: {line!r}"


def _stripped_last(text: str) -> list[str]:
    return [line for part in text.split("\n") for line in clean(disarm(part))]


def _split_at_line_feeds_only(text: str) -> list[str]:
    return [disarm(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in text.split("\n")]


def _gutter_only(text: str) -> list[str]:
    return text.split("\n")


@pytest.mark.case(1)
@pytest.mark.parametrize("wrong", [_stripped_last, _split_at_line_feeds_only, _gutter_only])
def test_a_wrong_order_of_cleaning_is_caught(wrong: Callable[[str], list[str]]) -> None:
    assert any(Runner().read(_printed(wrong(line))).obeyed for line in hostile_lines(5_000))


_ANY = st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d:#[]\r\n\u200b\u2028\x07\\"), max_size=40)


@pytest.mark.case(1, 8, 81)
@examples(200)
@given(_ANY)
def test_what_is_printed_is_plain(text: str) -> None:
    for line in printable(text):
        assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", line)
        assert len(line) <= MAX_LINE + 40
        line.encode("utf-8")
        assert printable(line) == [line], "cleaning it once more changes nothing"


@examples(100)
@given(
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), exclude_characters=":#"), max_size=60)
)
def test_a_plain_line_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == [text]


@pytest.mark.case(8, 83)
@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        ("\x1b[31mred\x1b[0m", ["red"]),
        ("\x1b]8;;https://evil.test\x07text\x1b]8;;\x07", ["text"]),
        ("\x1b]0;title never ended", [""]),
        ("\x1b]52;c;ZXZpbA==\x1b\\after", ["after"]),
        ("\x9b2Jgone\x9d0;t\x9cback", ["goneback"]),
        ("\x1bPq#0\x1b\\x", ["x"]),
        ("\x1b(Bx\x1b7y\x1b=z", ["xyz"]),
        ("\x1b[", [""]),
        ("a\u202eb\u2066c\u200dd\ufeffe\u061cf", ["abcdef"]),
        ("x\U000e0041\U000e0101y\xad", ["xy"]),
        ("\x00\x07\x08\x7f\x85", ["", ""]),
        ("a\x0bb\x0cc\u2028d\x85e", ["a", "b", "c", "d", "e"]),
        ("a\tb", ["a\tb"]),
        ("10%\r20%\r30%", ["30%"]),
        ("10%\r20%\r\n", ["20%", ""]),
        ("30%\r   \r", ["30%"]),
        ("", [""]),
        ("\ud800x", ["?x"]),
        ("##[error]x ##[b", ["##\\[error]x ##\\[b"]),
        ("  ::error::x", ["  \\::error::x"]),
        ("a::b::c", ["a::b::c"]),
        ("[2/2] std::vector<int>", ["[2/2] std::vector<int>"]),
    ],
)
def test_a_line_as_people_see_it(raw: str, lines: list[str]) -> None:
    assert printable(raw) == lines


@pytest.mark.case(84)
def test_a_long_line_is_cut_and_says_so() -> None:
    (line,) = printable("x" * (MAX_LINE + 5))
    assert line == "x" * MAX_LINE + " ... (+5 characters)"


# ---- progress bars ----

BARS = {
    "tqdm": (" 10%|#         | 10/100 [00:01<00:09, 9.9it/s]", " 99%|#########9| 99/100 [00:10<00:00, 10.1it/s]"),
    "blocks": (
        "Map:  3%|\u258e   | 1.2k/40k [00:01<00:33, 1.1k examples/s]",
        "Map: 90%|\u2588\u2588\u2588| 36k/40k [00:30<00:03, 1.2k examples/s]",
    ),
    "slow": ("  1%|          | 1/99 [00:12<20:30, 12.55s/it]", "  2%|1         | 2/99 [00:25<20:20, 12.50s/it]"),
    "keras": ("3/40 [=>............] - ETA: 9s - loss: 0.9", "30/40 [======>......] - ETA: 1s - loss: 0.1"),
    "keras 3": (
        "\x1b[1m 3/40\x1b[0m \u2501\u2501\u2501 \x1b[1m9s\x1b[0m 24ms/step",
        "\x1b[1m9/40\x1b[0m \u2501\u2501\u2501\u2501 \x1b[1m8s\x1b[0m 22ms/step",
    ),
    "rich": (
        "\u2501\u2501\u2501\u2578 12.3/99.0 MB 10.1 MB/s eta 0:09",
        "\u2501\u2501\u2578 88.3/99.0 MB 11.1 MB/s eta 0:01",
    ),
}


@pytest.mark.case(83)
@pytest.mark.parametrize("name", BARS)
def test_two_states_of_a_bar_are_one_bar(name: str) -> None:
    kinds = {bar(line) for state in BARS[name] for line in clean(state)}
    assert len(kinds) == 1
    assert kinds != {""}


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': 1.5, 'epoch': 0.1}",
        "step 3/10 | loss 0.5 | lr 1e-05",
        "epoch 1 accuracy 93.1%",
        "| 3/4 | passed |",
        "see https://example.test/1/2 [a]",
        "Epoch 3/10",
        "",
    ],
)
def test_metrics_are_no_bar(line: str) -> None:
    assert bar(line) == ""


# ---- secrets ----

SECRET = 'hf_local_T0p"Secret/+?&\\ é~ZZ9'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n"
RAW = SECRET.encode()

COATS: dict[str, str] = {
    "itself": SECRET,
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON in UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "JSON twice": json.dumps(json.dumps(SECRET))[1:-1],
    "base64": base64.b64encode(RAW).decode(),
    "base64 behind one byte": base64.b64encode(b"x" + RAW + b"y").decode(),
    "base64 behind two bytes": base64.b64encode(b"u:" + RAW + b"yz").decode(),
    "base64url": base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    "base64 in lines of 20": re.sub(r"(.{20})", r"\1\n", base64.b64encode(RAW).decode()),
    "hex": RAW.hex(),
    "HEX": RAW.hex().upper(),
    "URL": quote(SECRET, safe=""),
    "URL with slashes": quote(SECRET),
    "form": quote_plus(SECRET),
    "lower case URL": re.sub("%..", lambda match: match[0].lower(), quote(SECRET, safe="")),
    "HTML": html.escape(SECRET),
    "repr": repr(SECRET)[1:-1],
    "backwards": SECRET[::-1],
}


def _left(text: str) -> list[str]:
    """Pieces of the secret's own characters, or of its encodings, that are long enough to be of use."""
    pieces = {SECRET[i : i + 8] for i in range(len(SECRET) - 7)} | {
        RAW.hex()[i : i + 16] for i in range(0, len(RAW.hex()) - 15, 2)
    }
    pieces |= {SECRET[::-1][i : i + 8] for i in range(len(SECRET) - 7)}
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + RAW).decode()[4:-4]
        pieces |= {encoded[i : i + 12] for i in range(len(encoded) - 11)}
    return [piece for piece in pieces if piece in text]


@pytest.mark.case(3)
@pytest.mark.parametrize("coat", [name for name in COATS if "lines" not in name])
def test_a_secret_is_found_in_this_coat(coat: str) -> None:
    said = Redactor([SECRET])(f"before {COATS[coat]} after")
    assert "***" in said
    assert said.startswith("before ")
    assert said.endswith(" after")
    assert _left(said) == []


@pytest.mark.parametrize("width", [64, 76])
def test_base64_as_the_tools_wrap_it(width: int) -> None:
    secret = "".join(f"{i:02}-" for i in range(60))
    encoded = base64.b64encode(secret.encode()).decode()
    said = Redactor([secret])("\n".join(encoded[i : i + width] for i in range(0, len(encoded), width)))
    assert not [piece for piece in (encoded[i : i + 12] for i in range(len(encoded) - 12)) if piece in said]


@pytest.mark.case(3)
def test_each_line_of_a_secret_is_a_secret() -> None:
    redact = Redactor([PEM])
    assert redact("MIIEvQIBADANBgkq") == "***"
    assert redact(f"key: {PEM}!") == "key: ***\n!"
    assert redact(json.dumps({"key": PEM})) == '{"key": "***\\n"}'
    assert redact("\r\n".join(PEM.splitlines())) == "***\r\n***\r\n***\r\n***"


@pytest.mark.case(3)
def test_each_text_in_a_json_secret_is_a_secret() -> None:
    account = json.dumps({"type": "sa", "private_key": PEM, "ids": ["client-0123456"], "n": 1}, indent=1)
    redact = Redactor([account])
    assert redact("client-0123456 hkiG9w0BAQEFAASC") == "*** ***"
    assert redact('{\n}, "type": "sa"') == '{\n}, "type": "sa"', "what is short is no secret"


def test_overlapping_secrets_leave_nothing() -> None:
    assert Redactor(["abcdefgh", "fghijklm", "abcdefghXYZ"])("-abcdefghijklm-abcdefghXYZ-") == "-***-***-"


@pytest.mark.case(6)
@pytest.mark.parametrize("short", ["", " ", "1", "true", "ab cd"])
def test_what_is_too_short_is_left_alone(short: str) -> None:
    text = f"a {short} b 1 true"
    assert Redactor([short])(text) == text


def test_a_pasted_newline_is_no_part_of_a_secret() -> None:
    assert Redactor([" hf_local_abc\n"])("x=hf_local_abc;") == "x=***;"


def test_bytes_that_are_no_text_are_a_secret_too() -> None:
    value = b"\xff\xfesecret-bytes".decode("utf-8", "surrogateescape")
    assert "secret-bytes" not in Redactor([value])(f"x{value}y")
    assert b"\xff\xfesecret-bytes".hex() not in Redactor([value])(b"\xff\xfesecret-bytes".hex())


@given(st.text(min_size=6, max_size=30).filter(lambda text: len(text.strip()) >= 6), _ANY, _ANY)
@example("aaaaaa", "a", "a")
def test_no_text_keeps_a_secret(secret: str, before: str, after: str) -> None:
    said = Redactor([secret])(before + secret + after)
    assert secret.strip() not in said.replace("***", "\x00")


@pytest.mark.parametrize("at", range(1, len(SECRET), 3))
@pytest.mark.parametrize("hidden", ["\x1b[0m", "\u200b", "\x1b]0;x\x07", "\x00"])
def test_a_secret_that_is_broken_by_what_is_stripped(at: int, hidden: str) -> None:
    redact = Redactor([SECRET])
    line = f"a {SECRET[:at]}{hidden}{SECRET[at:]} b"
    assert printable(line, redact) == ["a *** b"]
    assert _left(redacted_line(line, redact)) == []


def test_a_cut_does_not_leave_half_a_secret() -> None:
    line = "x" * (MAX_LINE - 10) + "\x1b[0m" + SECRET + "y" * 100
    (said,) = printable(line, Redactor([SECRET]))
    assert _left(said) == []


@pytest.mark.case(5)
@pytest.mark.parametrize(
    "token",
    [
        "hf_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3b",
        "hf_jwt_" + "aB3dE5gH7jK9mN1pQ3rS5tU7.W9xY1zA3b",
        "ghs_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5",
        "github_pat_" + "aB3dE5gH7jK9mN1pQ3rS5t_U7vW9xY1zA3bC5dE7",
        "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl",
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_token_that_nobody_told_us_is_taken_out_by_its_shape(token: str) -> None:
    assert Redactor([])(f"got {token} now") == "got *** now"


@pytest.mark.parametrize("text", ["hf_model", "hf_local_0123456789", "a high eyJob", "weights_gh", "ghcr.io/a/b"])
def test_what_has_no_such_shape_stays(text: str) -> None:
    assert Redactor([])(text) == text


def test_a_line_without_a_secret_is_kept_to_the_byte() -> None:
    line = "\x1b[31mred\x1b[0m\r::error::x"
    assert redacted_line(line, Redactor([SECRET])) == line

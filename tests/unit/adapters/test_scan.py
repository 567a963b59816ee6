"""Secrets in the files that would be sent: found by shape and by value, named by file and line, never shown."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.snapshot.scan import LISTED, MAX_TEXT, problems_of, shaped

# Put together here, so that no scanner (GitHub's push protection too) takes this file for a leak.
_BODY = "qW3rT5yU7iO9pA1sD2fG4hJ6kL8zX0cVbNmQwErTyUiOpAsDfGhJkLzXcVbNm"
SHAPES = {
    "Hugging Face": "hf_" + _BODY[:34],
    "Hugging Face organisation": "api_org_" + _BODY[:34],
    "GitHub classic": "ghp_" + _BODY[:36],
    "GitHub workflow": "ghs_" + _BODY[:36],
    "GitHub fine-grained": "github_pat_" + (_BODY * 2)[:82],
    "GitLab": "glpat-" + _BODY[:20],
    "AWS key id": "AKIA" + "Z3MHQ5KVX7WJ2P4N",
    "AWS secret": "aws_secret_access_key = '" + (_BODY * 2)[3:43] + "'",
    "Google": "AIza" + _BODY[:35],
    "OpenAI": "sk-proj-" + _BODY[:40] + "T3BlbkFJ" + _BODY[:40],
    "Anthropic": "sk-ant-api03-" + (_BODY * 2)[:95],
    "Slack": "xoxb-" + "123456789012-123456789012-" + _BODY[:24],
    "Stripe": "sk_live_" + _BODY[:24],
    "npm": "npm_" + _BODY[:36],
    "package index": "pypi-AgE" + _BODY[:60],
    "Docker Hub": "dckr_pat_" + _BODY[:27],
    "Azure storage": "AccountKey=" + (_BODY * 2)[:86] + "==",
    "SendGrid": "SG." + _BODY[:22] + "." + _BODY[:43],
    "JWT": ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256"}', b'{"sub":"alice"}', bytes(range(60, 92)))
    ),
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + _BODY + "\n" + _BODY + "\n-----END RSA PRIVATE KEY-----",
    "private key in JSON": '{"private_key": "-----BEGIN ' + "PRIVATE KEY-----\\n" + _BODY + '\\n"}',
}


def _problems(content: str | bytes, *known: str, path: str = "src/train.py") -> list[str]:
    raw = content.encode() if isinstance(content, str) else content
    return problems_of([(path, lambda: raw)], known)


@pytest.mark.case(104)
@pytest.mark.parametrize("name", SHAPES)
def test_a_secret_stops_the_run_and_is_named_by_file_and_line(name: str) -> None:
    secret = SHAPES[name]
    for text in (f"import os\n\nx = '{secret}'\n", f"a: 1\r\nb: 2\r\n{secret}\r\n", f"\n\n{secret}"):
        (problem,) = _problems(text)
        assert problem.startswith("path: src/train.py:3 holds what looks like a secret ("), problem
        assert _BODY[:10] not in problem


@pytest.mark.parametrize("name", [name for name in SHAPES if "\n" not in SHAPES[name]])
def test_a_line_that_says_so_is_sent(name: str) -> None:
    assert _problems(f"x = '{SHAPES[name]}'  # pragma: allowlist secret\n") == []
    assert _problems(f"# pragma: allowlist nextline secret\nx = '{SHAPES[name]}'\n") == []
    assert _problems(f"x = '{SHAPES[name]}'  # pragma: nothing\n") != []


@pytest.mark.parametrize(
    "text",
    [
        "token = 'hf_" + "x" * 34 + "'",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "hf_local_0123456789abcdef0123456789abcdef",
        "token = os.environ['HF_TOKEN']",
        "api_key: ${{ secrets.KEY }}",
        "sha256:" + "0123456789abcdef" * 4,
        "-----BEGIN CERTIFICATE-----\n" + _BODY + "\n-----END CERTIFICATE-----",
        "if line.startswith('-----BEGIN ' + 'PRIVATE KEY-----'):",
        "eyJust.a.name",
        "postgres://user:password@localhost/db",
        "task-" + "a" * 60,
    ],
)
def test_what_only_looks_like_one_is_sent(text: str) -> None:
    assert _problems(text) == []


KNOWN = "hf_local_0123456789"


@pytest.mark.case(3, 104)
@pytest.mark.parametrize(
    "coat",
    [KNOWN, base64.b64encode(KNOWN.encode()).decode(), KNOWN.encode().hex(), KNOWN.encode().hex().upper(), KNOWN[::-1]],
)
def test_a_value_that_this_step_knows_is_found_in_its_coats_and_no_comment_allows_it(coat: str) -> None:
    (problem,) = _problems(f"a\nb = '{coat}'  # pragma: allowlist secret\n", KNOWN)
    assert problem.startswith("path: src/train.py:2 holds the value of a secret of this step")
    assert coat not in problem


def test_a_known_value_is_found_in_a_file_that_is_no_text() -> None:
    assert len(_problems(b"\x00\x01" * 100 + KNOWN.encode() + b"\xff", KNOWN)) == 1
    assert len(_problems(b"x" * (MAX_TEXT + 10) + KNOWN.encode(), KNOWN)) == 1


def test_the_lines_of_a_known_key_are_found() -> None:
    key = f"-----BEGIN KEY-----\n{_BODY[:40]}\n{_BODY[10:50]}\n-----END KEY-----\n"
    assert len(_problems(f"k = '{_BODY[10:50]}'", key)) == 1
    assert _problems("-----BEGIN KEY-----\n", key) == [], "what every key has is no secret"


def test_the_names_in_a_known_json_secret_are_no_secret() -> None:
    account = '{\n  "type": "service_account",\n  "private_key": "x"\n}'
    assert _problems('"type": "service_account",', account) == []
    assert len(_problems(f"x = '''{account}'''", account)) == 1


def test_a_short_known_value_is_left_alone() -> None:
    assert _problems("owner = 'alice-corp'", "alice-corp") == []


def test_a_flood_of_findings_is_cut() -> None:
    line = f"x = '{SHAPES['GitHub classic']}'\n"
    found = _problems(line * 50)
    assert len(found) == LISTED + 1
    assert "there are more" in found[-1]


@pytest.mark.parametrize(
    "seed", ["eyJ", "sk-", "aws key ", "npm_", "hf_", "-----BEGIN RSA " + "PRIVATE KEY-----", "eyJ."]
)
def test_no_hostile_file_takes_long(seed: str) -> None:
    text = "".join((seed * 1000)[:3900] + "\n" for _ in range(10)) + seed * 50_000
    began = time.process_time()
    list(shaped("x.py", text.encode()))
    assert time.process_time() - began < 3.0


@given(st.binary(max_size=200))
def test_any_bytes_are_read(content: bytes) -> None:
    assert problems_of([("x", lambda: content)], ["hf_local_abcdefghij"]) == []

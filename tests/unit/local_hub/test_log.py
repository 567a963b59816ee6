"""The log of a Job on disk."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.jobs import log
from hf_train.local_hub.jobs.log import JobLog, mend, tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sse"


def events(data: bytes) -> list[dict[str, Any]]:
    assert data == b"" or data.endswith(b"\n\n")
    return [json.loads(part.removeprefix(b"data: ")) for part in data.split(b"\n\n")[:-1]]


def texts(data: bytes) -> list[str]:
    return [str(event["data"]) for event in events(data)]


@given(st.binary(), st.lists(st.integers(0, 200)))
def test_any_output_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        found = JobLog(path)
        places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
        for start, end in pairwise(places):
            found.feed(data[start:end])
        found.close()
        expected = data.split(b"\n")
        if not expected[-1]:
            expected.pop()
        assert texts(path.read_bytes()) == [line.decode("utf-8", "replace") for line in expected]
        assert b"\r\n\r\n" not in path.read_bytes()


def test_special_characters_stay(path: Path) -> None:
    found = JobLog(path)
    found.feed('a\r\u2028\u0085\x1b[0m\0"\\é\n'.encode())
    found.close()
    assert texts(path.read_bytes()) == ['a\r\u2028\u0085\x1b[0m\0"\\é']
    assert "\u2028".encode() in path.read_bytes(), "as JSON.stringify leaves it"


def test_a_line_without_end_eats_no_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_LINE", 10)
    found = JobLog(path)
    found.feed(("é" * 12).encode())
    found.feed(b"\n" + b"x" * 25 + b"\nshort\n")
    found.close()
    pieces = texts(path.read_bytes())
    assert "".join(pieces) == "é" * 12 + "x" * 25 + "short"
    assert "\ufffd" not in "".join(pieces), "no character is torn"
    assert max(map(len, pieces)) <= 10


def test_a_clock_that_steps_back_does_not_show(path: Path) -> None:
    start = datetime(2026, 12, 2, tzinfo=UTC)
    steps = iter([0, 5, 3, 7])

    def clock() -> datetime:
        return start + timedelta(seconds=next(steps, 9))

    found = JobLog(path, clock)
    for _ in range(4):
        found.feed(b"x\n")
    found.close()
    moments = [event["timestamp"] for event in events(path.read_bytes())]
    assert moments == sorted(moments)
    assert moments[1] == moments[2] == "2026-12-02T00:00:05.000Z"


def test_nothing_after_the_end(path: Path) -> None:
    found = JobLog(path)
    found.mark_start()
    found.feed(b"half")
    found.say("a word of ours")
    found.close()
    found.feed(b"late\n")
    assert texts(path.read_bytes())[1:] == ["half", "a word of ours"]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=40), st.integers(0, 50), st.sampled_from([7, 64, 1 << 18]))
def test_tail(lines: list[str], count: int, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "READ", max(block, 7))
        path = Path(folder, "log")
        found = JobLog(path)
        for line in lines:
            found.say(line)
        found.close()
        head, offset = tail(path, count)
        shown = texts(path.read_bytes()[offset:])
        if offset:
            shown = [*texts(head)[:1], *shown] if block > 1000 else [lines[0], *shown]  # a small block holds no event
        assert shown == (lines if count + 1 >= len(lines) else [lines[0], *lines[len(lines) - count :]])


@pytest.mark.parametrize("block", [7, 64, 100, 1 << 18])
def test_every_tail_of_a_log(path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """A blank line may be cut by the edge of a block."""
    monkeypatch.setattr(log, "READ", block)
    found = JobLog(path)
    for number in range(30):
        found.say("x" * number)
    found.close()
    data = path.read_bytes()
    assert [len(events(data[tail(path, count)[1] :])) for count in range(29)] == list(range(29))


@pytest.mark.parametrize("rest", [b"", b"d", b'data: {"data":"half', b'data: {"data":"x"}\n'])
def test_a_half_written_event_is_cut_off(path: Path, rest: bytes) -> None:
    found = JobLog(path)
    found.feed(b"a\nb\n")
    found.close()
    with path.open("ab") as stream:
        stream.write(rest)
    mend(path)
    assert texts(path.read_bytes()) == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"half"])
def test_mending_an_empty_log(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    mend(path)
    assert path.read_bytes() == b""

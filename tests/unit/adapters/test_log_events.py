"""The pure side of the log reader: bytes to events, and a replay let through once."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_train.hub import logs
from hf_train.hub.logs import STARTED, EventParser, ReplayFilter
from unit.words import examples

Event = tuple[str, str]


def _wire(event: Event) -> bytes:
    return f"data: {json.dumps({'data': event[1], 'timestamp': event[0]}, ensure_ascii=False)}\n\n".encode(
        "utf-8", "surrogatepass"
    )


def _read(chunks: list[bytes]) -> tuple[list[Event], int]:
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)], parser.malformed


_TEXT = st.text(max_size=30) | st.sampled_from(["", "\u2028", "\u2029 a", "a\rb", "data: {}", ":", "\x85", "\x0c"])


@pytest.mark.case(80)
@given(
    st.lists(st.tuples(st.just("t"), _TEXT.filter(lambda text: text.isascii() or text.isprintable())), max_size=6),
    st.data(),
)
def test_any_chunk_borders_give_the_same_events(events: list[Event], data: st.DataObject) -> None:
    wire = b": keep-alive\n\n".join([b"", *map(_wire, events), b""])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    chunks = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert _read(chunks) == (events, 0)
    assert _read([wire[i : i + 1] for i in range(len(wire))]) == (events, 0)


@pytest.mark.case(80)
@given(st.lists(st.binary(max_size=40)))
def test_no_bytes_are_a_bug_of_ours(chunks: list[bytes]) -> None:
    _read(chunks)
    _read([b"data: " + chunk + b"\n" for chunk in chunks])


@pytest.mark.case(80)
@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"null", b'{"data": 1}', b'{"timestamp": "t"}', b"\xff\xfe", b'{"data": "\xff"}', b"[" * 100_000, b"",
     b"\x00", b'{"data": null}', b'{"n": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_a_malformed_event_is_counted_and_skipped(line: bytes) -> None:
    wire = _wire(("1", "before")) + b"data: " + line + b"\n\n" + _wire(("2", "after"))
    assert _read([wire]) == ([("1", "before"), ("2", "after")], 1)


@pytest.mark.parametrize("stamp", [None, 5, ["x"]])
def test_an_event_without_a_timestamp_is_an_event(stamp: object) -> None:
    wire = b"data: " + json.dumps({"data": "x", "timestamp": stamp}).encode() + b"\r\n\r\n"
    assert _read([wire]) == ([("", "x")], 0)


@pytest.mark.case(80, 84)
@pytest.mark.parametrize("step", [1, 7, 64, 1000])
@pytest.mark.parametrize("size", [80, 99, 100, 101, 130, 500])
def test_an_endless_event_costs_no_memory_and_borders_decide_nothing(
    monkeypatch: pytest.MonkeyPatch, step: int, size: int
) -> None:
    monkeypatch.setattr(logs, "MAX_EVENT_BYTES", 100)
    event = _wire(("1", "x" * size))
    wire = _wire(("0", "a")) + event + _wire(("2", "b"))
    kept, malformed = _read([wire[i : i + step] for i in range(0, len(wire), step)])
    fits = len(event) - 2 <= 100
    assert [text for _, text in kept] == (["a", "x" * size, "b"] if fits else ["a", "b"])
    assert malformed == (0 if fits else 1)


# ---- replay ----


@st.composite
def _connections(draw: st.DrawFn) -> tuple[list[Event], list[int]]:
    """A log in the order of its timestamps, and how far each connection got before it broke."""
    stamps = sorted(draw(st.lists(st.sampled_from(["1", "2", "3", "4"]), max_size=12)))
    log = [(draw(st.sampled_from([stamp, stamp, stamp, ""])), draw(st.sampled_from("ab"))) for stamp in stamps]
    return log, [*draw(st.lists(st.integers(0, len(log)), max_size=5)), len(log)]


@pytest.mark.case(79)
@examples(300)
@given(_connections())
@example(([("1", "a"), ("", "b"), ("2", "c"), ("", "b")], [4, 4]))
@example(([("", "a"), ("", "a"), ("1", "a")], [1, 2, 3]))
def test_a_replayed_log_is_let_through_once(given_log: tuple[list[Event], list[int]]) -> None:
    log, reaches = given_log
    once = ReplayFilter()
    seen: list[Event] = []
    for reach in reaches:
        once.reconnect()
        seen += [event for event in [("9", f"{STARTED} at 1"), *log[:reach]] if once.is_new(*event)]
    assert [text for _, text in seen] == [text for _, text in log]
    assert once.truncated == 0


@pytest.mark.case(79)
def test_a_shortened_replay_is_noticed() -> None:
    once = ReplayFilter()
    once.reconnect()
    assert once.is_new("1", "a")
    once.reconnect()
    assert once.is_new("5", "e")
    assert once.truncated == 1
    assert once.has("5", "e")
    assert once.has("4", "x")
    assert not once.has("5", "f")
    assert not once.has("6", "e")


@pytest.mark.case(65, 89)
def test_a_start_over_is_shown_once_and_the_first_start_never() -> None:
    """With `attempts`, the server's marker stands between two tries; a replay brings all of them again."""
    first, second = ("1", f"{STARTED} at 1 ====="), ("3", f"{STARTED} at 3 =====")
    shown = ReplayFilter()
    assert _let_through(shown, [first, ("2", "try 1"), second, ("4", "try 2")]) == ["try 1", second[1], "try 2"]
    shown.reconnect()
    replay = [first, ("2", "try 1"), second, ("4", "try 2"), ("5", f"{STARTED} at 5 ====="), ("6", "try 3")]
    assert _let_through(shown, replay) == [f"{STARTED} at 5 =====", "try 3"]


def _let_through(shown: ReplayFilter, events: list[Event]) -> list[str]:
    return [text for stamp, text in events if shown.is_new(stamp, text)]

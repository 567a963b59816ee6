"""The Hub's stream of resource samples: bytes to samples, samples to the use of each GPU. Nothing in it is trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.hub.metrics import MAX_EVENT_BYTES, MAX_GPUS, MAX_REPLICAS, Samples, Tally


def _sample(*percents: float, replica: str = "57vr7", **more: Any) -> dict[str, Any]:
    """A sample as the Hub sends it (hf-jobs reference, 1.4)."""
    gpus = {
        f"{at:08x}": {"utilization": one, "memory_used_bytes": 9_000_000_000, "memory_total_bytes": 22_836_000_000}
        for at, one in enumerate(percents)
    }
    return {"cpu_usage_pct": 8, "memory_used_bytes": 1, "gpus": gpus, "replica": replica, **more}


def _wire(*samples: object) -> bytes:
    return b"".join(f"event: metric\ndata: {json.dumps(one)}\n\n".encode() for one in samples)


@given(st.lists(st.integers(0, 100), max_size=5), st.data())
def test_any_chunk_borders_give_the_same_samples(percents: list[int], data: st.DataObject) -> None:
    samples = [_sample(one) for one in percents]
    wire = _wire(*samples)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    reader = Samples()
    chunks = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert [one for chunk in chunks for one in reader.feed(chunk)] == samples


@pytest.mark.parametrize("step", [1 << 20, 1000])
def test_an_endless_line_takes_no_memory_and_what_follows_is_read(step: int) -> None:
    wire = b"data: " + b"x" * (3 * MAX_EVENT_BYTES) + b"\n\n" + _wire(_sample(5))
    reader = Samples()
    found = []
    for at in range(0, len(wire), step):
        found += list(reader.feed(wire[at : at + step]))
        assert len(reader._rest) <= MAX_EVENT_BYTES + 1
    assert found == [_sample(5)]


@pytest.mark.parametrize("line", [b"data: [1]", b"data: {", b"data:" + b"[" * 50_000, b": keep-alive", b"data: \xff"])
def test_what_is_no_sample_is_left_out(line: bytes) -> None:
    assert list(Samples().feed(line + b"\n\n" + _wire(_sample(1)))) == [_sample(1)]


def test_each_gpu_is_added_up() -> None:
    tally = Tally()
    for percents in ((90, 0), (100, 1), (80, 0)):
        tally.add(_sample(*percents))
    busy, idle = tally.use()
    assert (busy.samples, busy.mean_pct, busy.max_pct) == (3, 90.0, 100.0)
    assert (idle.samples, idle.max_pct) == (3, 1.0)
    assert (busy.memory_max_bytes, busy.memory_total_bytes) == (9_000_000_000, 22_836_000_000)


def test_a_job_that_starts_over_has_not_twice_the_gpus() -> None:
    tally = Tally()
    for _ in range(3):
        tally.add(_sample(1, 1, replica="first"))
    for _ in range(5):
        tally.add({**_sample(70, 60, replica="second"), "gpus": {"a": {"utilization": 70}, "b": {"utilization": 60}}})
    assert [(one.name, one.samples, one.max_pct) for one in tally.use()] == [("a", 5, 70.0), ("b", 5, 60.0)]
    assert tally.use()[0].memory_total_bytes is None


@pytest.mark.parametrize(
    "gpus",
    [
        None,
        [],
        {"a": None},
        {"a": {}},
        {"a": {"utilization": "91"}},
        {"a": {"utilization": True}},
        {"a": {"utilization": float("nan")}},
        {"a": {"utilization": -1}},
        {"a": {"utilization": 10**400}},
    ],
)
def test_odd_values_say_nothing(gpus: object) -> None:
    tally = Tally()
    tally.add({"gpus": gpus})
    assert tally.use() == ()


def test_what_it_keeps_is_bounded() -> None:
    tally = Tally()
    for replica in range(100):
        tally.add(_sample(*([101] * 200), replica=f"r{replica}"))
        tally.add({"gpus": {f"{replica}-{at}": {"utilization": 1} for at in range(200)}, "replica": "r0"})
    assert len(tally._replicas) == MAX_REPLICAS
    assert all(len(table) == MAX_GPUS for table in tally._replicas.values())
    assert max(one.max_pct for one in tally.use()) == 100.0

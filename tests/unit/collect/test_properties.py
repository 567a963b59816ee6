"""Whatever comes in: never a crash, never a value that the log does not print, the same reading for any chunks."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_train.collect import LogReader, LogReading, explain, explain_json, read_log
from hf_train.collect.curve import MAX_POINTS, Curves, thin
from unit.collect.samples import SAMPLES, Sample, invented

_PIECES = st.sampled_from(
    [
        b"{'loss': '0.5', 'epoch': '1'}\n",
        b"\r",
        b"\n",
        b"\r\n",
        b"\x1b[A",
        b"\x1b[31m",
        b"\x08\x08",
        b"\x1b]8;;x\x07",
        b" 50%|##   | 5/10 [00:01<00:01, 1.00it/s, loss=0.4]",
        b"loss: 0.31, acc: 0,92\n",
        "pérdida: 0,5 █".encode(),
        b"***** eval metrics *****\n",
        b"  eval_loss = 0.25\n",
        b"Traceback (most recent call last):\n",
        b"RuntimeError: CUDA out of memory\n",
        b"[rank1]: ValueError: x\n",
        b"'loss': nan}",
        b"{'loss': nan, 'grad_norm': inf}\n",
        b"\xff\xfe",
        b"\x00",
        b'{"loss": NaN}\n',
        b'::metrics:: {"accuracy": 0.9}\n',
        b"Epoch 1/3\n",
        b"Epoch [2/3]",
        b"3/3 [====] - 1s 4ms/step - loss: 0.1 - val_loss: 0.2\n",
        b"all 8 8 0.1 0.2 0.3 0.4\n",
        b"  Class Images mAP50\n",
        b"1e400",
        b"{'loss': 1e999, 'step': inf}\n",
        b'::metrics:: {"step": NaN, "loss": 1e999}\n',
        b"iter: 99999999999999999999 loss: 1\n",
        b"{'train_runtime': nan, 'train_loss': -inf, 'epoch': nan}\n",
        b"Total optimization steps = ,,,\n",
        b"Num Epochs = 0\n",
        b"0%|  | 0/0 [00:00<?, ?it/s]",
    ]
)
_LOGS = st.one_of(st.binary(max_size=3000), st.lists(_PIECES, max_size=60).map(b"".join))


def same(left: LogReading, right: LogReading) -> bool:
    return explain_json(left) == explain_json(right) and repr(left) == repr(right)


@given(_LOGS)
@example(b"")
@example(b"\x1b[")
@example(b"{'loss': '" + b"9" * 5000 + b"'}\n")
def test_any_bytes(data: bytes) -> None:
    reading = read_log([data])
    assert explain(reading)
    explain_json(reading)


@given(_LOGS, st.lists(st.integers(0, 3000), max_size=12))
def test_any_chunks(data: bytes, cuts: list[int]) -> None:
    borders = sorted({cut for cut in cuts if cut < len(data)} | {0, len(data)})
    reader = LogReader()
    for start, end in itertools.pairwise(borders):
        reader.feed(data[start:end])
        reader.snapshot()
    assert same(reader.close(), read_log([data]))


@given(st.lists(_PIECES, max_size=60).map(b"".join), st.integers(0, 3000))
def test_no_value_is_invented(data: bytes, cut: int) -> None:
    part = data[:cut]
    assert invented(dict(read_log([part]).metrics), part.decode("utf-8", "replace")) == {}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_cut_at_every_hundredth_byte(sample: Sample) -> None:
    data = sample.data
    whole = read_log([data])
    addresses = {push.url for push in whole.pushes} | set(whole.tracker_urls)
    for end in range(0, len(data), 100):
        reading = read_log([data[:end]])
        assert invented(dict(reading.metrics), data[:end].decode("utf-8", "replace")) == {}, f"cut at {end}"
        # Which bar is the training's, and so the step, may only be known later.
        assert set(reading.metrics) - {"step"} <= set(whole.metrics), f"cut at {end}"
        assert {*reading.model_urls, *reading.tracker_urls} <= addresses, f"cut at {end}"
        explain_json(reading)


@given(st.lists(st.floats(-1e9, 1e9, width=32), max_size=300), st.integers(4, 60))
def test_a_thinned_curve_keeps_first_last_minimum_and_maximum(values: list[float], limit: int) -> None:
    points = [(float(step), value) for step, value in enumerate(values)]
    kept = thin(points, limit)
    assert len(kept) <= limit
    assert set(kept) <= set(points)
    assert kept == sorted(kept)
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
        assert (min(y for _, y in kept), max(y for _, y in kept)) == (min(values), max(values))


@given(st.integers(1, 9000), st.integers(0, 10**6), st.sampled_from(["step", "epoch", "index"]))
@example(2000, 0, "step")
@example(2001, 1, "index")
def test_a_curve_that_streams_is_thinned_alike(count: int, seed: int, axis: str) -> None:
    rng = random.Random(seed)
    values = [rng.choice((0.0, 1.0, rng.random(), -rng.random() * 1e6)) for _ in range(count)]
    curves = Curves()
    series = curves.series("loss", axis)
    assert series is not None
    for number, value in enumerate(values, 1):
        series.add(None if axis == "index" else float(number), value)
    kept = curves.finish(None)["loss"]
    assert len(kept) <= min(count, MAX_POINTS)
    assert (kept[0], kept[-1]) == ((1.0, values[0]), (float(count), values[-1]))
    assert (min(y for _, y in kept), max(y for _, y in kept)) == (min(values), max(values))
    assert all(values[int(x) - 1] == y for x, y in kept)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunk_sizes(sample: Sample, size: int) -> None:
    data = sample.data
    assert same(read_log(data[at : at + size] for at in range(0, len(data), size)), read_log([data]))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_text_and_bytes_read_the_same(sample: Sample) -> None:
    assert same(read_log([sample.data.decode("utf-8", "replace")]), read_log([sample.data]))

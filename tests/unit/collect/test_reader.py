"""Cleaning, live progress, odd inputs, and the limits: constant memory and thinned curves."""

from __future__ import annotations

import json
import math
import tracemalloc

import pytest

from hf_train.collect import LogReader, explain, explain_json, read_log
from hf_train.collect.cleaning import MAX_LINE, payload, rank_of, whole_tokens
from hf_train.collect.curve import thin
from hf_train.collect.families import FAMILIES


def test_snapshot_while_it_runs() -> None:
    reader = LogReader()
    assert reader.snapshot().step is None
    reader.feed("  0%|          | 0/100 [00:00<?, ?it/s]\r")
    reader.feed(b" 10%|#         | 10/100 [00:20<03:00,  2.00s/it]\r{'loss': '0.5', 'epoch': '0.1'}\n")
    reader.feed(b" 20%|##        | 20/100 [00:40<02:40,  2.00s/it]\r")
    live = reader.snapshot()
    assert (live.step, live.total, live.epoch) == (20, 100, 0.1)
    assert live.metrics["loss"] == 0.5
    assert live.steps_per_second == pytest.approx(0.5)
    assert live.eta_seconds == 160
    reading = reader.close()
    assert reading.status == "running"
    assert reading is reader.close()
    with pytest.raises(ValueError, match="closed"):
        reader.feed(b"more")


def test_eta_from_the_speed_when_no_bar_tells_it() -> None:
    reader = LogReader()
    reader.feed("Epoch 1/4\n10/10 [====] - 1s 100ms/step - loss: 0.5\n")
    live = reader.snapshot()
    assert (live.step, live.total, live.steps_per_second, live.eta_seconds) == (10, 40, 10.0, 3.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "The log is empty"),
        (bytes(range(256)) * 64, "not a text log"),
        (b"\x1f\x8b\x08\x00" + bytes(range(256)) * 8, "not a text log"),
        ("{'loss': '0.5', 'epoch': '1'}\n".encode("utf-16"), "UTF-16"),
        ("{'loss': '0.5', 'epoch': '1'}\n".encode("utf-16-be"), "UTF-16"),
        (b"\xef\xbb\xbf{'loss': '0.5', 'epoch': '1'}\n", "loss"),
        (b"\n\r\n \n", "The log is empty"),
    ],
)
def test_odd_inputs_get_one_clear_answer(data: bytes, words: str) -> None:
    reading = read_log([data])
    assert words in explain(reading)
    assert json.loads(explain_json(reading))["status"] in {"truncated", "running"}


def test_a_single_line_of_200_mb_in_little_memory() -> None:
    chunk = b"loss=0.5 step " * 75_000
    tracemalloc.start()
    reader = LogReader()
    for _ in range(200):
        reader.feed(chunk)
    reading = reader.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "line-too-long" in reading.warnings
    assert "longer than 32,768 characters" in explain(reading)
    assert reading.metrics == {"loss": 0.5}


def test_memory_stays_constant_and_curves_keep_their_extremes() -> None:
    def lines(count: int) -> list[bytes]:
        made = []
        for step in range(count):
            loss = 99.0 if step == count // 3 else -7.0 if step == count // 2 else 1 + math.sin(step) / 2
            made.append(f"step {step}: loss: {loss:.4f} unique{step * 7919:x}\n".encode())
        return made

    data = lines(1_500)
    tracemalloc.start()
    reading = read_log(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6
    curve = reading.curve["loss"]
    assert len(curve) <= 500
    assert (500.0, 99.0) in curve
    assert (750.0, -7.0) in curve


def test_many_names_do_not_grow_without_end() -> None:
    reading = read_log(f"{{'eval_{number}_loss': 0.5}}\n".encode() for number in range(5000))
    assert len(reading.metrics) <= 400
    assert len(reading.curve) <= 64


def test_thin() -> None:
    points = [(float(x), float((x * 37) % 101)) for x in range(10_000)]
    for limit in (4, 10, 500):
        kept = thin(points, limit)
        assert len(kept) <= limit
        assert kept[0] == points[0]
        assert kept[-1] == points[-1]
        assert max(y for _, y in kept) == max(y for _, y in points[1:-1])
        assert min(y for _, y in kept) == 0.0
    assert thin(points[:10], 500) == points[:10]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[rank1]: x", "x"),
        ("[rank: 3] x", "x"),
        ("[80746] x", "x"),
        ("[  169.9s] x", "x"),
        ("[INFO|trainer.py:2003] 2026-12-02 03:34:47,499 >> x", ">> x"),
        ("12/02/2026 03:43:56 - INFO - __main__ - x", "__main__ - x"),
        ("2026-12-02T03:33:53.123456Z x", "x"),
        ("[2026-06-20 15:38:29,823] [INFO] [axolotl.train] x", "x"),
        ("> x", "x"),
        ("| epoch | loss |", "| epoch | loss |"),
        ("plain", "plain"),
    ],
)
def test_prefixes(text: str, rest: str) -> None:
    assert payload(text).endswith(rest)
    assert len(payload(text)) <= len(rest) + 3


def test_ranks() -> None:
    assert [rank_of(text) for text in ("[rank12]: x", "[rank: 3] x", "a [RANK:4] b", "[Rank 5] NCCL", "ranked")] == [
        12, 3, 4, 5, None,
    ]  # fmt: skip


def test_whole_tokens_never_shortens_a_number() -> None:
    assert whole_tokens("loss: 0.5, acc: 0.3") == "loss: 0.5, acc: "
    assert whole_tokens("pérdida: 0,2") == "pérdida: "
    assert whole_tokens("pérdida: 0,") == "pérdida: "
    assert whole_tokens("acc: 90%") == "acc: 90%"
    assert whole_tokens("0.123") == ""


def test_a_long_line_ends_at_a_delimiter() -> None:
    text = "a" * (MAX_LINE - 12) + " loss: 0.123456\n"
    assert read_log([text]).metrics == read_log([text[:100], text[100:]]).metrics == {}


def test_the_table_of_families_has_rows_with_names_and_needles() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(family.needles for family in FAMILIES)


def test_explain_tells_cause_hint_model_and_metrics() -> None:
    text = explain(
        read_log(
            [
                "{'loss': '0.5', 'epoch': '1'}\n🤗 Model pushed to the Hub in https://huggingface.co/u/r.\n",
                "[rank2]: Traceback (most recent call last):\n",
                "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
            ]
        )
    )
    assert text.startswith("The training failed.")
    for words in ("oom-gpu on rank 2", "CUDA out of memory", "Hint: ", "https://huggingface.co/u/r", "loss"):
        assert words in text


def test_no_metrics_is_said() -> None:
    assert "Metrics: none found." in explain(read_log([b"hello\n"]))


def test_the_cpu_fallback_of_unsloth_is_a_warning_with_a_hint() -> None:
    reading = read_log([b"Unsloth 2026.10.9: no GPU found, training on CPU (x86_64).\n"])
    assert reading.warnings == ("no-gpu",)
    assert reading.cause is None
    assert "GPU flavor" in (reading.hint or "")

"""The record of a Job in its output folder: what it says, and that nothing hostile in it does harm."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.collect.record import MAX_BYTES, longer, read_record, resumed_step, wanted
from hf_train.collect.trust import Source, merge


def _end(**more: Any) -> bytes:
    return json.dumps({"version": 1, "job": "6" * 24, "exit_code": None, "checkpoints": [10, 20], **more}).encode()


def _state(step: int, *, done: bool) -> bytes:
    rows: list[dict[str, Any]] = [{"step": one, "loss": 1 / one, "epoch": one / 10} for one in range(1, step + 1)]
    rows += [{"step": step, "train_runtime": 3.0, "train_loss": 0.25}] if done else []
    return json.dumps({"global_step": step, "max_steps": 40, "log_history": rows}).encode()


def test_what_it_says() -> None:
    usage = {
        "samples": 9,
        "gpu": [
            {
                "name": "A10G",
                "utilization_mean_pct": 41.5,
                "utilization_max_pct": 97,
                "memory_max_bytes": 9 << 30,
                "memory_total_bytes": 24 << 30,
            }
        ],
        "host_memory_max_bytes": 1 << 30,
    }
    record = read_record(
        {
            "end.json": _end(resumed_from_step=20, checkpoints=[10, 20, 30]),
            "usage.json": json.dumps(usage).encode(),
            "traceback.txt": b"ValueError: no",
            "results/all_results.json": b'{"eval_loss": 0.5, "train_loss": NaN}',
            "results/trainer_state.json": _state(40, done=True),
        }
    )
    assert (record.resumed_from, record.checkpoint, record.samples) == (20, 30, 9)
    assert record.traceback == "ValueError: no"
    (gpu,) = record.gpus
    assert (gpu.name, gpu.mean_pct, gpu.max_pct, gpu.memory_max_bytes) == ("A10G", 41.5, 97.0, 9 << 30)
    assert [(one.kind, one.name) for one in record.sources] == [
        ("all_results.json (output)", "all_results.json (output)"),
        ("trainer_state.json (output)", "trainer_state.json (output)"),
    ]
    assert math.isnan(record.sources[0].metrics["train_loss"] or 0.0)
    assert record.curve["loss"][0] == (1.0, 1.0)
    assert len(record.curve["loss"]) == 40
    assert record.problems == ()


def test_the_users_own_file_is_trusted_most_wherever_it_lay() -> None:
    files = {"results/metrics.json": b'{"f1": 0.9}', "results/all_results.json": b'{"f1": 0.8}'}
    record = read_record(files, "out/metrics.json")
    assert record.has_metrics_file
    (f1,) = merge([Source("log", {"f1": 0.7}), *record.sources])
    assert (f1.value, f1.source) == (0.9, "metrics.json (output)")
    assert not read_record(files, "other.json").has_metrics_file
    assert "metrics.json" not in str(read_record(files).sources)


def test_results_at_a_commit_are_trusted_more_and_the_log_less() -> None:
    record = read_record({"results/all_results.json": b'{"eval_loss": 0.5}'})
    commit, log = Source("train_results.json", {"eval_loss": 0.4}), Source("log", {"eval_loss": 0.6})
    (both,) = merge([log, *record.sources, commit])
    (one,) = merge([log, *record.sources])
    assert (both.value, one.value, one.source) == (0.4, 0.5, "all_results.json (output)")


def test_a_checkpoint_is_not_the_last_word() -> None:
    (source,) = read_record({"results/trainer_state.json": _state(20, done=False)}).sources
    assert source.kind == "checkpoint"
    (loss, _) = merge([source, Source("log", {"loss": 0.01})])
    assert (loss.value, loss.source) == (0.01, "log")


def test_curves_go_on_where_the_record_ends() -> None:
    record, log = {"loss": [(1, 9.0), (2, 8.0)]}, {"loss": [(2, 8.5), (3, 7.0)], "lr": [(1, 0.1)]}
    assert longer(record, log) == {"loss": [(1, 9.0), (2, 8.0), (3, 7.0)], "lr": [(1, 0.1)]}
    assert longer({}, log) == log


@pytest.mark.parametrize("value", [True, -1, 1.5, 1e3, "20", None, [20], {"step": 20}, 10**12, 10**400])
@pytest.mark.case(26)
def test_a_step_is_a_whole_number_or_nothing(value: Any) -> None:
    record = read_record({"end.json": _end(resumed_from_step=value, checkpoints=[value])})
    assert (record.resumed_from, record.checkpoint) == (None, None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04\x95.",
        b"[]",
        b"null",
        b"{",
        b'{"resumed_from_step": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"checkpoints": 5, "samples": "many", "gpu": {"name": 1}}',
        b'{"checkpoints": {"1": 2}, "samples": 3, "gpu": [1, null, {"name": [], "utilization_mean_pct": 1}]}',
        b'{"samples": 3, "gpu": [{"name": "x", "utilization_mean_pct": NaN, "utilization_max_pct": Infinity}]}',
        b'{"samples": 3, "gpu": [{"name": "x", "utilization_mean_pct": 50, "utilization_max_pct": 1e9}]}',
        b'{"resumed_from_step": 3, "samples": 1}' + b" " * MAX_BYTES,
        b'{"samples": 0, "gpu": [{"name": "x", "utilization_mean_pct": 1, "utilization_max_pct": 2}]}',
    ],
)
@pytest.mark.case(26)
def test_hostile_records_say_nothing(content: bytes) -> None:
    record = read_record({"end.json": content, "usage.json": content})
    assert (record.resumed_from, record.checkpoint, record.gpus, record.sources) == (None, None, (), ())


@pytest.mark.case(26)
def test_only_known_names_are_read_and_no_more_than_so_much() -> None:
    names = wanted("../../etc/passwd")
    assert names[4:] == ("results/passwd", "end.json", "usage.json", "traceback.txt")
    assert wanted("..") == wanted("a/..") == wanted("m\n.json") == wanted(None)
    many = json.dumps({"samples": 1, "gpu": [_gpu(f"{n}" * 200) for n in range(500)]}).encode()
    large = {"results/all_results.json": b'{"loss": 1}' + b" " * MAX_BYTES}
    foreign = {
        **large,
        "results/x.pkl": b"cos\nsystem\n",
        "../end.json": _end(resumed_from_step=3),
        "README.md": b"---\n",
    }
    record = read_record({**foreign, "usage.json": many, "end.json": _end(checkpoints=[1] * 1000 + [9])})
    assert record.sources == ()
    assert (record.resumed_from, record.checkpoint, len(record.gpus)) == (None, 1, 64)
    assert all(len(gpu.name) <= 100 for gpu in record.gpus)


def _gpu(name: str) -> dict[str, Any]:
    return {"name": name, "utilization_mean_pct": 1, "utilization_max_pct": 2, "memory_max_bytes": -1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one) | st.dictionaries(st.text(), one),
)


@given(st.dictionaries(st.sampled_from(["checkpoints", "resumed_from_step", "samples", "gpu"]), json_values))
def test_no_json_breaks_the_reader(document: dict[str, Any]) -> None:
    content = json.dumps(document).encode()
    record = read_record({"end.json": content, "usage.json": content, "results/all_results.json": content})
    assert record.resumed_from is None or record.resumed_from >= 0


def test_the_line_of_the_log() -> None:
    said = "hf-train: resumed from step 20 (/output/model/checkpoint-20)"
    assert resumed_step(["x", said, "y"]) == 20
    assert resumed_step([said, said.replace("20", "30")]) == 30
    assert (
        resumed_step(
            ["resumed from step 20", "hf-train: resumed from step x (", f"hf-train: resumed from step {'9' * 13} ("]
        )
        is None
    )

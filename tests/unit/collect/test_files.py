"""Contents of repo files: right numbers from good ones, a problem and no exception from bad ones."""

from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.collect import (
    read_all_results,
    read_metrics_file,
    read_model_card,
    read_tensorboard_events,
    read_trainer_state,
)

TRAINER_STATE = {
    "best_metric": 0.65,
    "best_model_checkpoint": "out/checkpoint-20",
    "epoch": 2.0,
    "global_step": 40,
    "max_steps": 40,
    "log_history": [
        {"epoch": 0.25, "grad_norm": 0.5555, "learning_rate": 0.0045, "loss": 0.67301, "step": 5},
        {"epoch": 0.5, "grad_norm": float("nan"), "loss": 0.7195, "step": 10},
        {"epoch": 1.0, "eval_accuracy": 0.65, "eval_loss": 0.652511, "eval_runtime": 0.2, "step": 20},
        {"epoch": 2.0, "step": 40, "total_flos": 1e9, "train_loss": 0.651123, "train_runtime": 7.3},
        {"epoch": 2.0, "eval_accuracy": 0.66, "eval_loss": 0.646312, "step": 40},
    ],
}

CARD = """---
library_name: transformers
base_model: acme/tiny-bert
datasets:
- acme/reviews
tags:
- generated_from_trainer
- hf_jobs
- trackio:https://acme-board.hf.space?project=x
pipeline_tag: text-classification
model-index:
- name: tiny-reviews
  results:
  - task:
      type: text-classification
    dataset:
      name: acme/reviews
      type: acme/reviews
    metrics:
    - type: accuracy
      value: 0.6500000357627869
      name: Accuracy
---

# tiny-reviews

It achieves the following results on the evaluation set:
- Loss: 0.6463
- Accuracy: 0.65
- Mean Token Accuracy: 0.2

## Model description
- Loss: 9.9
"""


def test_all_results() -> None:
    found = read_all_results(
        '{"epoch": 2.0, "eval_loss": NaN, "train_loss": 0.0516, "note": "x", "perplexity": Infinity}'
    )
    assert found.values["train_loss"] == 0.0516
    assert math.isnan(found.values["eval_loss"] or 0)
    assert found.values["perplexity"] == math.inf
    assert "note" not in found.values
    assert found.problems == ()


def test_trainer_state() -> None:
    state = read_trainer_state(json.dumps(TRAINER_STATE))
    assert (state.global_step, state.max_steps, state.epoch, state.best_metric) == (40, 40, 2.0, 0.65)
    assert state.metrics["loss"] == 0.7195
    assert state.metrics["eval_loss"] == 0.646312
    assert state.metrics["train_loss"] == 0.651123
    assert math.isnan(state.metrics["grad_norm"] or 0)
    assert state.curve["loss"] == ((5.0, 0.67301), (10.0, 0.7195))
    assert state.curve["eval_accuracy"] == ((20.0, 0.65), (40.0, 0.66))
    assert "train_loss" not in state.curve
    assert state.problems == ()


def test_long_trainer_state_keeps_the_extremes() -> None:
    history = [{"step": step, "loss": 1.0 + (step % 7) / 10} for step in range(1, 20001)]
    history[12345]["loss"], history[777]["loss"] = -5.0, 9.0
    curve = read_trainer_state(json.dumps({"log_history": history})).curve["loss"]
    assert len(curve) <= 500
    assert (12346.0, -5.0) in curve
    assert (778.0, 9.0) in curve
    assert (curve[0][0], curve[-1][0]) == (1.0, 20000.0)
    assert [x for x, _ in curve] == sorted(x for x, _ in curve)


def test_metrics_file() -> None:
    found = read_metrics_file(
        '{"accuracy": 0.91, "eval/f1@10 (macro)": 0.5, "loss": NaN, "best": "inf", "none": null,'
        ' "groups": {"a": 1, "b": {"c": 2}}}'
    )
    assert found.problems == ()
    assert found.values["accuracy"] == 0.91
    assert found.values["eval/f1@10 (macro)"] == 0.5
    assert found.values["groups/b/c"] == 2
    assert math.isnan(found.values["loss"] or 0)
    assert found.values["best"] == math.inf
    assert found.values["none"] is None


@pytest.mark.case(26, 101)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("[1, 2]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"a": 1, }', "not JSON"),
        ('{"a": "high"}', "not a number"),
        ('{"a": true}', "not a number"),
        ('{"a": [1]}', "not a number"),
        ('{"a\\nb": 1}', "not a name"),
        ('{"<img src=x>": 1}', "not a name"),
        ('{"' + "n" * 65 + '": 1}', "not a name"),
        ('{"a": ' * 12 + "1" + "}" * 12, "deeper than 8 levels"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "' + "x" * 300_000 + '"}', "larger than 256 KB"),
        ("{" + ", ".join(f'"n{number}": 1' for number in range(500)) + "}", "more than 400 names"),
        ('{"a": 1e999}', "not a number"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_bad_metrics_file(text: str, problem: str) -> None:
    found = read_metrics_file(text)
    assert any(problem in told for told in found.problems), found


def test_model_card() -> None:
    card = read_model_card(CARD)
    assert card.metrics == {"eval_loss": 0.6463, "eval_accuracy": 0.6500000357627869, "eval_mean_token_accuracy": 0.2}
    assert card.base_model == ("acme/tiny-bert",)
    assert card.datasets == ("acme/reviews",)
    assert "hf_jobs" in card.tags
    assert (card.library_name, card.pipeline_tag) == ("transformers", "text-classification")
    assert card.problems == ()


def test_model_card_with_several_data_sets_keeps_them_apart() -> None:
    result = "  - dataset: {{name: {}}}\n    metrics:\n    - {{type: spearman_cosine, value: {}}}\n"
    front = "model-index:\n- results:\n" + result.format("sts dev", 0.7) + result.format("sts test", 0.6)
    card = read_model_card(f"---\n{front}---\n# x\n")
    assert card.metrics == {"eval_sts_dev_spearman_cosine": 0.7, "eval_sts_test_spearman_cosine": 0.6}


def test_model_card_of_sentence_transformers_names_its_evaluators_as_log_and_state_do() -> None:
    result = "  - dataset: {{name: {}, type: {}}}\n    metrics:\n    - {{type: spearman_cosine, value: {}}}\n"
    results = result.format("sts dev", "sts-dev", 0.7) + result.format("STS benchmark", "mteb/sts", 0.6)
    card = read_model_card(f"---\nmodel-index:\n- results:\n{results}---\n# x\n")
    assert card.metrics == {"eval_sts-dev_spearman_cosine": 0.7, "eval_sts_benchmark_spearman_cosine": 0.6}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# no front matter", "no front matter"),
        ("---\n- a\n- b\n---\n", "no mapping"),
        ("---\na: [1\n---\n", "no YAML"),
        ("---\na: !!python/object/apply:os.system [id]\n---\n", "no YAML"),
        ("---\nd: 2024-99-99\n---\n", "no YAML"),
        ("---\n" + "[" * 5000 + "\n---\n", "no YAML"),
        ("---\na: " + "x" * 300_000 + "\n---\n", "larger than 256 KB"),
    ],
)
def test_bad_model_card(text: str, problem: str) -> None:
    assert any(problem in told for told in read_model_card(text).problems)


def test_odd_values_in_a_model_card_are_left_out() -> None:
    card = read_model_card(
        "---\nbase_model: null\ntags: 3\ndatasets: {a: b}\nmodel-index: {}\nlicence: license\n"
        "model-index:\n- results:\n  - metrics:\n    - {type: wer, value: .nan}\n    - {type: bad, value: high}\n"
        "    - 7\n---\n"
    )
    assert math.isnan(card.metrics["eval_wer"] or 0)
    assert list(card.metrics) == ["eval_wer"]
    assert (card.base_model, card.datasets, card.tags) == ((), (), ())


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _record(step: int, tag: str, value: float, *, tensor: bool = False) -> bytes:
    scalar = struct.pack("<f", value)
    body = _field(8, _varint(1 << 3) + b"\x01" + _field(4, scalar)) if tensor else _varint(2 << 3 | 5) + scalar
    summary = _field(1, _field(1, tag.encode()) + body)
    event = _varint(1 << 3 | 1) + struct.pack("<d", 1.5) + _varint(2 << 3) + _varint(step) + _field(5, summary)
    return struct.pack("<Q", len(event)) + b"crc1" + event + b"crc2"


def test_tensorboard_events() -> None:
    version = _varint(1 << 3 | 1) + struct.pack("<d", 1.5) + _field(3, b"brain.Event:2")
    data = struct.pack("<Q", len(version)) + b"crc1" + version + b"crc2"
    data += b"".join(_record(step, "train/loss", 1 / step) for step in range(1, 2001))
    data += _record(2000, "eval/accuracy", 0.91, tensor=True)
    events = read_tensorboard_events(data)
    assert events.problems == ()
    assert events.metrics == {"train/loss": 0.0005, "eval/accuracy": 0.91}
    assert events.curve["train/loss"][0] == (1.0, 1.0)
    assert len(events.curve["train/loss"]) <= 500
    assert read_tensorboard_events(data[:-5]).problems == ("the last record is cut",)
    assert read_tensorboard_events(b"").problems == ("empty",)
    assert read_tensorboard_events(b"not an event file at all").problems


@pytest.mark.case(26)
@given(st.one_of(st.binary(max_size=400), st.text(max_size=300).map(str.encode)))
def test_nothing_raises(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (read_all_results, read_metrics_file, read_trainer_state, read_model_card):
        read(text)
        read(f"---\n{text}\n---\n")
    read_tensorboard_events(data)
    read_tensorboard_events(struct.pack("<Q", len(data)) + b"crc1" + data + b"crc2")


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.case(26)
@given(_JSON)
def test_any_json_is_read_or_told(value: object) -> None:
    text = json.dumps(value)
    for found in (read_all_results(text), read_metrics_file(text)):
        assert found.values or found.problems or value == {} or isinstance(value, dict)
    read_trainer_state(json.dumps({"log_history": value, "global_step": value, "max_steps": value}))

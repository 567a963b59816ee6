"""Every sample log: each expected metric, address, cause and status; the score per family of formats."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

from hf_train.collect import read_log
from hf_train.collect.signatures import CODES, HINTS
from unit.collect.samples import SAMPLES, Sample, printed_as


def mistakes(sample: Sample) -> list[str]:
    reading = read_log([sample.data])
    wrong = [
        f"{name}: {reading.metrics.get(name)} instead of {value}"
        for name, value in sample.metrics.items()
        if not printed_as(value, reading.metrics.get(name))
    ]
    if reading.status not in sample.status:
        wrong.append(f"status {reading.status} instead of {sample.status}")
    if not sample.model_urls <= set(reading.model_urls) <= sample.model_urls | sample.also_urls:
        wrong.append(f"model_urls {reading.model_urls} instead of {set(sample.model_urls)}")
    if reading.cause not in sample.causes:
        wrong.append(f"cause {reading.cause} instead of {sample.causes}: {reading.cause_line}")
    if sample.cause_line is not None and (reading.cause_line or "").strip() != sample.cause_line.strip():
        wrong.append(f"cause_line {reading.cause_line!r} instead of {sample.cause_line!r}")
    wrong += [f"no warning {code}" for code in sample.warnings if code not in reading.warnings]
    return wrong


def family(library: str) -> str:
    return re.split(r"[ (]", library)[0].lower()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_sample(sample: Sample) -> None:
    assert mistakes(sample) == []


def test_score_per_family(capsys: pytest.CaptureFixture[str]) -> None:
    scores: dict[str, list[bool]] = defaultdict(list)
    for sample in SAMPLES:
        scores[family(sample.library)].append(not mistakes(sample))
    with capsys.disabled():
        print("\nlogs read right, per family:")
        for name, right in sorted(scores.items()):
            print(f"  {name:<24} {sum(right):>2} of {len(right):>2}")
    assert all(all(right) for right in scores.values())


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_json_is_the_promised_object(sample: Sample) -> None:
    reading = read_log([sample.data])
    record = json.loads(json.dumps(reading.to_json(), allow_nan=False))
    assert list(record) == [
        "status", "metrics", "progress", "steps_per_second", "model_urls", "tracker_urls", "cause", "cause_line",
        "cause_rank", "hint", "curve",
    ]  # fmt: skip
    assert list(record["progress"]) == ["step", "total", "epoch"]
    assert all(len(points) <= 500 for points in record["curve"].values())
    assert record["cause"] is None or record["cause"] in CODES
    assert (record["cause"] is None) or record["hint"]


def test_each_code_has_a_hint() -> None:
    assert set(HINTS) == set(CODES)


@pytest.mark.parametrize(
    ("file", "step", "total", "speed"),
    [
        ("own-01-transformers5-example-info.txt", 40, 40, 5.423),
        ("own-03-transformers5-early-stop.txt", 10, 100, 50.893),
        ("13-nemo-nccl-timeout-glued-to-bar.txt", 18200, 212000, None),
        ("27-mmf-progress-lines.txt", 900, 9000, None),
        ("50-axolotl-2023-eval-bars.txt", 171, 512, 161 / 1010),
        ("55-unsloth-v5-seconds-prefix.txt", None, 6, None),
        ("57-diffusers-advanced-wandb-push.txt", 600, 600, None),
        ("24-safetensors-disk-full.txt", 750, 2000, None),
        ("29-kohya-launcher-traceback-bilingual.txt", None, None, None),
        ("own-46-plain-torch-tutorial.txt", 24, 24, None),
        ("own-26-keras3-verbose1.txt", 32, 96, None),
        ("06-yolov5-transfer-table.txt", 11, 60, None),
    ],
)
def test_progress(file: str, step: int | None, total: int | None, speed: float | None) -> None:
    sample = next(sample for sample in SAMPLES if sample.file == file)
    progress = read_log([sample.data]).progress
    assert (progress.step, progress.total) == (step, total)
    if speed is not None:
        assert progress.steps_per_second == pytest.approx(speed, rel=1e-3)


def test_curve_is_over_steps_where_the_bar_tells_them() -> None:
    sample = next(sample for sample in SAMPLES if sample.file.startswith("own-01"))
    curve = read_log([sample.data]).curve
    assert [x for x, _ in curve["loss"]] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert curve["eval_loss"] == ((20, 0.6525), (40, 0.6463))


def test_a_failure_on_one_rank_names_the_rank() -> None:
    sample = next(sample for sample in SAMPLES if sample.file.startswith("own-35"))
    reading = read_log([sample.data])
    assert (reading.cause, reading.cause_rank) == ("unknown", 1)
    assert reading.cause_line == "RuntimeError: simulated failure on rank 1"
    assert any("simulated failure" in line for line in reading.traceback_tail)


def test_trackers() -> None:
    sample = next(sample for sample in SAMPLES if sample.file.startswith("57"))
    assert "https://wandb.ai/demo-user/acme-mug-xl/runs/q7demo42" in read_log([sample.data]).tracker_urls

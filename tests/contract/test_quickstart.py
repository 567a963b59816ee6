"""examples/quickstart does what its README promises, by process, in a copy of its folder as in a Job."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart"
CLOSED_PORT = "http://127.0.0.1:9"  # nothing of these tests may reach a Hub
METRICS = re.compile(r"^::metrics:: (\{.*\})$", re.MULTILINE)
STEP = re.compile(
    r"^\{'loss': '([\d.]+)', .*'eval_accuracy': '([\d.]+)', 'step': (\d+), 'epoch': (\d+)\}$", re.MULTILINE
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A writable copy of the example, as the Job works in one."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__")))


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the example with nothing but a PATH in the environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "HF_ENDPOINT": CLOSED_PORT}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def metrics_of(run: subprocess.CompletedProcess[str]) -> dict[str, float]:
    assert run.returncode == 0, run.stderr
    lines = METRICS.findall(run.stdout)
    assert len(lines) == 1
    found: dict[str, float] = json.loads(lines[0])
    return found


def test_it_learns_and_says_so_in_every_place(folder: Path) -> None:
    run = start(folder, "train.py")
    metrics = metrics_of(run)
    assert set(metrics) == {"eval_accuracy", "eval_loss", "train_loss"}
    assert 0.9 <= metrics["eval_accuracy"] <= 1.0
    assert json.loads((folder / "digits" / "metrics.json").read_text()) == metrics
    steps = STEP.findall(run.stdout)
    assert [int(epoch) for *_, epoch in steps] == list(range(1, 61))
    assert [int(step) for *_, step, _ in steps] == list(range(30, 1801, 30))
    assert float(steps[-1][0]) == pytest.approx(metrics["train_loss"], abs=1e-4)
    assert float(steps[-1][1]) == metrics["eval_accuracy"]
    assert float(steps[0][0]) > 5 * float(steps[-1][0])


def test_same_seed_same_bytes_other_seed_other_model(folder: Path) -> None:
    first, again, other = (
        start(folder, "train.py", "--epochs", "3", "--seed", seed, "--output_dir", name)
        for seed, name in (("7", "first"), ("7", "again"), ("8", "other"))
    )
    assert metrics_of(first) == metrics_of(again) != metrics_of(other)
    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("first", "again", "other")]
    assert weights[0] == weights[1] != weights[2]


def test_weights_are_safetensors(folder: Path) -> None:
    """Read by the format's rules: header length, aligned JSON header, offsets that cover the rest without holes."""
    metrics_of(start(folder, "train.py", "--epochs", "1", "--hidden", "16"))
    data = (folder / "digits" / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "np"}
    assert {name: entry["shape"] for name, entry in header.items()} == {
        "layer1.weight": [64, 16],
        "layer1.bias": [16],
        "layer2.weight": [16, 10],
        "layer2.bias": [10],
    }
    end = 0
    for entry in sorted(header.values(), key=lambda entry: entry["data_offsets"][0]):
        assert entry["dtype"] == "F32"
        begin, next_end = entry["data_offsets"]
        assert begin == end
        assert next_end - begin == 4 * math.prod(entry["shape"])
        end = next_end
    assert len(data) == 8 + length + end


def test_card_carries_the_metrics(folder: Path) -> None:
    metrics = metrics_of(start(folder, "train.py", "--epochs", "2", "--hub_model_id", "local/digits"))
    card = ModelCard.load(folder / "digits" / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.model_name == "local/digits"
    results = {result.metric_name: result.metric_value for result in card.data.eval_results}
    assert results == {"eval_accuracy": metrics["eval_accuracy"], "eval_loss": metrics["eval_loss"]}
    assert f"| accuracy | {metrics['eval_accuracy']} |" in card.text


def test_diverged_training_fails_in_one_line(folder: Path) -> None:
    run = start(folder, "train.py", "--lr", "1e30")
    assert run.returncode == 1
    assert re.fullmatch(r"FloatingPointError: the loss is nan in epoch 1: .*lower --lr\n", run.stderr)
    assert "::metrics::" not in run.stdout
    assert not (folder / "digits").exists()


def test_unreachable_hub_fails_before_training(folder: Path) -> None:
    run = start(folder, "train.py", "--push_to_hub")
    assert run.returncode == 1
    assert "'loss'" not in run.stdout
    assert "Connection refused" in run.stderr


def test_uv_script_is_the_same_training(folder: Path) -> None:
    script = (folder / "train_uv.py").read_text()
    block = re.search(r"^# /// script\n((?:# ?.*\n)+?)# ///$", script, re.MULTILINE)
    assert block is not None
    needs = tomllib.loads(re.sub(r"^# ?", "", block.group(1), flags=re.MULTILINE))
    assert needs["requires-python"] == ">=3.11"
    assert [need.partition("==")[0] for need in needs["dependencies"]] == ["numpy", "huggingface_hub"]
    here = metrics_of(start(folder, "train_uv.py", "--epochs", "2"))
    assert here == metrics_of(start(folder, "train.py", "--epochs", "2"))
    alone = folder.parent / "alone"
    alone.mkdir()
    (folder / "train_uv.py").rename(alone / "train_uv.py")
    assert metrics_of(start(folder, str(alone / "train_uv.py"), "--epochs", "2")) == here


def test_data_is_what_its_script_draws(folder: Path) -> None:
    drawn = folder / "drawn"
    drawn.mkdir()
    assert start(folder, "make_data.py", "--out", "drawn").returncode == 0
    for name in ("train.csv", "test.csv"):
        assert (drawn / name).read_bytes() == (EXAMPLE / name).read_bytes()
    assert sum((EXAMPLE / name).stat().st_size for name in ("train.csv", "test.csv")) < 60_000

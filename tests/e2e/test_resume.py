"""A real training that its timeout kills after two checkpoints: the same command again ends as if it never had been."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.local_hub_process import Hub
from support.paths import ROOT
from support.product import Done, commit
from support.training_runs import RUN_S, Trainings, completed

pytestmark = pytest.mark.training

# As a machine that hangs: at step 25, but only in the run that begins anew.
HANGS = """\
import time

import train
import transformers.trainer


class Hang(transformers.TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        if state.global_step == 25 and args.resume_from_checkpoint is None:
            time.sleep(600)


transformers.trainer.DEFAULT_CALLBACKS.append(Hang)
train.main()
"""
ARGS = (
    "--output_dir /output/model --max_steps 40 --save_steps 10 --logging_steps 1 --eval_strategy steps --eval_steps 10"
    " --use_cpu --learning_rate 1e-2 --per_device_train_batch_size 16 --report_to none"
)
TIMEOUT_S = 40
"""Enough for 25 steps on a busy machine: the libraries alone take ten seconds to load."""
OWN_SPEED = ("_runtime", "_per_second")


def run(trainings: Trainings, script: str) -> Done:
    """`hf-train run` of one script with an output folder."""
    job = ["--env", f"PATH={trainings.env.path}", "--env", "OMP_NUM_THREADS=1"]
    resume = ["--output", "bucket", "--env", "HF_TRAIN_RESUME_FLAG=--resume_from_checkpoint"]
    where = ["--timeout", f"{TIMEOUT_S}s", "--path", "examples/resume", "--comment", "never"]
    return trainings.product.start(*where, *job, *resume, "--", "python", script, *ARGS.split()).done(RUN_S)


def results(report: dict[str, Any]) -> dict[str, float]:
    """Its metrics without what a clock measured."""
    return {name: value for name, value in report["metrics"].items() if not name.endswith(OWN_SPEED)}


def curves(report: dict[str, Any]) -> dict[str, Any]:
    """Its curves without what a clock measured."""
    return {name: points for name, points in report["curve"].items() if not name.endswith(OWN_SPEED)}


def weights(trainings: Trainings, report: dict[str, Any], scratch: Path) -> str:
    """Hash of the weights in its output folder."""
    bucket, path = f"{trainings.account.user}/jobs-artifacts", report["output"].partition("/jobs-artifacts/")[2]
    target = scratch / report["job-id"]
    trainings.account.api.download_bucket_files(bucket, [(f"{path}/model/model.safetensors", target)])
    return hashlib.sha256(target.read_bytes()).hexdigest()


@pytest.mark.case(62, 122)
def test_a_killed_training_goes_on_from_its_second_checkpoint(
    trainings: Trainings, account: Hub, tmp_path: Path
) -> None:
    repo = trainings.product.cwd
    shutil.copytree(ROOT / "examples" / "resume", repo / "examples" / "resume")
    (repo / "examples" / "resume" / "hangs.py").write_text(HANGS, encoding="utf-8")
    commit(repo)

    killed = run(trainings, "hangs.py")
    assert killed.code == 5, killed.out
    assert killed.report["reason"] == "timeout"
    assert (killed.report["resumed-from-step"], killed.report["checkpoint-step"]) == (None, 20)
    assert killed.report["metrics"]["loss"] > 0
    assert killed.report["sources"]["eval_loss"] in {"log", "trainer_state.json (output)"}
    words = "newest checkpoint of step 20 · the next run of this training goes on from there"
    assert words in (killed.folder / "comment.md").read_text(encoding="utf-8")

    again = run(trainings, "hangs.py")
    assert again.code == 0, again.out
    assert again.report["output"] == killed.report["output"]
    assert (again.report["resumed-from-step"], again.report["checkpoint-step"]) == (20, 40)
    assert "hf-train: resumed from step 20 (/output/model/checkpoint-20)" in again.job_lines
    assert "resumed from step 20" in (again.folder / "comment.md").read_text(encoding="utf-8")

    whole = run(trainings, "train.py")
    report = completed(whole)
    assert report["resumed-from-step"] is None
    assert report["output"] != again.report["output"]
    assert results(again.report) == results(report)
    assert {"train_loss", "eval_loss", "loss"} <= results(report).keys()
    assert {report["sources"][name] for name in ("train_loss", "eval_loss")} == {"all_results.json (output)"}
    assert curves(again.report) == curves(report)
    assert [step for step, _ in report["curve"]["loss"]] == list(range(1, 41))
    assert weights(trainings, again.report, tmp_path) == weights(trainings, report, tmp_path)
    # The Trainer's own mean is of this process's steps; the script's file has the whole training's, and both are told.
    assert {one.partition(":")[0] for one in again.report["problems"]} <= {"train_loss"}

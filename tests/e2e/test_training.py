"""Real trainings with the real libraries, launched, followed and reported as a user does it, on the local Hub."""

from __future__ import annotations

import math
import shlex

import pytest
from huggingface_hub import ModelCard

from support.local_hub_process import Hub
from support.training_runs import Trainings, dicts, last_with

pytestmark = pytest.mark.training

GLUE = (
    "python train.py --do_train --do_eval --use_cpu --output_dir remarks --num_train_epochs 4"
    " --per_device_train_batch_size 16 --learning_rate 3e-3 --eval_strategy epoch --logging_steps 10"
)


def trl(repo_id: str, *more: str) -> list[str]:
    """The command of examples/trl-sft: make the model, then TRL's own script."""
    sft = ["python", "-m", "trl.scripts.sft", "--config", "sft.yml", "--push_to_hub", "--hub_model_id", repo_id, *more]
    return ["sh", "-c", f"python make_tiny.py && {shlex.join(sft)}"]


def glue(repo_id: str, *more: str) -> list[str]:
    """The command of examples/transformers-glue."""
    return [*GLUE.split(), "--push_to_hub", "--hub_model_id", repo_id, *more]


def test_trl_sft_is_followed_and_reported(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/tiny-chat"
    done = trainings.run(
        "trl-sft", trl(repo_id, "--eval_strategy", "steps", "--eval_steps", "20"), "--model-repo", repo_id
    )
    assert done.code == 0, done.out
    report = done.report
    assert (report["stage"], report["reason"], report["exit-code"]) == ("COMPLETED", "completed", 0)
    assert not report["diverged"]

    rows = dicts(done)
    step, evaluation, end = (last_with(rows, name) for name in ("loss", "eval_loss", "train_loss"))
    assert {"loss", "mean_token_accuracy", "eval_loss", "eval_mean_token_accuracy", "train_loss"} <= set(
        report["metrics"]
    )
    for name, value in {**step, **evaluation, **end}.items():
        assert report["metrics"].get(name, value) == value, name
    assert end["train_loss"] < last_with(rows[:1], "loss")["loss"], "it learned nothing"

    trainings.check_model(done, repo_id, "End of training")
    # TRL's script saves no state at the root; if it does one day, the report must agree with it.
    if "trainer_state.json" in account.api.list_repo_files(repo_id):
        history = trainings.pushed_json(done, "trainer_state.json")["log_history"]
        assert report["metrics"]["train_loss"] == last_with(history, "train_loss")["train_loss"]
    comment = (done.folder / "comment.md").read_text(encoding="utf-8")
    assert f"{repo_id}@{report['model-revision'][:7]}" in comment
    assert report["curve"]


def test_same_seed_same_training(trainings: Trainings, account: Hub) -> None:
    """Two Jobs, two repos, one result: what differs between two reports is the code, not the dice."""
    runs = [trainings.run("trl-sft", trl(f"{account.user}/{name}", "--max_steps", "10")) for name in ("first", "again")]
    assert [done.code for done in runs] == [0, 0], runs[0].out + runs[1].out
    losses = [[(row["epoch"], row["loss"], row["grad_norm"]) for row in dicts(done) if "loss" in row] for done in runs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 2
    for done, name in zip(runs, ("first", "again"), strict=True):
        trainings.check_model(done, f"{account.user}/{name}", "End of training")
    blobs = [
        {one.rfilename: one.lfs.sha256 for one in info.siblings or () if one.lfs}["model.safetensors"]
        for info in (
            account.api.model_info(f"{account.user}/{name}", files_metadata=True) for name in ("first", "again")
        )
    ]
    assert blobs[0] == blobs[1]


def test_trainer_reports_what_it_pushed(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/remarks"
    done = trainings.run("transformers-glue", glue(repo_id), "--model-repo", repo_id)
    assert done.code == 0, done.out
    trainings.check_model(done, repo_id, "End of training")
    metrics = done.report["metrics"]
    results = trainings.pushed_json(done, "all_results.json")
    assert {"eval_accuracy", "eval_f1", "eval_loss", "train_loss"} <= set(metrics)
    for name, value in results.items():
        assert metrics.get(name, value) == value, name
    assert done.report["sources"]["eval_accuracy"] == "all_results.json"
    assert results["eval_accuracy"] > 0.7
    history = trainings.pushed_json(done, "trainer_state.json")["log_history"]
    assert metrics["loss"] == last_with(history, "loss")["loss"]
    assert metrics["train_loss"] == last_with(history, "train_loss")["train_loss"]
    card = ModelCard.load(account.api.hf_hub_download(repo_id, "README.md", cache_dir=done.folder / "card"))
    assert {one.metric_type: one.metric_value for one in card.data.eval_results} == {
        "accuracy": results["eval_accuracy"],
        "f1": results["eval_f1"],
    }


def test_diverged_training_is_green_on_the_hub_and_not_in_the_report(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/diverged"
    command = glue(repo_id, "--learning_rate", "1e30", "--max_steps", "10", "--logging_steps", "2")
    done = trainings.run("transformers-glue", command, "--model-repo", repo_id)
    report = done.report
    assert (done.code, report["stage"]) == (0, "COMPLETED"), done.out
    assert math.isnan(trainings.pushed_json(done, "all_results.json")["eval_loss"]), "the training did not diverge"
    assert report["diverged"] is True
    assert report["metrics"]["eval_loss"] is None
    assert report["non-finite"]["eval_loss"] == "nan"
    assert "diverged" in report["headline"].lower()
    assert "✅" not in (done.folder / "comment.md").read_text(encoding="utf-8").split("\n\n")[0]


def test_bad_column_fails_with_its_cause(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/never"
    done = trainings.run("transformers-glue", glue(repo_id, "--label_column", "stars"), "--model-repo", repo_id)
    report = done.report
    assert done.code == 1, done.out
    assert (report["stage"], report["exit-code"]) == ("ERROR", 1)
    assert report["cause-line"] == "KeyError: 'stars'"
    assert report["metrics"] == {}
    assert report["model-url"] == ""
    assert "KeyError: 'stars'" in (done.folder / "comment.md").read_text(encoding="utf-8")
    assert account.api.list_repo_files(repo_id) == [".gitattributes"], "made before the launch, private; nothing pushed"

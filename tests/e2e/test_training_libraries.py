"""Real trainings of further libraries: the report's numbers are those of the library's own file or final state.

Each run pushes that state beside its model; `agree` compares to the digits that a library prints.
"""

from __future__ import annotations

import csv
import math
import re
import shlex
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from hf_train.collect.tensorboard import read_tensorboard_events
from support.local_hub_process import Hub
from support.paths import ROOT
from support.training_env import requirements_of
from support.training_runs import Trainings, completed, disagreements, explained, last_with, same_curve, series

pytestmark = pytest.mark.training

TIMES = ("runtime", "per_second")


SCRIPTS = sorted((ROOT / "examples").glob("*/train*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_headers_of_uv_scripts_name_the_versions_that_are_tested(script: Path) -> None:
    header = re.match(r"# /// script\n((?:#.*\n)+?)# ///\n", script.read_text(encoding="utf-8"))
    named = re.findall(r'^#     "([^"]+)",$', header[1], re.MULTILINE) if header else []
    pinned = requirements_of(script.parent).read_text(encoding="utf-8").splitlines()
    assert [one for one in named if one not in pinned] == []


def push_args(repo_id: str) -> list[str]:
    """What every example takes."""
    return ["--push_to_hub", "--hub_model_id", repo_id]


def test_trl_dpo_from_a_model_on_the_hub(trainings: Trainings, account: Hub) -> None:
    base, repo_id = f"{account.user}/tiny-chat", f"{account.user}/tiny-chat-dpo"
    folder = trainings.product.scratch / "tiny-llama"
    trainings.make_tiny(folder)
    account.api.create_repo(base)
    account.api.upload_folder(repo_id=base, folder_path=folder)

    dpo = ["python", "-m", "trl.scripts.dpo", "--config", "dpo.yml", "--model_name_or_path", base]
    done = trainings.run("trl-dpo", [*dpo, *push_args(repo_id)], "--model-repo", repo_id)
    report = completed(done)
    trainings.check_model(done, repo_id, "End of training")
    assert report["also-published"] == [], "the base model is no result"

    # TRL's script pushes no state of its own; the Trainer's last checkpoint holds it but for the line of the end.
    state = trainings.pushed_json(done, "last-checkpoint/trainer_state.json")
    history = state["log_history"]
    step, evaluation = last_with(history, "loss"), last_with(history, "eval_loss")
    names = {"loss", "rewards/accuracies", "rewards/margins", "logps/chosen", "eval_loss", "eval_rewards/margins"}
    assert names <= {*step, *evaluation} <= {*report["metrics"], "step"}
    assert disagreements({**report["metrics"], "step": state["global_step"]}, {**evaluation, **step}) == {}
    assert report["metrics"]["eval_rewards/accuracies"] > 0.6, "it learned nothing"
    assert same_curve(report["curve"]["loss"], series(history, "loss"))
    assert same_curve(report["curve"]["eval_loss"], series(history, "eval_loss"))
    log = explained(done)
    assert (log["progress"]["step"], log["progress"]["total"]) == (state["global_step"], state["max_steps"])
    assert log["model_urls"] == [f"https://huggingface.co/{repo_id}"]


def test_diffusers_lora_reports_what_its_tracker_wrote(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/shapes-lora"
    train = ["python", "train_lora.py", "--pretrained_model_name_or_path", "tiny-diffusion", *push_args(repo_id)]
    command = ["sh", "-c", f"python make_tiny.py && {shlex.join(train)}"]
    done = trainings.run("diffusers-lora", command, "--model-repo", repo_id)
    report = completed(done)
    trainings.check_model(done, repo_id, "End of training", "pytorch_lora_weights.safetensors")

    names = account.api.list_repo_files(repo_id)
    events = [name for name in names if name.startswith("logs/") and name.count("/") == 2]
    written = read_tensorboard_events(trainings.pushed(done, events[0]).read_bytes())
    assert len(written.curve["train_loss"]) == 30
    assert report["metrics"]["train_loss"] == written.metrics["train_loss"]
    assert report["sources"]["train_loss"] == "TensorBoard"
    assert [tuple(point) for point in report["curve"]["train_loss"]] == list(written.curve["train_loss"])

    # The bar alone: three digits, some steps between two redraws are never shown.
    log = explained(done)
    assert log["status"] == "completed"
    assert (log["progress"]["step"], log["progress"]["total"]) == (30, 30)
    assert disagreements(log["metrics"], {"step_loss": written.metrics["train_loss"] or math.nan, "lr": 1e-3}) == {}
    shown, wanted = dict(map(tuple, log["curve"]["step_loss"])), dict(written.curve["train_loss"])
    assert len(shown) > 10
    assert disagreements(shown, {step: wanted[step] for step in shown}) == {}


def test_sentence_transformers_reports_its_model_card(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/remarks-sts"
    command = (
        "python train.py --output_dir remarks-sts --use_cpu --num_train_epochs 4 --per_device_train_batch_size 32"
        " --learning_rate 2e-3 --eval_strategy steps --eval_steps 20 --logging_steps 5"
    )
    done = trainings.run("sentence-transformers", [*command.split(), *push_args(repo_id)], "--model-repo", repo_id)
    report = completed(done)
    trainings.check_model(done, repo_id, "Add new SentenceTransformer model")

    metrics, sources = report["metrics"], report["sources"]
    card = ModelCard.load(trainings.pushed(done, "README.md"))
    results = card.data.eval_results or []
    assert {(one.dataset_type, one.metric_type) for one in results} == {
        (split, kind) for split in ("sts-dev", "sts-test") for kind in ("pearson_cosine", "spearman_cosine")
    }
    from_card = {value for name, value in metrics.items() if sources[name] == "model card"}
    history = trainings.pushed_json(done, "trainer_state.json")["log_history"]
    assert {one.metric_value for one in results} <= from_card | set(last_with(history, "eval_loss").values())
    assert {one.metric_value for one in results if one.dataset_type == "sts-test"} <= from_card

    step, evaluation, end = (last_with(history, name) for name in ("loss", "eval_loss", "train_loss"))
    for name, value in {**step, **evaluation, **end}.items():
        assert metrics.get(name, value) == value, name
    assert evaluation["eval_sts-dev_spearman_cosine"] > 0.5, "it learned nothing"
    assert [tuple(point) for point in report["curve"]["loss"]] == series(history, "loss")

    log = explained(done)
    assert log["progress"] == {"step": 80, "total": 80, "epoch": 4.0}
    told = {name: value for name, value in {**step, **evaluation, **end}.items() if not name.endswith(TIMES)}
    told |= {f"eval_sts-test_{one.metric_type}": one.metric_value for one in results if one.dataset_type == "sts-test"}
    assert disagreements(log["metrics"], {name: told[name] for name in told if name != "total_flos"}) == {}
    assert same_curve(log["curve"]["eval_sts-dev_spearman_cosine"], series(history, "eval_sts-dev_spearman_cosine"))
    assert log["model_urls"] == [f"{account.url}/{repo_id}"]


def test_lightning_reports_the_state_of_its_trainer(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/digits"
    command = ["python", "train.py", "--accelerator", "cpu", *push_args(repo_id)]
    done = trainings.run("lightning", command, "--model-repo", repo_id, "--metrics-file", "metrics.json")
    report = completed(done)
    trainings.check_model(done, repo_id, "End of training")

    state = trainings.pushed_json(done, "metrics.json")
    assert set(state) == {"train_loss", "val_loss", "val_acc", "test_loss", "test_acc"}
    assert {name: report["metrics"][name] for name in state} == state
    assert {report["sources"][name] for name in state} == {"metrics.json"}
    assert state["test_acc"] > 0.5, "it learned nothing"

    # Without the file the log tells the same, to three digits, and the curve of each epoch's validation.
    log = explained(done)
    assert log["status"] == "completed"
    assert disagreements(log["metrics"], state) == {}
    assert (log["progress"]["step"], log["progress"]["total"]) == (76, 76)
    with trainings.pushed(done, "metrics.csv").open(encoding="utf-8") as stream:
        rows = [{name: float(cell) for name, cell in row.items() if cell} for row in csv.DictReader(stream)]
    # Lightning counts steps from 0 in its file, and shows them from 1.
    validation = [(step + 1, value) for step, value in series(rows, "val_loss")]
    assert len(validation) == 4
    assert same_curve(log["curve"]["val_loss"], validation)
    assert report["curve"] == log["curve"]
    learned = {step + 1: value for step, value in series(rows, "train_loss")}
    shown = {step: value for step, value in map(tuple, log["curve"]["train_loss"]) if step in learned}
    assert shown
    assert disagreements(shown, {step: learned[step] for step in shown}) == {}


def test_keras_reports_its_history(trainings: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/table"
    command = ["python", "train.py", *push_args(repo_id)]
    done = trainings.run("keras", command, "--model-repo", repo_id, "--metrics-file", "metrics.json")
    report = completed(done)
    trainings.check_model(done, repo_id, "Save model using Keras.", "model.weights.h5")

    state = trainings.pushed_json(done, "metrics.json")
    assert {"loss", "accuracy", "auc", "val_loss", "val_accuracy", "val_auc", "test_accuracy"} <= set(state)
    assert {name: report["metrics"][name] for name in state} == state
    assert {report["sources"][name] for name in state} == {"metrics.json"}
    assert state["test_accuracy"] > 0.7, "it learned nothing"

    log = explained(done)
    assert disagreements(log["metrics"], state) == {}
    assert log["progress"] == {"step": 78, "total": 78, "epoch": 6.0}
    with trainings.pushed(done, "epochs.csv").open(encoding="utf-8") as stream:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(stream)]
    for name in ("loss", "val_loss", "val_auc"):
        assert same_curve(log["curve"][name], [(13 * (row["epoch"] + 1), row[name]) for row in rows]), name
    assert report["curve"] == log["curve"]

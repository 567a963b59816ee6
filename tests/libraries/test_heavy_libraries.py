"""Axolotl and Unsloth train for real on the CPU, as Jobs of the local Hub, and push to it.

The numbers of the report are those of the state that the library itself wrote and pushed.
"""

from __future__ import annotations

import pytest

from support.local_hub_process import Hub
from support.training_runs import Trainings, completed, disagreements, last_with, same_curve, series

pytestmark = pytest.mark.training
QUIET = ("--env", "DO_NOT_TRACK=1", "--env", "AXOLOTL_DO_NOT_TRACK=1")


def test_axolotl_lora_by_its_recipe(axolotl: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/sums-lora"
    axolotl.make_tiny(axolotl.product.cwd / "tiny-llama")
    args = "--base-model /base --max-steps 12 --learning-rate 0.02 --bf16 false --logging-steps 3"
    recipe = ["--recipe", "axolotl", "--config", "axolotl-lora.yml", "--args", args, "--model-repo", repo_id]
    done = axolotl.run("axolotl-lora", [], *recipe, *QUIET, "--volumes", "./tiny-llama:/base")
    report = completed(done)
    axolotl.check_model(done, repo_id, "End of training", "adapter_model.safetensors")
    adapter = axolotl.pushed_json(done, "adapter_config.json")
    assert (adapter["peft_type"], adapter["r"], adapter["lora_alpha"]) == ("LORA", 16, 32)

    state = axolotl.pushed_json(done, "last-checkpoint/trainer_state.json")
    assert state["global_step"] == state["max_steps"] == 12
    history = state["log_history"]
    step, evaluation = last_with(history, "loss"), last_with(history, "eval_loss")
    metrics = {**report["metrics"], "step": state["global_step"]}
    assert disagreements(metrics, {**evaluation, **step}) == {}
    assert same_curve(report["curve"]["loss"], series(history, "loss"))
    assert same_curve(report["curve"]["eval_loss"], series(history, "eval_loss"))
    evaluations = series(history, "eval_loss")
    assert evaluations[-1][1] < evaluations[0][1], "it learned nothing"

    (job,) = [one for one in account.jobs() if one["id"] == report["job-id"]]
    words = ["axolotl", "train", "axolotl-lora.yml", "--hub-model-id", repo_id]
    assert job["command"][2:] == [*words, *args.split()]


def test_unsloth_lora_by_an_own_script(unsloth: Trainings, account: Hub) -> None:
    repo_id = f"{account.user}/words-lora"
    unsloth.make_tiny(unsloth.product.cwd / "tiny-llama")
    command = (
        "python train.py --model_name /base --output_dir words --max_steps 20 --max_length 64 --learning_rate 0.02"
        f" --logging_steps 4 --report_to none --use_cpu --bf16 false --push_to_hub --hub_model_id {repo_id}"
    )
    done = unsloth.run("unsloth-sft", command.split(), "--model-repo", repo_id, "--volumes", "./tiny-llama:/base")
    report = completed(done)
    unsloth.check_model(done, repo_id, "End of training", "adapter_model.safetensors")
    assert unsloth.pushed_json(done, "adapter_config.json")["peft_type"] == "LORA"

    results = unsloth.pushed_json(done, "all_results.json")
    assert {"train_loss", "eval_loss", "eval_mean_token_accuracy"} <= set(report["metrics"])
    for name, value in results.items():
        assert report["metrics"].get(name, value) == value, name
    assert report["sources"]["eval_loss"] == "all_results.json"
    history = unsloth.pushed_json(done, "trainer_state.json")["log_history"]
    assert report["metrics"]["loss"] == last_with(history, "loss")["loss"]
    losses = series(history, "loss")
    assert [tuple(point) for point in report["curve"]["loss"]] == losses
    assert losses[-1][1] < losses[0][1], "it learned nothing"

"""A recipe trains for real: TRL's own script, by its name, on the local Hub."""

from __future__ import annotations

import pytest

from support.local_hub_process import Hub
from support.training_runs import Trainings, completed, dicts, last_with

pytestmark = pytest.mark.training


def test_trl_sft_by_its_name_trains_and_publishes(trainings: Trainings, account: Hub) -> None:
    base, repo_id = f"{account.user}/tiny-chat", f"{account.user}/tiny-chat-sft"
    folder = trainings.product.scratch / "tiny-llama"
    trainings.make_tiny(folder)
    account.api.create_repo(base)
    account.api.upload_folder(repo_id=base, folder_path=folder)

    # The image holds the packages, so uv installs nothing; on this Hub it is the test's own environment.
    recipe = ["--recipe", "trl/sft", "--image", "trl", "--config", "sft.yml"]
    args = ["--args", f"--model_name_or_path {base}", "--model-repo", repo_id]
    done = trainings.run("trl-sft", [], *recipe, *args)
    report = completed(done)
    trainings.check_model(done, repo_id, "End of training")
    rows = dicts(done)
    step, end = last_with(rows, "loss"), last_with(rows, "train_loss")
    assert report["metrics"]["loss"] == step["loss"]
    assert report["metrics"]["train_loss"] == end["train_loss"] < last_with(rows[:1], "loss")["loss"]

    (job,) = [one for one in account.jobs() if one["id"] == report["job-id"]]
    words = ["python", "-m", "trl.scripts.sft", "--config", "sft.yml", "--hub_model_id", repo_id, "--push_to_hub"]
    assert job["command"][2:] == [*words, "--model_name_or_path", base], "output_dir is the file's"

"""Real trainings with the real libraries, launched, followed and reported as a user does it, on the local Hub."""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from support import training_env as venv
from support.local_hub_process import Hub
from support.paths import ROOT
from support.product import Done, Product, commit, git
from support.training_env import TrainingEnv

pytestmark = pytest.mark.training

RUN_S = 300
DICT = re.compile(r"\{'[^{}]*\}")
GLUE = (
    "python train.py --do_train --do_eval --use_cpu --output_dir remarks --num_train_epochs 4"
    " --per_device_train_batch_size 16 --learning_rate 3e-3 --eval_strategy epoch --logging_steps 10"
)
Train = Callable[..., Done]


@pytest.fixture(scope="session")
def training_env() -> TrainingEnv:
    """The training libraries, installed once per machine."""
    return venv.get()


@pytest.fixture
def train(account: Hub, training_env: TrainingEnv, tmp_path: Path) -> Train:
    """`hf-train run` by process, for one example, from a user's repository that holds a copy of it."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    environ = {**account.environ, "HF_TRAIN_HF_TOKEN": account.token}
    product = Product(cwd=repo, environ=environ, scratch=tmp_path)

    def run(example: str, command: Sequence[str], *options: str) -> Done:
        folder = Path("examples") / example
        if not (repo / folder).exists():
            shutil.copytree(ROOT / folder, repo / folder, ignore=shutil.ignore_patterns("__pycache__"))
            commit(repo)
        job = ["--env", f"PATH={training_env.path}", "--env", "OMP_NUM_THREADS=1", "--secrets", "HF_TOKEN"]
        where = ["--flavor", "cpu-basic", "--timeout", "10m", "--path", str(folder), "--comment", "never"]
        return product.start(*where, *job, *options, "--", *command).done(RUN_S)

    return run


def trl(repo_id: str, *more: str) -> list[str]:
    """The command of examples/trl-sft: make the model, then TRL's own script."""
    sft = ["python", "-m", "trl.scripts.sft", "--config", "sft.yml", "--push_to_hub", "--hub_model_id", repo_id, *more]
    return ["sh", "-c", f"python make_tiny.py && {shlex.join(sft)}"]


def glue(repo_id: str, *more: str) -> list[str]:
    """The command of examples/transformers-glue."""
    return [*GLUE.split(), "--push_to_hub", "--hub_model_id", repo_id, *more]


def dicts(done: Done) -> list[dict[str, float]]:
    """The dict lines of the Job's log, numbers as numbers."""
    found = [ast.literal_eval(text) for line in done.job_lines for text in DICT.findall(line) if "epoch" in text]
    return [{name: float(value) for name, value in one.items()} for one in found]


def last_with(rows: Iterable[dict[str, float]], name: str) -> dict[str, float]:
    """The last row that has a key."""
    return [row for row in rows if name in row][-1]


def check_model(account: Hub, done: Done, repo_id: str, title: str) -> None:
    """The link of the report leads to a commit of this repo that was made while the Job lived."""
    report = done.report
    assert report["model-repo"] == repo_id
    (job,) = [one for one in account.jobs() if one["id"] == report["job-id"]]
    commits = {one.commit_id: one for one in account.api.list_repo_commits(repo_id)}
    pushed = commits[report["model-revision"]]
    assert pushed.title == title
    started, finished = (datetime.fromisoformat(job[name]) for name in ("startedAt", "finishedAt"))
    # A commit's date has whole seconds.
    assert started.replace(microsecond=0) <= pushed.created_at <= finished
    assert next(iter(commits)) == report["model-revision"]
    assert report["model-url"] == f"{account.url}/{repo_id}/tree/{pushed.commit_id}"
    assert account.api.model_info(repo_id, revision=pushed.commit_id).sha == pushed.commit_id
    assert "model.safetensors" in account.api.list_repo_files(repo_id, revision=pushed.commit_id)


def pushed_json(account: Hub, done: Done, name: str) -> Any:
    """A JSON file of the reported commit, by the client that a user has."""
    report = done.report
    path = account.api.hf_hub_download(
        report["model-repo"], name, revision=report["model-revision"], cache_dir=done.folder / "hub"
    )
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_trl_sft_is_followed_and_reported(train: Train, account: Hub) -> None:
    repo_id = f"{account.user}/tiny-chat"
    done = train("trl-sft", trl(repo_id, "--eval_strategy", "steps", "--eval_steps", "20"), "--model-repo", repo_id)
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

    check_model(account, done, repo_id, "End of training")
    # TRL's script saves no state at the root; if it does one day, the report must agree with it.
    if "trainer_state.json" in account.api.list_repo_files(repo_id):
        history = pushed_json(account, done, "trainer_state.json")["log_history"]
        assert report["metrics"]["train_loss"] == last_with(history, "train_loss")["train_loss"]
    comment = (done.folder / "comment.md").read_text(encoding="utf-8")
    assert f"{repo_id}@{report['model-revision'][:7]}" in comment
    assert report["curve"]


def test_same_seed_same_training(train: Train, account: Hub) -> None:
    """Two Jobs, two repos, one result: what differs between two reports is the code, not the dice."""
    runs = [train("trl-sft", trl(f"{account.user}/{name}", "--max_steps", "10")) for name in ("first", "again")]
    assert [done.code for done in runs] == [0, 0], runs[0].out + runs[1].out
    losses = [[(row["epoch"], row["loss"], row["grad_norm"]) for row in dicts(done) if "loss" in row] for done in runs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 2
    for done, name in zip(runs, ("first", "again"), strict=True):
        check_model(account, done, f"{account.user}/{name}", "End of training")
    blobs = [
        {one.rfilename: one.lfs.sha256 for one in info.siblings or () if one.lfs}["model.safetensors"]
        for info in (
            account.api.model_info(f"{account.user}/{name}", files_metadata=True) for name in ("first", "again")
        )
    ]
    assert blobs[0] == blobs[1]


def test_trainer_reports_what_it_pushed(train: Train, account: Hub) -> None:
    repo_id = f"{account.user}/remarks"
    done = train("transformers-glue", glue(repo_id), "--model-repo", repo_id)
    assert done.code == 0, done.out
    check_model(account, done, repo_id, "End of training")
    metrics = done.report["metrics"]
    results = pushed_json(account, done, "all_results.json")
    assert {"eval_accuracy", "eval_f1", "eval_loss", "train_loss"} <= set(metrics)
    for name, value in results.items():
        assert metrics.get(name, value) == value, name
    assert done.report["sources"]["eval_accuracy"] == "all_results.json"
    assert results["eval_accuracy"] > 0.7
    history = pushed_json(account, done, "trainer_state.json")["log_history"]
    assert metrics["loss"] == last_with(history, "loss")["loss"]
    assert metrics["train_loss"] == last_with(history, "train_loss")["train_loss"]
    card = ModelCard.load(account.api.hf_hub_download(repo_id, "README.md", cache_dir=done.folder / "card"))
    assert {one.metric_type: one.metric_value for one in card.data.eval_results} == {
        "accuracy": results["eval_accuracy"],
        "f1": results["eval_f1"],
    }


def test_diverged_training_is_green_on_the_hub_and_not_in_the_report(train: Train, account: Hub) -> None:
    repo_id = f"{account.user}/diverged"
    command = glue(repo_id, "--learning_rate", "1e30", "--max_steps", "10", "--logging_steps", "2")
    done = train("transformers-glue", command, "--model-repo", repo_id)
    report = done.report
    assert (done.code, report["stage"]) == (0, "COMPLETED"), done.out
    assert math.isnan(pushed_json(account, done, "all_results.json")["eval_loss"]), "the training did not diverge"
    assert report["diverged"] is True
    assert report["metrics"]["eval_loss"] is None
    assert report["non-finite"]["eval_loss"] == "nan"
    assert "diverged" in report["headline"].lower()
    assert "✅" not in (done.folder / "comment.md").read_text(encoding="utf-8").split("\n\n")[0]


def test_bad_column_fails_with_its_cause(train: Train, account: Hub) -> None:
    repo_id = f"{account.user}/never"
    done = train("transformers-glue", glue(repo_id, "--label_column", "stars"), "--model-repo", repo_id)
    report = done.report
    assert done.code == 1, done.out
    assert (report["stage"], report["exit-code"]) == ("ERROR", 1)
    assert report["cause-line"] == "KeyError: 'stars'"
    assert report["metrics"] == {}
    assert report["model-url"] == ""
    assert "KeyError: 'stars'" in (done.folder / "comment.md").read_text(encoding="utf-8")
    assert not account.api.repo_exists(repo_id)

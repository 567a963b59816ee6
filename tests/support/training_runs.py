"""Runs an example of a training as a user does, and reads what it left: the report, the log, the pushed files."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hf_train.collect.trust import agree
from support.local_hub_process import Hub
from support.paths import ROOT
from support.product import Done, Product, clean_environ, commit, git
from support.training_env import TrainingEnv

RUN_S = 300
DICT = re.compile(r"\{'[^{}]*\}")


@dataclass(frozen=True, kw_only=True)
class Trainings:
    """A user's repository with the examples in it, and `hf-train run` in it.

    Attributes:
        account: The local Hub and whose it is.
        env: The training libraries.
        product: `hf-train` in the repository.
    """

    account: Hub
    env: TrainingEnv
    product: Product

    @classmethod
    def make(cls, account: Hub, env: TrainingEnv, scratch: Path) -> Trainings:
        """An empty repository; each example is copied to it when it is run."""
        repo = scratch / "repo"
        repo.mkdir()
        git(repo, "init", "--quiet", "--initial-branch=main")
        environ = {**account.environ, "HF_TRAIN_HF_TOKEN": account.token}
        return cls(account=account, env=env, product=Product(cwd=repo, environ=environ, scratch=scratch))

    def run(self, example: str, command: Sequence[str], *options: str) -> Done:
        """`hf-train run` by process, for one example."""
        repo, folder = self.product.cwd, Path("examples") / example
        if not (repo / folder).exists():
            shutil.copytree(ROOT / folder, repo / folder, ignore=shutil.ignore_patterns("__pycache__"))
            commit(repo)
        job = ["--env", f"PATH={self.env.path}", "--env", "OMP_NUM_THREADS=1", "--secrets", "HF_TOKEN"]
        where = ["--flavor", "cpu-basic", "--timeout", "10m", "--path", str(folder), "--comment", "never"]
        return self.product.start(*where, *job, *options, "--", *command).done(RUN_S)

    def make_tiny(self, folder: Path) -> None:
        """The tiny Llama that the examples of chats start from."""
        make = [str(self.env.folder / "bin" / "python"), str(ROOT / "examples" / "trl-sft" / "make_tiny.py")]
        subprocess.run([*make, "--out", str(folder)], check=True, capture_output=True, timeout=300)

    def check_model(self, done: Done, repo_id: str, title: str, weights: str = "model.safetensors") -> None:
        """The link of the report leads to a commit of this repo that was made while the Job lived."""
        report, api = done.report, self.account.api
        assert report["model-repo"] == repo_id
        (job,) = [one for one in self.account.jobs() if one["id"] == report["job-id"]]
        commits = {one.commit_id: one for one in api.list_repo_commits(repo_id)}
        pushed = commits[report["model-revision"]]
        assert pushed.title == title
        started, finished = (datetime.fromisoformat(job[name]) for name in ("startedAt", "finishedAt"))
        # A commit's date has whole seconds.
        assert started.replace(microsecond=0) <= pushed.created_at <= finished
        assert next(iter(commits)) == report["model-revision"]
        assert report["model-url"] == f"{self.account.url}/{repo_id}/tree/{pushed.commit_id}"
        assert api.model_info(repo_id, revision=pushed.commit_id).sha == pushed.commit_id
        assert weights in api.list_repo_files(repo_id, revision=pushed.commit_id)

    def pushed(self, done: Done, name: str) -> Path:
        """A file of the reported commit, by the client that a user has."""
        report = done.report
        path = self.account.api.hf_hub_download(
            report["model-repo"], name, revision=report["model-revision"], cache_dir=done.folder / "hub"
        )
        return Path(path)

    def pushed_json(self, done: Done, name: str) -> Any:
        """A JSON file of the reported commit."""
        return json.loads(self.pushed(done, name).read_text(encoding="utf-8"))


def completed(done: Done) -> dict[str, Any]:
    """The report of a run that went well in every respect."""
    assert done.code == 0, done.out
    report = done.report
    assert (report["stage"], report["reason"], report["exit-code"]) == ("COMPLETED", "completed", 0)
    assert not report["diverged"]
    assert not report["cause"]
    # No two sources disagree, no line of the log was lost, no file was missing.
    assert report["problems"] == []
    return report


def explained(done: Done) -> dict[str, Any]:
    """`hf-train explain job.log --format json`: what the log alone tells."""
    words = ("explain", str(done.folder / "job.log"), "--format", "json")
    call = [sys.executable, "-I", "-m", "hf_train", *words]
    answer = subprocess.run(call, env=clean_environ({}), capture_output=True, text=True, check=True, timeout=60)
    reading: dict[str, Any] = json.loads(answer.stdout)
    return reading


def disagreements(printed: Mapping[str, Any], state: Mapping[str, float]) -> dict[str, tuple[Any, float]]:
    """Where a reading is not what the library's own state is, to the digits that were printed."""
    return {
        name: (printed.get(name), value)
        for name, value in state.items()
        if not isinstance(printed.get(name), int | float) or not agree(printed[name], value)
    }


def dicts(done: Done) -> list[dict[str, float]]:
    """The dict lines of the Job's log, numbers as numbers."""
    found = [ast.literal_eval(text) for line in done.job_lines for text in DICT.findall(line) if "epoch" in text]
    return [{name: float(value) for name, value in one.items()} for one in found]


def last_with(rows: Iterable[dict[str, float]], name: str) -> dict[str, float]:
    """The last row that has a key."""
    return [row for row in rows if name in row][-1]


def series(rows: Iterable[Mapping[str, float]], name: str, at: str = "step") -> list[tuple[float, float]]:
    """The points of one metric in a history."""
    return [(row[at], row[name]) for row in rows if name in row]


def same_curve(points: Sequence[Sequence[float]], wanted: Sequence[Sequence[float]]) -> bool:
    """Whether two curves have the same steps, and values that agree to the digits that were printed."""
    return [x for x, _ in points] == [x for x, _ in wanted] and all(
        agree(left, right) for (_, left), (_, right) in zip(points, wanted, strict=True)
    )

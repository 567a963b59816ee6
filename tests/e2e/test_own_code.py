"""Own code, as the examples have it: one file, a folder, an image. The commands are those of their READMEs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle, running
from support.docker_engine import Engine
from support.paths import ROOT
from support.product import Product, clean_environ, commit, git, read_report

METRICS = re.compile(r"^::metrics:: (\{.*\})$", re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the examples of own code in it."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for example in (ROOT / "examples").glob("own-*"):
        shutil.copytree(example, folder / "examples" / example.name, ignore=shutil.ignore_patterns("__pycache__"))
    commit(folder)
    return folder


def command_of(example: str) -> str:
    """The shell block of its README that runs it on a Hub of one's own."""
    text = (ROOT / "examples" / example / "README.md").read_text(encoding="utf-8")
    (block,) = (one for one in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "hf-train" in one)
    return str(block)


def report_of(folder: Path, repo_id: str, names: set[str]) -> dict[str, Any]:
    """The report, whose numbers are those that the training printed and pushed."""
    report = read_report(folder)
    assert (report["stage"], report["exit-code"], report["problems"]) == ("COMPLETED", 0, [])
    (printed,) = METRICS.findall((folder / "job.log").read_text(encoding="utf-8"))
    told = json.loads(printed)
    assert set(told) == names
    assert {name: report["metrics"][name] for name in names} == told
    assert {report["sources"][name] for name in names} == {"metrics.json"}
    assert report["model-repo"] == repo_id
    assert report["model-revision"]
    assert len(report["curve"]["loss"]) > 5
    return report


@pytest.mark.parametrize(
    ("example", "repo_id", "names"),
    [
        ("own-file", "local-user/moons", {"eval_accuracy", "eval_loss", "train_loss"}),
        ("own-folder", "local-user/houses", {"eval_rmse", "eval_r2", "train_loss"}),
    ],
)
def test_the_readmes_line_trains_and_publishes(
    example: str, repo_id: str, names: set[str], checkout: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    line = command_of(example)
    assert " --local " in line
    environ = clean_environ({"HF_TRAIN_REPORT_DIR": str(folder), "HOME": str(tmp_path)})
    done = subprocess.run(
        ["sh", "-c", line], cwd=checkout, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(folder, repo_id, names)
    learned = {"own-file": report["metrics"].get("eval_accuracy"), "own-folder": report["metrics"].get("eval_r2")}
    assert learned[example] > 0.9


@pytest.fixture
def containers(engine: Engine, tmp_path: Path) -> Iterator[LocalHubHandle]:
    """A Hub that runs Jobs in containers."""
    with running(tmp_path / "hub", "--executor", "docker") as hub:
        yield hub


@pytest.mark.docker
def test_an_own_image_trains_without_a_token_and_the_step_publishes(
    engine: Engine, base_image: str, containers: LocalHubHandle, checkout: Path, tmp_path: Path
) -> None:
    image = "hf-train-test/own-image:latest"
    engine.build(checkout / "examples" / "own-image", image, build_args={"BASE": base_image})
    api = HfApi(endpoint=containers.endpoint, token=containers.token)
    api.create_bucket(f"{containers.user}/pumps")
    line = command_of("own-image").split("hf-train run ")[1].replace("\\\n", " ").replace("local-user", containers.user)
    words = [image if word == "pumps" else word for word in line.split()]
    environ = {"HF_ENDPOINT": containers.endpoint, "HF_TRAIN_HF_TOKEN": containers.token}
    done = Product(cwd=checkout, environ=environ, scratch=tmp_path).start(*words).done(120)
    assert done.code == 0, done.out
    repo_id = f"{containers.user}/pumps"
    report = report_of(done.folder, repo_id, {"eval_accuracy", "eval_loss", "train_loss"})
    job = containers.job(report["job-id"])
    assert (job["command"], job["secrets"]) == (["python3", "/app/train.py", "--output_dir", "/out/model"], [])
    assert set(api.list_repo_files(repo_id, revision=report["model-revision"])) >= {"model.safetensors", "metrics.json"}
    (mount,) = job["volumes"]
    assert (mount["source"], mount["mountPath"]) == (f"{containers.user}/pumps", "/out")

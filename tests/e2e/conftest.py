"""What the end-to-end tests stand on: a local Hub, a GitHub stub, a user's repository, and act in two modes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support import cache, events, hub_process, training_env
from support.act import HOST, PATH, Act, Running
from support.docker_engine import network_environ
from support.github_stub import GitHubStub
from support.hub_process import TOKEN, HubProcess
from support.local_hub_process import Hub
from support.paths import ACTION, ENTRYPOINT
from support.training_runs import Trainings

TRAIN = """\
import pathlib, time

rate = float(pathlib.Path("rate.txt").read_text())
for step in range(1, 4):
    print({"loss": round(rate / step, 4), "epoch": float(step)}, flush=True)
pathlib.Path("scratch.txt").write_text("the folder is writable")
print({"train_runtime": 0.3, "train_loss": round(rate / 3, 4), "epoch": 3.0}, flush=True)
"""
GITHUB_TOKEN = "ghs_localtests0123456789"
FAIL = """\
import sys

print({"loss": 9.5, "epoch": 1.0}, flush=True)
sys.exit("RuntimeError: the loss is not finite")
"""


def start_act(
    act: Act,
    repo: Path,
    action: Path,
    github: GitHubStub,
    steps: str,
    *,
    event: str = "push",
    secrets: Mapping[str, str] | None = None,
) -> Running:
    """Run steps under act, on pull request 7 or another event of the payloads.

    Args:
        act: The act.
        repo: The checkout.
        action: What `octo/hf-train@v1` stands for.
        github: GitHub.
        steps: YAML list of steps.
        event: Name of the payload.
        secrets: Repository secrets; a Hub token and a GitHub token when not given.
    """
    pair = events.load(event)
    return act.start(
        repo,
        pair.trigger,
        steps,
        payload=pair.path,
        environ={"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": github.url, "GITHUB_RUN_ID": "1658821493"},
        secrets={"HF_TOKEN": TOKEN, "GITHUB_TOKEN": GITHUB_TOKEN} if secrets is None else secrets,
        actions={"octo/hf-train@v1": action},
    )


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A local Hub that runs Jobs as processes."""
    with hub_process.running(tmp_path / "hub") as running:
        yield running


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub, with pull request 7 of the payloads."""
    with GitHubStub() as server:
        server.state.add_pull(7, labels=["train"])
        yield server


def git(repo: Path, *words: str) -> str:
    """Run git in a repository, away from the developer's own configuration."""
    identity = ["-c", "user.name=Mona", "-c", "user.email=mona@example.org", "-c", "commit.gpgsign=false"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(repo), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *identity, *words], cwd=repo, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(repo: Path, message: str = "Train") -> str:
    """Commit everything; returns the commit."""
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--message", message)
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A user's repository with two trainings: one that works, one that fails."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "fail.py").write_text(FAIL, encoding="utf-8")
    (folder / "rate.txt").write_text("1.5\n", encoding="utf-8")
    commit(folder)
    return folder


@pytest.fixture(scope="session")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The action as GitHub unpacks it: what a step needs of our repository, outside of the user's checkout."""
    folder = tmp_path_factory.mktemp("action")
    shutil.copy2(ACTION, folder)
    for small in ("collect", "comment", "merge"):
        shutil.copytree(ACTION.parent / small, folder / small)
    shutil.copytree(ENTRYPOINT, folder / "entrypoint", ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "The action")
    return folder


def _host(folder: Path, *, with_uv: bool) -> Act:
    home = folder / "home"
    tools = home / ".local" / "bin"
    tools.mkdir(parents=True)
    if with_uv:
        # A uv that the machine's owner installed for this user: setup.sh may take it.
        (tools / "uv").symlink_to(Path(sys.executable).parent / "uv")
    caches = {"PIP_CACHE_DIR": str(cache.folder() / "pip"), "UV_CACHE_DIR": str(cache.folder() / "uv")}
    environ = {**network_environ(), **caches, "PATH": f"{tools}:{PATH}"}
    return Act(folder=folder, platform=HOST, base_environ=environ)


@pytest.fixture
def act_host(tmp_path: Path) -> Act:
    """act without a container; steps run on this machine, with a home of their own."""
    return _host(tmp_path, with_uv=True)


@pytest.fixture
def act_host_without_uv(tmp_path: Path) -> Act:
    """The same on a machine that has no uv."""
    return _host(tmp_path, with_uv=False)


@pytest.fixture
def act_container(tmp_path: Path, runner_image: str) -> Act:
    """act with a container for the job, made of nothing but Debian, Python and git."""
    options = [word for name, value in network_environ().items() for word in ("--env", f"{name}={value}")]
    pip = cache.folder() / "pip-container"
    pip.mkdir(exist_ok=True)
    options += ["--env", "PIP_CACHE_DIR=/pip-cache", "--container-options", f"-v {pip}:/pip-cache"]
    return Act(folder=tmp_path, platform=runner_image, options=tuple(options))


@pytest.fixture
def trainings(account: Hub, tmp_path: Path) -> Trainings:
    """The examples' trainings, by `hf-train run`, with their libraries installed (once per machine)."""
    return Trainings.make(account, training_env.get(), tmp_path)

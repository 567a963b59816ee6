"""entrypoint/setup.sh as the runner starts it: what it makes, what it refuses, what it leaves alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support import cache
from support.docker_engine import network_environ
from support.paths import ENTRYPOINT

PATH = "/usr/local/bin:/usr/bin:/bin"
FAKE = '#!/bin/sh\necho "$0" >> {canary}\nexit 1\n'


@dataclass
class Runner:
    """The folders and files of one step on a runner."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("temp", "workspace", "home"):
            (self.root / name).mkdir()
        shutil.copytree(ENTRYPOINT, self.root / "action" / "entrypoint", ignore=shutil.ignore_patterns("__pycache__"))
        self.environ = {
            **network_environ(),
            "PATH": PATH,
            "HOME": str(self.root / "home"),
            "RUNNER_TEMP": str(self.root / "temp"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_ACTION_PATH": str(self.root / "action"),
            "GITHUB_OUTPUT": str(self.root / "output"),
            "GITHUB_ENV": str(self.root / "env"),
            "GITHUB_PATH": str(self.root / "path"),
            "PIP_CACHE_DIR": str(cache.folder() / "pip"),
            "UV_CACHE_DIR": str(cache.folder() / "uv"),
        }

    @property
    def workspace(self) -> Path:
        """The checkout."""
        return self.root / "workspace"

    @property
    def lock(self) -> Path:
        """The action's lock."""
        return self.root / "action" / "entrypoint" / "requirements.txt"

    @property
    def canary(self) -> Path:
        """File that exists when something of the checkout was run."""
        return self.root / "canary"

    def fake(self, folder: Path, name: str) -> Path:
        """Put a program somewhere that leaves a trace when it is run."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(FAKE.format(canary=self.canary))
        path.chmod(0o755)
        return path

    def uv(self) -> None:
        """Install uv for this user."""
        tools = self.root / "home" / ".local" / "bin"
        tools.mkdir(parents=True)
        (tools / "uv").symlink_to(Path(sys.executable).parent / "uv")
        self.environ["PATH"] = f"{tools}:{PATH}"

    def setup(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script in the checkout, as the runner does."""
        return subprocess.run(
            ["bash", str(self.root / "action" / "entrypoint" / "setup.sh")],
            cwd=self.workspace,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def outputs(self) -> dict[str, str]:
        """Its outputs."""
        return dict(line.split("=", 1) for line in (self.root / "output").read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def _version(venv: str) -> subprocess.CompletedProcess[str]:
    command = [f"{venv}/bin/python", "-I", "-m", "hf_train", "--version"]
    return subprocess.run(command, cwd="/", env={"PATH": PATH}, capture_output=True, text=True, check=False)


@pytest.mark.case(14)
@pytest.mark.parametrize("with_uv", [True, False], ids=["uv", "pip"])
def test_it_makes_a_private_python_and_touches_nothing_else(runner: Runner, with_uv: bool) -> None:
    if with_uv:
        runner.uv()
    done = runner.setup()
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = runner.outputs()
    assert outputs["venv"].startswith(str(runner.root / "temp"))
    assert _version(outputs["venv"]).stdout.startswith("hf-train ")
    assert list(runner.workspace.iterdir()) == []
    assert not (runner.root / "env").exists()
    assert not (runner.root / "path").exists()
    assert ("uv      /" in done.stdout) is with_uv
    assert "python  /" in done.stdout
    assert (Path(outputs["venv"]) / "bin" / "uvicorn").exists() is False
    # A second step of the same job takes the same venv, and has a state file of its own.
    (runner.root / "output").unlink()
    again = runner.setup()
    assert again.returncode == 0
    assert "made by an earlier step" in again.stdout
    assert runner.outputs()["venv"] == outputs["venv"]
    assert runner.outputs()["state-file"] != outputs["state-file"]


def test_a_venv_is_made_anew_when_the_lock_changed(runner: Runner) -> None:
    runner.uv()
    assert runner.setup().returncode == 0
    first = runner.outputs()["venv"]
    runner.lock.write_text(runner.lock.read_text() + "# renewed\n")
    (runner.root / "output").unlink()
    assert runner.setup().returncode == 0
    assert runner.outputs()["venv"] != first


def test_the_local_hub_is_installed_when_it_is_asked_for(runner: Runner) -> None:
    runner.uv()
    assert runner.setup(SETUP_LOCAL="true").returncode == 0
    assert (Path(runner.outputs()["venv"]) / "bin" / "uvicorn").exists()


@pytest.mark.case(44)
@pytest.mark.parametrize("with_uv", [True, False], ids=["uv", "pip"])
@pytest.mark.parametrize("rest", [f" \\\n    --hash=sha256:{'0' * 64}", ""], ids=["another hash", "no hash"])
def test_a_wheel_is_not_installed_without_its_hash(runner: Runner, with_uv: bool, rest: str) -> None:
    if with_uv:
        runner.uv()
    idna = next(line for line in runner.lock.read_text().splitlines() if line.startswith("idna=="))
    runner.lock.write_text(f"{idna.split()[0]}{rest}\n")
    done = runner.setup()
    assert done.returncode == 1
    assert "::error title=hf-train setup::The pinned packages" in done.stdout
    assert not (runner.root / "output").exists()


@pytest.mark.case(42, 43, 53)
def test_programs_of_the_checkout_are_passed_by(runner: Runner) -> None:
    runner.uv()
    bin_ = runner.workspace / "bin"
    for name in ("python3", "python", "uv", "pip"):
        runner.fake(bin_, name)
    runner.fake(runner.workspace, "evil.sh")
    done = runner.setup(
        PATH=f"{bin_}:{runner.environ['PATH']}",
        BASH_ENV="",
        PIP_CONFIG_FILE="pip.conf",
        UV_PYTHON=str(bin_ / "python3"),
        PYTHONPATH=str(runner.workspace),
        VIRTUAL_ENV=str(runner.workspace / ".venv"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not runner.canary.exists()


@pytest.mark.case(42)
def test_an_interpreter_of_the_checkout_is_refused_even_when_it_is_named(runner: Runner) -> None:
    named = runner.fake(runner.workspace / ".venv" / "bin", "python3")
    done = runner.setup(SETUP_PYTHON=str(named))
    assert done.returncode == 1
    assert "lies in the checkout" in done.stdout
    assert not runner.canary.exists()


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"SETUP_PYTHON": "python9"}, "there is no such program"),
        ({"SETUP_PYTHON": "/bin/false"}, "older than Python 3.11, or does not start"),
        ({"OSTYPE": "msys"}, "not on Windows"),
        ({"RUNNER_TEMP": ""}, "RUNNER_TEMP is not set"),
    ],
    ids=["no such interpreter", "not a python", "windows", "not a runner"],
)
def test_what_is_missing_is_said_in_one_annotation(runner: Runner, environ: dict[str, str], words: str) -> None:
    done = runner.setup(**environ)
    assert done.returncode == 1
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    assert len(errors) == 1
    assert words in errors[0]


def test_a_runner_without_python_is_told_what_to_add(runner: Runner, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for tool in ("bash", "mkdir", "mktemp", "rm", "mv"):
        (bare / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    done = runner.setup(PATH=str(bare))
    assert done.returncode == 1
    assert "No Python 3.11 or newer was found" in done.stdout
    assert "actions/setup-python" in done.stdout


def test_paths_with_spaces_and_percent_signs(tmp_path: Path) -> None:
    root = tmp_path / "a b %20 'c"
    root.mkdir()
    runner = Runner(root)
    runner.uv()
    done = runner.setup()
    assert done.returncode == 0, done.stdout + done.stderr
    assert _version(runner.outputs()["venv"]).returncode == 0


@pytest.mark.case(32)
def test_the_steps_files_are_for_this_user_only(runner: Runner) -> None:
    runner.uv()
    assert runner.setup().returncode == 0
    state = Path(runner.outputs()["state-file"])
    for folder in (state.parent, state.parent.parent, Path(runner.outputs()["venv"])):
        assert folder.stat().st_mode & 0o077 == 0, folder
    assert os.listdir(state.parent) == []  # noqa: PTH208

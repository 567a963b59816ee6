"""The image: built from our Dockerfile in a real engine, on a base that the tests made, and run as users run it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.docker_engine import Engine, network_environ
from support.hub_process import TOKEN, HubProcess
from support.paths import ROOT

pytestmark = pytest.mark.docker
TAG = "hf-train-test/image:latest"


@pytest.fixture(scope="module")
def image(engine: Engine, base_image: str) -> Iterator[str]:
    """Our image."""
    # A proxy or a certificate of this machine is no part of the product; the base has the certificates.
    keep = {name: value for name, value in network_environ().items() if name in {"PIP_CERT", "PIP_INDEX_URL"}}
    engine.build(ROOT, TAG, build_args={"BASE": base_image, **keep})
    yield TAG
    engine.run("image", "rm", "--force", TAG, check=False)


@pytest.fixture
def checkout(repo: Path) -> Path:
    """A checkout that belongs to root, as on a build server, and is mounted read-only for another user."""
    repo.chmod(0o755)
    return repo


def _run(engine: Engine, hub: HubProcess, checkout: Path, *words: str, check: bool = True) -> tuple[int, str, str]:
    done = engine.run(
        *("run", "--rm", "--network=host", "--volume", f"{checkout}:/repo:ro"),
        *("--env", f"HF_TOKEN={TOKEN}", "--env", f"HF_ENDPOINT={hub.url}"),
        TAG,
        *words,
        check=check,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("image")
def test_it_is_small_isolated_and_not_root(engine: Engine) -> None:
    (config,) = json.loads(engine.run("image", "inspect", TAG).stdout)
    assert config["Config"]["User"] == "10001"
    assert config["Config"]["Entrypoint"] == ["/opt/hf-train/venv/bin/python", "-I", "-m", "hf_train"]
    assert engine.run("run", "--rm", TAG, "--version").stdout.startswith("hf-train ")
    listed = engine.run("run", "--rm", "--entrypoint", "find", TAG, "/opt/hf-train/entrypoint", "-name", "*.md").stdout
    assert listed == ""
    written = engine.run("run", "--rm", "--entrypoint", "touch", TAG, "/opt/hf-train/x", check=False)
    assert written.returncode != 0


@pytest.mark.usefixtures("image")
def test_plan_spends_nothing(engine: Engine, hub: HubProcess, checkout: Path) -> None:
    words = ("plan", "--command", "python3 train.py", "--flavor", "cpu-basic", "--timeout", "5m")
    _, out, _ = _run(engine, hub, checkout, *words)
    assert "cpu-basic" in out
    assert "hf jobs run" in out
    assert hub.jobs() == []


@pytest.mark.usefixtures("image")
def test_run_trains_and_reports(engine: Engine, hub: HubProcess, checkout: Path) -> None:
    words = ("run", "--command", "python3 train.py", "--flavor", "cpu-basic", "--timeout", "5m")
    _, out, err = _run(engine, hub, checkout, *words)
    (job,) = hub.jobs()
    assert str(job.status.stage) == "COMPLETED", out + err
    assert job.id in out
    assert TOKEN not in out + err


@pytest.mark.usefixtures("image")
def test_a_failing_training_is_the_containers_exit_code(engine: Engine, hub: HubProcess, checkout: Path) -> None:
    code, out, err = _run(
        engine, hub, checkout, "run", "--flavor", "cpu-basic", "--", "python3", "fail.py", check=False
    )
    assert code == 1, out + err
    assert "the loss is not finite" in out
    assert str(hub.jobs()[0].status.stage) == "ERROR"


@pytest.mark.case(54)
@pytest.mark.usefixtures("image")
def test_stopping_the_container_cancels_the_job(engine: Engine, hub: HubProcess, checkout: Path) -> None:
    name = f"hf-train-test-{checkout.parent.name.replace('_', '-')}"
    engine.run(
        *("run", "--detach", "--name", name, "--network=host", "--volume", f"{checkout}:/repo:ro"),
        *("--env", f"HF_TOKEN={TOKEN}", "--env", f"HF_ENDPOINT={hub.url}"),
        *(TAG, "run", "--flavor", "cpu-basic", "--", "sleep", "300"),
    )
    try:
        hub.wait_for(lambda jobs: jobs and str(jobs[0].status.stage) == "RUNNING")
        engine.run("stop", "--time", "15", name)
        state = json.loads(engine.run("inspect", name, "--format", "{{json .State}}").stdout)
        assert state["ExitCode"] == 143, engine.run("logs", name).stdout
        assert str(hub.jobs()[0].status.stage).startswith("CANCEL")
    finally:
        engine.run("rm", "--force", name, check=False)

"""Our training images: built as they stand on a base of the tests, tried out, and trained in on the local Hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hf_train.local_hub.pytest import LocalHubHandle, running
from support.docker_engine import Engine, network_environ
from support.paths import ROOT
from support.product import Product, commit, git

pytestmark = [pytest.mark.docker, pytest.mark.training]
Build = Callable[[str], str]


@pytest.fixture(scope="module")
def build(engine: Engine, torch_image: str) -> Build:
    """Build one of our images, unchanged but for its base."""

    def one(name: str) -> str:
        tag = f"hf-train-test/{name}:latest"
        # An index or a certificate of this machine is no part of the product; the base has the certificates.
        wanted = {"UV_DEFAULT_INDEX": "PIP_INDEX_URL", "SSL_CERT_FILE": "SSL_CERT_FILE"}
        here = network_environ()
        keep = {name: here[source] for name, source in wanted.items() if source in here}
        engine.build(ROOT / "images" / name, tag, build_args={"BASE": torch_image, "UV": torch_image, **keep})
        return tag

    return one


@pytest.fixture
def product(engine: Engine, tmp_path: Path) -> Iterator[tuple[Product, LocalHubHandle]]:
    """A user's repository with examples/trl-sft in it, and a Hub that runs Jobs in containers."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(ROOT / "examples" / "trl-sft", repo / "sft", ignore=shutil.ignore_patterns("__pycache__"))
    commit(repo)
    with running(tmp_path / "hub", "--executor", "docker") as hub:
        environ = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": hub.token, "HF_TRAIN_JOB_TOKEN": hub.token + "_job"}
        yield Product(cwd=repo, environ=environ, scratch=tmp_path), hub


def test_the_trl_image_trains_what_the_example_trains(
    build: Build, product: tuple[Product, LocalHubHandle], engine: Engine
) -> None:
    image = build("trl")
    here, hub = product
    smoke = ROOT / "images" / "trl" / "smoke.py"
    tried = here.call("image", "verify", image, "--library", "trl", "--multi-gpu", "--uv", "--smoke", str(smoke))
    assert tried.code == 0, tried.out
    assert "✓ trl: 1.16.0" in tried.out
    assert "✓ writable cache as its user 10001: /tmp/hf" in tried.out
    assert "three steps, loss" in tried.out
    (config,) = json.loads(engine.run("image", "inspect", image).stdout)
    assert (config["Config"]["User"], config["Config"]["Entrypoint"]) == ("10001", None)
    repo_id = f"{hub.user}/tiny-chat"
    line = "python make_tiny.py && python -m trl.scripts.sft --config sft.yml --push_to_hub --hub_model_id " + repo_id
    options = ("--image", image, "--path", "sft", "--model-repo", repo_id, "--env", "OMP_NUM_THREADS=1")
    done = here.start(*options, "--timeout", "10m", "--comment", "never", "--", "sh", "-c", line).done(300)
    assert done.code == 0, done.out
    assert done.report["model-repo"] == repo_id
    assert done.report["image"] == image
    assert 0 < done.report["metrics"]["train_loss"] < 7


def test_the_transformers_image_takes_a_step(build: Build, product: tuple[Product, LocalHubHandle]) -> None:
    image = build("transformers")
    smoke = ROOT / "images" / "transformers" / "smoke.py"
    words = ("--library", "transformers", "--multi-gpu", "--uv", "--smoke", str(smoke))
    tried = product[0].call("image", "verify", image, *words)
    assert tried.code == 0, tried.out
    assert "✓ transformers: 5.24.0" in tried.out
    assert "three steps, loss" in tried.out

"""A base image with torch and uv, as the training images want it: the tests' Debian and wheels of this machine's index.

pip fetches the wheels, not uv: pip is what finds a build of torch that the machine's own pip.conf points to.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import cache
from support.docker_engine import Engine
from support.paths import ROOT

# What torch imports. Its CUDA wheels, where the index has those, come along by themselves.
WANTED = ("numpy==2.4.6", "uv")
PYTHON = "3.11"
"""Python of Debian 12."""
FETCH_S = 1800
DOCKERFILE = """\
ARG BASE
FROM ${BASE}
COPY wheels /wheels
RUN python3 -I -m venv --system-site-packages /tmp/v && /tmp/v/bin/python -I -m pip install --quiet --no-cache-dir \\
        --no-index --find-links /wheels --target /usr/local/lib/python3.11/dist-packages torch numpy uv \\
    && cp /usr/local/lib/python3.11/dist-packages/bin/uv /usr/local/bin/uv && rm -rf /tmp/v /wheels
"""


def _torch() -> str:
    text = (ROOT / "examples" / "requirements-training.txt").read_text(encoding="utf-8")
    found = re.search(r"^torch==\S+$", text, re.MULTILINE)
    assert found
    return found[0]


def _wheels() -> Path:
    """The wheels, fetched once per machine."""
    wanted = (_torch(), *WANTED)
    key = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    folder = cache.folder() / f"torch-wheels-{key}"
    with cache.only_one("torch-wheels"):
        if not (folder / ".ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            words = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            words += ["--only-binary", ":all:", "--python-version", PYTHON, "--implementation", "cp"]
            words += [w for tag in ("manylinux_2_28_x86_64", "manylinux2014_x86_64") for w in ("--platform", tag)]
            done = subprocess.run(
                [*words, "--dest", str(folder), *wanted], capture_output=True, text=True, timeout=FETCH_S, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            (folder / ".ready").touch()
    return folder


@pytest.fixture(scope="session")
def torch_image(engine: Engine, base_image: str) -> str:
    """Name of an image with torch and uv."""
    wheels = _wheels()
    recipe = f"{base_image}\0{DOCKERFILE}\0{sorted(path.name for path in wheels.iterdir())}"
    tag = f"hf-train-test/torch:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    with cache.only_one("images"):
        if not engine.has_image(tag):
            with tempfile.TemporaryDirectory(dir=cache.folder()) as folder:
                context = Path(folder)
                (context / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
                (context / "wheels").mkdir()
                for wheel in wheels.glob("*.whl"):
                    (context / "wheels" / wheel.name).hardlink_to(wheel)
                engine.build(context, tag, build_args={"BASE": base_image})
    return tag

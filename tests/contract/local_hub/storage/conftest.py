"""A Hub for the storage tests, an account for each test, and the older clients."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.cache import folder, only_one
from support.storage_server import Server, serving

XET = {"1.17.0": "hf-xet==1.4.3"}
"""Whose hf_xet is old too, as Axolotl 0.19 pins both; others take the newest."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Hub for all storage tests."""
    with serving(tmp_path_factory.mktemp("hub") / "data") as running:
        yield running


@pytest.fixture
def user() -> str:
    """A fresh account."""
    return f"u{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def python_with() -> Callable[[str], str]:
    """Gives the interpreter of an environment with a version of huggingface_hub, installed from the package index."""

    def interpreter(version: str) -> str:
        if version == "current":
            return sys.executable
        xet = XET.get(version, "hf-xet")
        python = folder() / "clients" / f"{version}-{xet}" / "bin" / "python"
        with only_one(f"client-{version}"):
            if not (python.parent.parent / "ready").exists():
                _install(python, f"huggingface_hub=={version}", xet)
        return str(python)

    return interpreter


def _install(python: Path, *packages: str) -> None:
    uv = [sys.executable, "-m", "uv"]
    where = str(python.parent.parent)
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, where], check=True, timeout=120)
    subprocess.run([*uv, "pip", "install", "-q", "--python", str(python), *packages], check=True, timeout=300)
    (python.parent.parent / "ready").touch()

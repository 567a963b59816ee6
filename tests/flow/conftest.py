"""The flow layer: each path through the pipeline once, on fakes and a fake clock. No socket, no process."""

from __future__ import annotations

import socket
import subprocess
from typing import NoReturn

import pytest

from support.fakes import World


@pytest.fixture(autouse=True)
def _world_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise AssertionError("the flow layer touches no socket and starts no process")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.fixture
def world() -> World:
    """A fresh set of fakes."""
    return World()

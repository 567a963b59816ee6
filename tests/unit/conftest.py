"""The unit layer: pure rooms and the pure side of adapters. The world is forbidden here."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine; `HYPOTHESIS_PROFILE=explore` looks for new ones.
_COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("unit", max_examples=50, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("explore", max_examples=2000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unit"))


@pytest.fixture(autouse=True)
def _world_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket and no process: a unit test that needs one stands in the wrong layer."""

    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise AssertionError("the unit layer touches no socket and starts no process")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "system", refuse)

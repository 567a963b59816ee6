"""Options and fixtures that every layer may ask for."""

from __future__ import annotations

import pytest

pytest_plugins = ["support.docker_engine", "support.local_hub_process", "support.registry", "support.torch_image"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites tests/golden/ from what the product says now; read the diff before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="Rewrite the golden comments in tests/golden/.")

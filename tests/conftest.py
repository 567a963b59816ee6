"""Fixtures that every layer may ask for."""

from __future__ import annotations

pytest_plugins = ["support.docker_engine", "support.local_hub_process"]

"""The real `hf` CLI and library against a local Hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle, local_hub, local_hub_server, running
from support.hf_cli import Cli

__all__ = ["local_hub", "local_hub_server"]


@pytest.fixture
def hf(local_hub: LocalHubHandle, tmp_path: Path) -> Cli:
    """The CLI, as the account of this test."""
    home = tmp_path / "home"
    home.mkdir()
    return Cli(hub=local_hub, home=home)


@pytest.fixture
def api(local_hub: LocalHubHandle) -> HfApi:
    """The library, as the account of this test."""
    return HfApi(endpoint=local_hub.endpoint, token=local_hub.token)


@pytest.fixture
def run(local_hub: LocalHubHandle, api: HfApi) -> Callable[..., dict[str, Any]]:
    """Run a shell line as a Job to its end; options are those of `run_job`."""

    def run_to_end(line: str, **options: Any) -> dict[str, Any]:
        job = api.run_job(image="python:3.12", command=["sh", "-c", line], **options)
        return local_hub.wait(job.id)

    return run_to_end


@pytest.fixture
def own_hub(tmp_path: Path) -> Iterator[Callable[..., LocalHubHandle]]:
    """Start a Hub of the test's own; give words of `local-hub` to it, and `data=` for an older folder."""
    with ExitStack() as stack:

        def start(*options: str, data: Path | None = None) -> LocalHubHandle:
            return stack.enter_context(running(data or tmp_path / "own-hub", *options))

        yield start

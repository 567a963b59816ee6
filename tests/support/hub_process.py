"""The local Hub as its own process, as a user starts it: `hf-train local-hub`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, JobInfo

TOKEN = "hf_localtests0123456789"
NAMESPACE = "local-user"


@dataclass(frozen=True, kw_only=True)
class HubProcess:
    """A local Hub that runs.

    Attributes:
        url: Its address (`HF_ENDPOINT`).
        log: File with what it says on stderr.
    """

    url: str
    log: Path

    @property
    def api(self) -> HfApi:
        """The real client, pointed at it."""
        return HfApi(endpoint=self.url, token=TOKEN)

    def jobs(self) -> list[JobInfo]:
        """All Jobs."""
        return list(self.api.list_jobs(namespace=NAMESPACE))

    def wait_for(self, condition: Callable[[list[JobInfo]], Any], timeout_s: float = 60) -> list[JobInfo]:
        """The Jobs, once a condition holds.

        Raises:
            AssertionError: It did not hold in time.
        """
        until = time.monotonic() + timeout_s
        while True:
            jobs = self.jobs()
            if condition(jobs):
                return jobs
            if time.monotonic() > until:
                raise AssertionError(f"in vain waited for the Jobs; they are {[(j.id, j.status.stage) for j in jobs]}")
            time.sleep(0.1)


@contextmanager
def running(data: Path, *options: str) -> Iterator[HubProcess]:
    """Start one and stop it at the end.

    Args:
        data: Folder for its state.
        options: More options of `hf-train local-hub`.

    Raises:
        AssertionError: It did not get ready.
    """
    log = data.with_name(f"{data.name}.log")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "hf_train", "local-hub", "--port", "0", "--data", str(data), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if not name.startswith(("HF_", "GITHUB_"))},
        )
    assert process.stdout is not None
    try:
        url = ""
        for line in process.stdout:
            if line.startswith("HF_ENDPOINT="):
                url = line.strip().removeprefix("HF_ENDPOINT=")
                break
        assert url, f"the local Hub did not start:\n{log.read_text(errors='replace')[-3000:]}"
        yield HubProcess(url=url, log=log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

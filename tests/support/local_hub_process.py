"""One local Hub for a whole test session, as its own process, with what tests ask of it: requests, faults, Jobs.

Each test gets an account of its own on it (`hf_local_as_NAME` tokens), so that tests do not see each other's Jobs.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from huggingface_hub import HfApi

from support import hub_process

LIVE = frozenset({"SCHEDULING", "RUNNING"})


@dataclass(frozen=True, kw_only=True)
class Hub:
    """A Hub that runs, and one account on it.

    Attributes:
        url: Its address (`HF_ENDPOINT`).
        user: The account, which is also the namespace.
        data: Its data folder.
    """

    url: str
    user: str
    data: Path

    @property
    def token(self) -> str:
        """A token of the account that may write."""
        return f"hf_local_as_{self.user}"

    @property
    def api(self) -> HfApi:
        """The real client."""
        return HfApi(endpoint=self.url, token=self.token)

    @property
    def environ(self) -> dict[str, str]:
        """What a client needs to know."""
        return {"HF_ENDPOINT": self.url, "HF_TOKEN": self.token}

    def ask(self, path: str, method: str = "GET", body: object = None) -> Any:
        """One request of the test's own; it stands in the request log too, unless it is an admin one."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx2.request(method, self.url + path, headers=headers, json=body, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def requests(self, method: str = "", path: str = "") -> list[dict[str, Any]]:
        """The request log: whole, or of one method, or of paths that begin so."""
        log: list[dict[str, Any]] = self.ask("/__admin/requests")
        return [one for one in log if one["method"].startswith(method) and one["path"].startswith(path)]

    def launches(self) -> list[dict[str, Any]]:
        """Bodies of the `POST /api/jobs/USER` so far, parsed; empty for one that a fault kept from being read."""
        path = f"/api/jobs/{self.user}"
        return [json.loads(one["body"] or "{}") for one in self.requests("POST", path) if one["path"] == path]

    def forget(self) -> None:
        """Empty the request log."""
        self.ask("/__admin/requests", "DELETE")

    def fault(self, *specs: str) -> None:
        """Let something go wrong (grammar: `local_hub/faults.py`)."""
        for spec in specs:
            self.ask("/__admin/faults", "POST", {"fault": spec})

    def heal(self) -> None:
        """No faults any more."""
        self.ask("/__admin/faults", "DELETE")

    def jobs(self) -> list[dict[str, Any]]:
        """Jobs of the account, newest first."""
        found: list[dict[str, Any]] = self.ask(f"/api/jobs/{self.user}")
        return found

    def stage(self, job_id: str) -> str:
        """The stage of a Job."""
        return str(self.ask(f"/api/jobs/{self.user}/{job_id}")["status"]["stage"])

    def log(self, job_id: str, wait_s: float = 20) -> list[str]:
        """Lines of a Job that ends in time, without the marker of its start."""
        url = f"{self.url}/api/jobs/{self.user}/{job_id}/logs"
        answer = httpx2.get(url, headers={"Authorization": f"Bearer {self.token}"}, timeout=wait_s)
        texts = [json.loads(line[5:])["data"] for line in answer.text.split("\n") if line.startswith("data:")]
        return [text for text in texts if not text.startswith("===== Job started")]

    def wait_for_stage(self, *stages: str, timeout_s: float = 20) -> dict[str, Any]:
        """The newest Job, once it is in one of these stages.

        Raises:
            AssertionError: It was not in time.
        """
        until = time.monotonic() + timeout_s
        while True:
            jobs = self.jobs()
            if jobs and jobs[0]["status"]["stage"] in stages:
                return jobs[0]
            assert time.monotonic() < until, [job["status"] for job in jobs]
            time.sleep(0.05)

    def cancel_all(self) -> None:
        """Leave nothing running."""
        for job in self.jobs():
            if job["status"]["stage"] in LIVE:
                self.ask(f"/api/jobs/{self.user}/{job['id']}/cancel", "POST")


@pytest.fixture(scope="session")
def session_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and data folder of the session's local Hub."""
    data = tmp_path_factory.mktemp("session-hub") / "data"
    with hub_process.running(data) as running:
        yield running.url, data


@pytest.fixture
def account(session_hub: tuple[str, Path]) -> Iterator[Hub]:
    """A fresh account on the session's Hub; no faults and an empty request log."""
    url, data = session_hub
    hub = Hub(url=url, user=f"u{secrets.token_hex(4)}", data=data)
    hub.heal()
    hub.forget()
    yield hub
    hub.heal()
    hub.cancel_all()


def names(requests: Sequence[dict[str, Any]]) -> list[str]:
    """`METHOD /path` of requests, for messages."""
    return [f"{one['method']} {one['path']}" for one in requests]

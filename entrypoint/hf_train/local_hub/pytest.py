"""A pytest plugin: a local Hub for your own tests.

    def test_training_starts(local_hub):
        job = HfApi().run_job(image="python:3.12", command=["echo", "hi"])
        assert local_hub.wait(job.id)["status"]["stage"] == "COMPLETED"

`local_hub_server` is one server for the whole session, `local_hub` an account of its own on it for one test, with
`HF_ENDPOINT`, `HF_TOKEN` and `HF_HOME` set, an empty request log and no faults. See docs/local-hub.md.

pytest loads this module in every project that has hf-train installed: it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TERMINAL = frozenset({"COMPLETED", "ERROR", "CANCELED", "DELETED"})
STOP_S = 5.0
_POLL_S = 0.05
_TOKEN = "hf_local_fixture"  # noqa: S105  (any token is good)
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from hf_train.local_hub.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalHubHandle:
    """A local Hub that runs, and an account on it.

    Attributes:
        endpoint: Its address, `http://127.0.0.1:PORT`.
        token: A token of the account that may write.
        user: The account's name, which is also its namespace.
        data: The Hub's data folder.
        process: Its process.
    """

    endpoint: str
    token: str
    user: str
    data: Path
    process: subprocess.Popen[str]

    def fault(self, spec: str) -> None:
        """Let something go wrong.

        Args:
            spec: In the grammar of `--fault`: `POST /api/jobs/* status=503 times=1`.

        Raises:
            ValueError: The spec cannot be read.
        """
        status, answer = self._ask("POST", "/__admin/faults", {"fault": spec})
        if status != 200:
            raise ValueError(answer["error"])

    def clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._ask("DELETE", "/__admin/faults")

    def requests(self, method: str = "", path: str = "") -> list[dict[str, Any]]:
        """What was asked so far, oldest first: method, path, query, JSON body without secrets, status, seconds.

        Args:
            method: Only of this method.
            path: Only of paths that begin so.
        """
        log: list[dict[str, Any]] = self._ask("GET", "/__admin/requests")[1]
        return [one for one in log if one["method"].startswith(method) and one["path"].startswith(path)]

    def clear_requests(self) -> None:
        """Empty the request log."""
        self._ask("DELETE", "/__admin/requests")

    def jobs(self) -> list[dict[str, Any]]:
        """Jobs of the account, newest first, as the Hub describes them."""
        return [one for one in self._ask("GET", "/__admin/jobs")[1] if one["owner"]["name"] == self.user]

    def job(self, job_id: str) -> dict[str, Any]:
        """One Job of the account.

        Raises:
            KeyError: There is none of this id.
        """
        for one in self.jobs():
            if one["id"] == job_id:
                return one
        raise KeyError(job_id)

    def wait(self, job_id: str, timeout_s: float = 60) -> dict[str, Any]:
        """The Job at its end.

        Raises:
            TimeoutError: It has not ended in time.
        """
        until = time.monotonic() + timeout_s
        while (job := self.job(job_id))["status"]["stage"] not in TERMINAL:
            if time.monotonic() > until:
                raise TimeoutError(f"Job {job_id} is {job['status']} after {timeout_s} s")
            time.sleep(_POLL_S)
        return job

    def log(self, job_id: str) -> list[str]:
        """Lines that a Job has printed so far."""
        events = (self.data / "jobs" / job_id / "log.sse").read_text("utf-8").split("\n\n")[:-1]
        lines: list[str] = [json.loads(event.removeprefix("data: "))["data"] for event in events]
        return [line for line in lines if not line.startswith("===== Job started at ")]

    def cancel_jobs(self) -> None:
        """Leave nothing of the account running."""
        for one in self.jobs():
            if one["status"]["stage"] not in TERMINAL:
                self._ask("POST", f"/api/jobs/{self.user}/{one['id']}/cancel")

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        request = urllib.request.Request(  # noqa: S310  (the address is ours)
            self.endpoint + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextlib.contextmanager
def running(data: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[LocalHubHandle]:
    """Start a local Hub as a process of its own, and stop it at the end.

    Args:
        data: Its data folder, made when missing.
        options: Words of `hf-train local-hub`.
        env: Its environment; by default this process's.

    Raises:
        RuntimeError: It did not start; its own words are in the text.
    """
    root = str(Path(__file__).resolve().parents[2])
    data.mkdir(parents=True, exist_ok=True)
    errors = data / "server.err"
    with errors.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, root, "--data", str(data), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
            env=env,
        )
    assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
    with process.stdout:
        try:
            name, _, endpoint = process.stdout.readline().strip().partition("=")
            if name != "HF_ENDPOINT":
                process.wait(STOP_S)
                raise RuntimeError(f"the local Hub did not start: {errors.read_text(errors='replace')[-2000:]}")
            yield LocalHubHandle(endpoint=endpoint, token=_TOKEN, user="local-user", data=data, process=process)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def local_hub_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHubHandle]:
    """One local Hub for the session, with the executor `process`."""
    with running(tmp_path_factory.mktemp("local-hub")) as server:
        yield server


@pytest.fixture
def local_hub(
    local_hub_server: LocalHubHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalHubHandle]:
    """A fresh account on the session's local Hub, which the Hugging Face libraries use during this test."""
    user = f"user-{secrets.token_hex(4)}"
    handle = LocalHubHandle(
        endpoint=local_hub_server.endpoint,
        token=f"hf_local_as_{user}",
        user=user,
        data=local_hub_server.data,
        process=local_hub_server.process,
    )
    handle.clear_faults()
    handle.clear_requests()
    home = tmp_path / "hf-home"
    direct = ",".join(filter(None, [os.environ.get("NO_PROXY", ""), "127.0.0.1"]))
    for name, value in {
        "HF_ENDPOINT": handle.endpoint,
        "HF_TOKEN": handle.token,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "NO_PROXY": direct,
        "no_proxy": direct,
    }.items():
        monkeypatch.setenv(name, value)
    _point_loaded_library_at(handle.endpoint, home, monkeypatch)
    yield handle
    handle.clear_faults()
    handle.cancel_jobs()


def _point_loaded_library_at(endpoint: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """huggingface_hub reads its environment once, at import: when that was before the test, set what it read.

    Source: huggingface_hub 2.4.0 `constants.py`, and `hf_api.py` for the default client behind its functions.
    """
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is None:
        return
    places = {
        "ENDPOINT": endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_XET_CACHE": str(home / "xet"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_STORED_TOKENS_PATH": str(home / "stored_tokens"),
    }
    for name, value in places.items():
        monkeypatch.setattr(constants, name, value, raising=False)
    default = getattr(sys.modules.get("huggingface_hub.hf_api"), "api", None)
    if default is not None:
        monkeypatch.setattr(default, "endpoint", endpoint)

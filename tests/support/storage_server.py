"""A local Hub as a process of its own, and clients beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import HfApi

from support.paths import ENTRYPOINT

TIMEOUT_S = 90
OLD_CLIENTS = ("1.17.0", "1.29.0")  # versions that images of training libraries bring


@dataclass(frozen=True, kw_only=True)
class Server:
    """A Hub that runs.

    Attributes:
        url: Its address.
        data: Its data folder.
    """

    url: str
    data: Path

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.url.rsplit(":", 1)[1])

    def api(self, user: str) -> HfApi:
        """The real client, as a user."""
        return HfApi(endpoint=self.url, token=token_of(user))

    def ask(self, method: str, path: str, token: str | None = None, **options: Any) -> httpx2.Response:
        """One request, the path sent as it stands."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **options.pop("headers", {})}
        return httpx2.request(method, self.url + path, headers=headers, timeout=30, **options)


def token_of(user: str) -> str:
    """A token of a user that may write."""
    return f"hf_local_as_{user}"


@contextmanager
def serving(data: Path, port: int = 0) -> Iterator[Server]:
    """A Hub on a data folder, on a port (0: a free one), stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hf_train.local_hub", "--port", str(port), "--data", str(data)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**clean_environ(), "PYTHONPATH": str(ENTRYPOINT)},
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        assert line.startswith("HF_ENDPOINT="), line
        yield Server(url=line.removeprefix("HF_ENDPOINT="), data=data)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def clean_environ() -> dict[str, str]:
    """The environment without what steers a client of the Hub."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING", "PYTHON"))}


def run_client(
    server: Server,
    home: Path,
    *command: str,
    user: str,
    more: Mapping[str, str] | None = None,
    token: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """A client's process, with a home of its own."""
    environ = {
        **clean_environ(),
        "HF_ENDPOINT": server.url,
        "HF_TOKEN": token or token_of(user),
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
        **(more or {}),
    }
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)


def hf(server: Server, home: Path, *arguments: str, user: str) -> str:
    """The real `hf`: what it prints.

    Raises:
        AssertionError: It ends with another status than 0.
    """
    done = run_client(server, home, str(Path(sys.executable).with_name("hf")), *arguments, user=user)
    assert done.returncode == 0, f"hf {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout

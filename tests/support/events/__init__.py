"""GitHub events as pairs: the payload (`NAME.json`) and the runner's variables (`NAME.env`).

Made after GitHub's documentation of webhook payloads and of default environment variables, cut to what an action
reads. On a pull request `GITHUB_SHA` is the merge commit (40 times 2), the head is 40 times 1, the base 40 times 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event.

    Attributes:
        name: Name of the pair.
        path: File of the payload.
        payload: The payload.
        environ: The runner's variables, without `GITHUB_EVENT_PATH`.
    """

    name: str
    path: Path
    payload: dict[str, Any]
    environ: dict[str, str]

    @property
    def trigger(self) -> str:
        """Name of the event as `on:` knows it."""
        return self.environ["GITHUB_EVENT_NAME"]


def load(name: str) -> Event:
    """Read a pair.

    Raises:
        FileNotFoundError: There is none of that name.
    """
    path = FOLDER / f"{name}.json"
    lines = (FOLDER / f"{name}.env").read_text(encoding="utf-8").splitlines()
    environ = dict(line.split("=", 1) for line in lines if line)
    return Event(name=name, path=path, payload=json.loads(path.read_text(encoding="utf-8")), environ=environ)

"""Builds of Docker Spaces, one at a time for each Space."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hf_train.local_hub.hub import HubContext, VolumeSource
from hf_train.local_hub.repos.store import Repo

BUILD_S = 3600
MAX_LINES = 20_000


@dataclass(slots=True)
class Build:
    """One build.

    Attributes:
        commit: What is built.
        stage: Stage of the Space by it.
        lines: What it printed, each with its moment.
        ended: Set at its end.
    """

    commit: str
    stage: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def say(self, line: str) -> None:
        """Add a line."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append((moment, line))


class SpaceBuilds:
    """Builds Spaces when they are looked at after a commit.

    Args:
        hub: The Hub; with its executor `docker` images are really built.
        folders: Where the files of a commit lie.
    """

    def __init__(self, hub: HubContext, folders: VolumeSource) -> None:
        self._hub = hub
        self._folders = folders
        self._builds: dict[str, Build] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def current(self, repo: Repo) -> Build:
        """The build of the newest commit; started when there is none."""
        commit = repo.git.resolve("main") or ""
        with self._lock:
            found = self._builds.get(repo.key)
            if found is not None and found.commit == commit:
                return found
            folder = self._folders.repo_folder("space", repo.id, commit, "")
            if not (folder / "Dockerfile").is_file():
                return Build(commit, "NO_APP_FILE", ended=_set())
            before = found is not None and found.stage == "RUNNING"
            build = Build(commit, "RUNNING_BUILDING" if before else "BUILDING")
            self._builds[repo.key] = build
        threading.Thread(target=self._run, args=(repo, folder, build), daemon=True).start()
        return build

    def close(self) -> None:
        """No build is waited for any more."""
        self._closing.set()

    def _run(self, repo: Repo, folder: Path, build: Build) -> None:
        build.say(f"===== Build Queued at commit {build.commit[:7]} =====")
        self._closing.wait(self._hub.settings.schedule_seconds)
        good = True
        if self._hub.settings.executor == "docker":
            good = False
            try:
                for line in _built(folder, f"hf.co/spaces/{repo.id}"):
                    if len(build.lines) < MAX_LINES:
                        build.say(line)
                good = True
            except Exception as error:  # noqa: BLE001  (whatever it is, the build has failed and says so)
                build.say(str(error))
        build.stage = "RUNNING" if good else "BUILD_ERROR"
        build.ended.set()


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def _built(folder: Path, tag: str) -> Iterator[str]:
    """Lines of a build.

    Raises:
        RuntimeError: It failed.
    """
    import docker

    client = docker.from_env(timeout=BUILD_S)
    try:
        for row in client.api.build(path=str(folder), tag=tag, rm=True, decode=True, network_mode="host"):
            if "error" in row:
                raise RuntimeError(str(row["error"]))
            yield from (line for line in str(row.get("stream", "")).split("\n") if line)
    finally:
        client.close()

"""What the Job machine asks of an executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hf_train.local_hub.jobs.hardware import Hardware


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A folder of this machine at a path in the Job.

    Attributes:
        source: The folder here.
        target: Absolute path there.
        read_only: Whether the Job may not write to it.
    """

    source: Path
    target: str
    read_only: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One attempt of a Job.

    Attributes:
        job_id: Id of the Job.
        image: Docker image.
        command: The argv, arguments included.
        env: Environment, secrets included.
        mounts: Volumes.
        folder: Fresh folder of this attempt.
        hardware: The flavor.
        network: Network group and aliases, as in the spec; empty for none.
    """

    job_id: str
    image: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    folder: Path
    hardware: Hardware
    network: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How an attempt ended.

    Attributes:
        exit_code: As a shell counts: 128 + n for a death by signal n.
        oom: Whether it was killed for its memory.
        message: Why it could not even start, in the Hub's manner; empty when it did.
    """

    exit_code: int
    oom: bool = False
    message: str = ""


class Executor(Protocol):
    """Runs attempts."""

    def run(self, task: Task, emit: Callable[[bytes], None], stop: threading.Event) -> Ended:
        """Run to the end, in the caller's thread.

        Args:
            task: What to run.
            emit: Takes what the Job prints.
            stop: Set when the Job must be killed, with everything that it started.
        """
        ...

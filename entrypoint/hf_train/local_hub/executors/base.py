"""What the Job machine asks of an executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hf_train.local_hub.jobs.hardware import Hardware

GRACE_S = 2.0
"""From SIGTERM to SIGKILL for a Job that is canceled or out of time, seconds."""


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
        namespace: Who owns the Job; network groups are the namespace's.
        image: Docker image.
        command: The argv, arguments included.
        env: Environment, secrets included.
        mounts: Volumes.
        folder: Fresh folder of this attempt.
        hardware: The flavor.
        memory_bytes: The most that it may use.
        network: Network group and aliases, as in the spec; empty for none.
    """

    job_id: str
    namespace: str
    image: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    folder: Path
    hardware: Hardware
    memory_bytes: int
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a Job uses.

    Attributes:
        cpu_s: CPU time so far, seconds.
        memory_bytes: Memory now.
    """

    cpu_s: float = 0.0
    memory_bytes: int = 0


class Stop(threading.Event):
    """Set when a Job must be killed, with everything that it started.

    Attributes:
        grace_s: How long its command has between SIGTERM and SIGKILL, seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.grace_s = GRACE_S


class Executor(Protocol):
    """Runs attempts."""

    def run(self, task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
        """Run to the end, in the caller's thread.

        Args:
            task: What to run.
            emit: Takes what the Job prints.
            stop: Set when the Job must be killed.
        """
        ...

    def usage(self, job_id: str) -> Usage:
        """What a Job uses now; nothing for one that does not run."""
        ...

"""Settings of one local Hub."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ExecutorName = Literal["process", "docker"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HubSettings:
    """How one local Hub runs.

    Attributes:
        data: Folder that holds everything (repos, buckets, Jobs, xet). A restart on the same folder keeps them.
        host: Address to bind. Loopback unless the caller says otherwise.
        port: TCP port; 0 takes a free one.
        executor: What runs a Job: `process` (a private mount namespace) or `docker` (the Docker Engine).
        user: Name of the account behind every token that is not listed in `users`.
        orgs: Organisations that this account may write to.
        faults: Fault specs in the grammar of `faults.py`.
        schedule_seconds: How long a Job stays in SCHEDULING, seconds.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 0
    executor: ExecutorName = "process"
    user: str = "local-user"
    orgs: tuple[str, ...] = ("local-org",)
    faults: tuple[str, ...] = field(default_factory=tuple)
    schedule_seconds: float = 0.3

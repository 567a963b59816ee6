"""Jobs: what is submitted, what is seen of them, how they end."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from hf_train.values.volumes import Volume


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A network group that a Job joins: its Jobs reach each other on every port.

    Attributes:
        group: Its name in the namespace, at most 46 lowercase letters, digits and dashes.
        aliases: Names of the Job in the group, at most 34 of the same each; others reach it at
            `${HF_NETWORK_GROUP_PREFIX}ALIAS`.
    """

    group: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpec:
    """What is submitted, without the values of the secrets.

    Attributes:
        namespace: User or organisation that runs and pays.
        image: Docker image reference, or a Space (`hf.co/spaces/...`).
        command: The command, word by word.
        flavor: Hardware flavor.
        timeout_s: Seconds after which the Hub kills the Job. Always sent.
        attempts: How often the Hub may start it; None for its default, one.
        env: Environment variables of the Job.
        secrets: Names of the secret environment variables.
        volumes: What is mounted.
        labels: Labels of the Job.
        network: The network group that it joins; None for none.
    """

    namespace: str
    image: str
    command: tuple[str, ...]
    flavor: str
    timeout_s: int
    attempts: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    network: Network | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRef:
    """A Job on the Hub.

    Attributes:
        id: 24 hex digits.
        namespace: Its owner.
        url: Its page on the Hub.
    """

    id: str
    namespace: str
    url: str


class Stage(StrEnum):
    """Stages of a Job (huggingface_hub 2.4.0 `_jobs_api.py`), and ours for what never was a Job."""

    SCHEDULING = "SCHEDULING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"
    CANCELED = "CANCELED"
    DELETED = "DELETED"
    UNKNOWN = "UNKNOWN"
    SKIPPED = "SKIPPED"

    @property
    def is_terminal(self) -> bool:
        """Whether the Job has ended. A stage that we do not know has not."""
        return self in _TERMINAL


NODE = "hft-node"
"""Label of a Job that is one node of several: its number, 0 for the first."""
SUPERSEDED = "hft-superseded"
"""Label of a Job that was cancelled for a newer push: that commit."""
_TERMINAL = frozenset({Stage.COMPLETED, Stage.ERROR, Stage.CANCELED, Stage.DELETED})


@dataclass(frozen=True, kw_only=True, slots=True)
class JobState:
    """What one look at a Job gave.

    Attributes:
        ref: The Job.
        stage: Its stage.
        stage_text: The stage in the Hub's own word, when it is one that we do not know.
        message: Status message, may be empty.
        created_at: When it was submitted, by the Hub's clock.
        started_at: When it started to run.
        finished_at: When it ended.
        queued_s: Seconds in the queue, by the Hub's own count.
        running_s: Seconds running, by the Hub's own count.
        labels: Its labels.
        image: Its image or Space.
        command: Its command.
        flavor: Its flavor.
        env: Its environment variables.
        secrets: Names of its secret environment variables.
        volumes: What is mounted.
    """

    ref: JobRef
    stage: Stage
    stage_text: str = ""
    message: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    queued_s: float | None = None
    running_s: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    command: tuple[str, ...] = ()
    flavor: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def node(self) -> int:
        """Which node it is when it is one of several, 0 for the first; 0 for a Job by itself as well."""
        text = self.labels.get(NODE, "")
        return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else 0

    @property
    def superseded_by(self) -> str:
        """Commit of the newer push that this Job was cancelled for; empty when it was not."""
        sha = self.labels.get(SUPERSEDED, "")
        return sha if self.stage is Stage.CANCELED and re.fullmatch(r"[0-9a-f]{7,40}", sha) else ""


class Reason(StrEnum):
    """Why a run ended as it did; each has one exit code in `report.verdict`."""

    COMPLETED = "completed"
    DETACHED = "detached"
    SKIPPED = "skipped"
    REFUSED = "refused"
    FAILED = "failed"
    OUT_OF_MEMORY = "out-of-memory"
    TIMEOUT = "timeout"
    CANCELLED_ON_HUB = "cancelled-on-hub"
    DELETED_ON_HUB = "deleted-on-hub"
    CANCELLED = "cancelled"
    KEPT = "kept-running"
    NOT_PUBLISHED = "not-published"
    GATE_FAILED = "gate-failed"
    GATE_UNKNOWN = "gate-unknown"
    QUEUE_TIMEOUT = "queue-timeout"
    WATCH_TIMEOUT = "watch-timeout"
    LOST_SIGHT = "lost-sight"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How the Job ended, as far as we saw. A failed training is one of these, not an exception.

    Attributes:
        state: The last look at the Job, None when none was ever had.
        reason: Why we stopped watching.
        signum: The signal that stopped us, None when none did.
        cancel_wanted: Whether we wanted the Job to be cancelled.
        cancel_confirmed: Whether the Hub confirmed a cancel of ours.
        log_lines: Log lines seen.
        log_problems: What was wrong with the log stream, in words.
    """

    state: JobState | None
    reason: Reason
    signum: int | None = None
    cancel_wanted: bool = False
    cancel_confirmed: bool = False
    log_lines: int = 0
    log_problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Flavor:
    """One row of `GET /api/jobs/hardware`.

    Attributes:
        name: `a10g-small`, for instance.
        title: The name for people.
        cpu: vCPUs, as the Hub words them.
        ram: Memory, as the Hub words it.
        accelerator: `1x A10G (24 GB)`, or empty.
        gpus: Number of GPUs.
        disk_gb: Disk of the Job, 10^9 bytes; None when the Hub does not say.
        usd_per_minute: Price, US dollars per minute; None when the Hub gives none.
    """

    name: str
    title: str = ""
    cpu: str = ""
    ram: str = ""
    accelerator: str = ""
    gpus: int = 0
    disk_gb: float | None = None
    usd_per_minute: float | None = None

    def cost_usd(self, seconds: float) -> float | None:
        """Price of so many seconds; the Hub bills by the started minute. None when the price is unknown."""
        if self.usd_per_minute is None:
            return None
        return self.usd_per_minute * math.ceil(seconds / 60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A Job of this run that ended before the one that the report is about.

    Attributes:
        kind: `smoke` for the smoke run, `try` for one that the platform ended.
        ref: The Job.
        reason: Why it ended, in a few words.
        seconds: How long it ran; None when that is not known.
        usd: What it cost; None when that is not known.
        most_usd: What it cost, at worst when that is not known; 0 for a flavor without a price.
    """

    kind: Literal["smoke", "try"]
    ref: JobRef
    reason: str
    seconds: float | None
    usd: float | None
    most_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The commit under test as a folder of the bucket.

    Attributes:
        digest: Content address: 64 hex digits over every path, mode and content.
        bucket: `namespace/jobs-artifacts`.
        path: `snapshots/<digest>`.
        files: Number of files.
        size: Bytes in all.
        sha: The commit, empty outside git.
        dirty: Number of tracked files that differ from the commit.
    """

    digest: str
    bucket: str
    path: str
    files: int
    size: int
    sha: str = ""
    dirty: int = 0

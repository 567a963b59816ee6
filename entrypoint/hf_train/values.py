"""The values that the rooms hand to each other. All frozen, none does anything."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal
from urllib.parse import quote


class Secret:
    """A value that must not be shown. Prints as `***`; only adapters call `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, byte for byte."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "***"


VolumeKind = Literal["bucket", "model", "dataset", "space"]
_SPECIAL_REF = re.compile(r"refs/(?:convert/[\w.-]+|pr/\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Volume:
    """One volume of a Job, in the terms of the Hub's Job spec.

    Attributes:
        kind: What is mounted.
        source: `namespace/name`.
        mount: Absolute path in the Job.
        read_only: True, False, or None for the Hub's default of the kind.
        path: Folder inside the source; empty for its root.
        revision: Revision of a repo; None for its default branch, always None for a bucket.
    """

    kind: VolumeKind
    source: str
    mount: str
    read_only: bool | None = None
    path: str = ""
    revision: str | None = None

    def as_option(self) -> str:
        """The same volume in the grammar of `hf jobs run -v`."""
        # Only these refs may hold a slash as it is (huggingface_hub 2.4.0 `utils/_hf_uris.py`).
        safe = "/" if _SPECIAL_REF.fullmatch(self.revision or "") else ""
        revision = f"@{quote(self.revision, safe=safe)}" if self.revision else ""
        path = f"/{self.path}" if self.path else ""
        mode = {None: "", True: ":ro", False: ":rw"}[self.read_only]
        return f"hf://{self.kind}s/{self.source}{revision}{path}:{self.mount}{mode}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalVolume:
    """A folder of the workspace that is uploaded and then mounted.

    Attributes:
        folder: Path as the user wrote it, relative to the workspace.
        mount: Absolute path in the Job.
        read_only: Whether the Job may write to its mounted copy.
    """

    folder: str
    mount: str
    read_only: bool = True

    @property
    def key(self) -> str:
        """What is sent for it: a folder is sent once for all who read it, and once more for all who write to it."""
        return self.folder if self.read_only else f"{self.folder}:rw"


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
        cancel_confirmed: Whether the Hub confirmed a cancel of ours.
        log_lines: Log lines seen.
        log_problems: What was wrong with the log stream, in words.
    """

    state: JobState | None
    reason: Reason
    signum: int | None = None
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLink:
    """A repo that the Job published to, proven by a commit of its own.

    Attributes:
        repo: `namespace/name`.
        kind: `model`, `dataset` or `space`.
        revision: The commit, 40 hex digits.
        url: Page of the repo at that commit.
        title: The commit's title.
        private: Whether the repo is private.
        has_weights: Whether it holds weights at that commit; None when that was not looked at.
    """

    repo: str
    kind: Literal["model", "dataset", "space"] = "model"
    revision: str
    url: str
    title: str = ""
    private: bool = False
    has_weights: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One number of the report.

    Attributes:
        name: As the library prints it.
        value: The number; NaN and infinities are themselves.
        source: Where it was read: `all_results.json`, `log`, ...
    """

    name: str
    value: float
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A remark of the check run, beside a line of the code.

    Attributes:
        path: Path in the repository.
        line: Line, from 1.
        level: `failure` or `warning`.
        title: A few words.
        message: What is to be said, as plain text.
    """

    path: str
    line: int
    level: Literal["failure", "warning"]
    title: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What came out of a Job.

    Attributes:
        metrics: In the order to show them.
        model: The main repo, None when nothing was published.
        others: Further repos that the Job published to.
        model_note: Why there is no model link, in words; empty when there is one or none was expected.
        curve: name -> (step, value) points, at most 500 each.
        diverged: Whether a NaN or infinite loss was seen.
        cause: Code of the failure's cause, None when there is none.
        cause_line: The line that proves it.
        hint: What to try next.
        tracker_urls: Links of trackers that the log names.
        progress: Last step seen, as `(step, total)`.
        epoch: Epochs done by then, None when the log does not say.
        steps_per_second: Speed, None when the log does not say.
        problems: What could not be read or is worth knowing, in words.
    """

    metrics: tuple[Metric, ...] = ()
    model: ModelLink | None = None
    others: tuple[ModelLink, ...] = ()
    model_note: str = ""
    curve: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    diverged: bool = False
    cause: str | None = None
    cause_line: str = ""
    hint: str = ""
    tracker_urls: tuple[str, ...] = ()
    progress: tuple[int | None, int | None] = (None, None)
    epoch: float | None = None
    steps_per_second: float | None = None
    problems: tuple[str, ...] = ()

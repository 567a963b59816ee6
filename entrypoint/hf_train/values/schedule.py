"""A scheduled Job on the Hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduled:
    """What one look at a scheduled Job gave (huggingface_hub 2.4.0 `ScheduledJobInfo`).

    Attributes:
        id: 24 hex digits.
        namespace: Its owner.
        schedule: Cron fields or a preset, as the Hub has them.
        suspend: Whether it is paused.
        concurrency: Whether a Job may start while the last one runs.
        image: Image or Space of its Jobs.
        command: Their command.
        flavor: Their flavor.
        labels: Their labels, and its own.
        created_at: When it was made, by the Hub's clock.
        next_at: When it starts next; None while it is paused.
        last_job: Id of the Job that it started last; empty for none.
        last_at: When that was.
    """

    id: str
    namespace: str
    schedule: str
    suspend: bool = False
    concurrency: bool = False
    image: str = ""
    command: tuple[str, ...] = ()
    flavor: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None
    next_at: datetime | None = None
    last_job: str = ""
    last_at: datetime | None = None

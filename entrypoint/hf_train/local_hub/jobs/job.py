"""One Job: what is kept of it, and how it looks to clients and on disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hf_train.local_hub.accounts import account_id
from hf_train.local_hub.executors.base import Stop
from hf_train.local_hub.http import iso, now
from hf_train.local_hub.jobs.log import JobLog
from hf_train.local_hub.jobs.spec import answer

TERMINAL = frozenset({"COMPLETED", "ERROR", "CANCELED", "DELETED"})
"""Stages that a Job never leaves (huggingface_hub 2.4.0 `_jobs_api.py` `JobStage`)."""


@dataclass(slots=True)
class Job:
    """One Job.

    Attributes:
        id: 24 hex digits.
        namespace: Who owns it.
        owner_type: `user` or `org`.
        spec: What was asked for; secrets by name only.
        account: Name of the account that started it.
        folder: Its folder on disk.
        created: When it came.
        stage: Where it stands.
        message: What the status says beside the stage.
        started: When it was RUNNING for the first time.
        finished: When it ended.
        failures: How many attempts have failed.
        initiator: `user`, `duplicated-job` or `scheduled-job`.
        initiator_id: The Job or scheduled Job that it comes from; empty for a user.
        secrets: Values of its secrets. They live only here, in memory, as long as the Hub does, for another run.
        stop: Set when it must be killed.
        stop_reason: `cancel`, `timeout` or `shutdown`.
        log: Takes what it prints; None when it ended in an earlier life of the Hub.
        log_closed: Nothing more will come into the log.
        hub_ends: The Hub is about to stop.
    """

    id: str
    namespace: str
    owner_type: str
    spec: dict[str, Any]
    account: str
    folder: Path
    created: datetime
    stage: str = "SCHEDULING"
    message: str | None = None
    started: datetime | None = None
    finished: datetime | None = None
    failures: int = 0
    initiator: str = "user"
    initiator_id: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    stop: Stop = field(default_factory=Stop)
    stop_reason: str = ""
    log: JobLog | None = None
    log_closed: bool = False
    hub_ends: bool = False
    thread: threading.Thread | None = None

    @property
    def log_path(self) -> Path:
        """File of its log."""
        return self.folder / "log.sse"

    @property
    def ended(self) -> bool:
        """Whether it is at its end."""
        return self.stage in TERMINAL

    @property
    def lost_secrets(self) -> list[str]:
        """Names of secrets whose values were lost with an earlier life of the Hub."""
        return sorted(set(self.spec.get("secrets") or {}) - set(self.secrets))

    def info(self) -> dict[str, Any]:
        """JobInfo (huggingface_hub 2.4.0 `_jobs_api.py`); durations are counted anew at each look."""
        end = self.finished or now()
        began = self.started or end
        who = {"id": account_id(self.account), "name": self.account}
        status: dict[str, Any] = {"stage": self.stage, "message": self.message, "failureCount": self.failures}
        if self.spec.get("expose"):
            ports = self.spec["expose"].get("ports") or []
            status["exposeUrls"] = [f"https://{self.id}--{port}.hf.jobs" for port in ports]
        if (self.spec.get("ssh") or {}).get("enabled"):
            status["sshUrl"] = f"ssh://{self.id}@ssh.hf.jobs"
        source = {"id": self.initiator_id} if self.initiator_id else who
        return {
            "id": self.id,
            "type": "job",
            "createdAt": iso(self.created),
            "startedAt": iso(self.started) if self.started else None,
            "finishedAt": iso(self.finished) if self.finished else None,
            **answer(self.spec),
            "status": status,
            "durations": {
                "schedulingSecs": int((began - self.created).total_seconds()),
                "runningSecs": int((end - began).total_seconds()) if self.started else 0,
                "totalSecs": int((end - self.created).total_seconds()),
            },
            "owner": {"id": account_id(self.namespace), "name": self.namespace, "type": self.owner_type},
            "createdBy": {**who, "type": "user"},
            "initiator": {**source, "type": self.initiator},
        }

    def record(self) -> dict[str, Any]:
        """What lies on disk: secrets by name only."""
        dates = {"created": self.created, "started": self.started, "finished": self.finished}
        return {
            "id": self.id,
            "namespace": self.namespace,
            "owner_type": self.owner_type,
            "spec": {**self.spec, "secrets": dict.fromkeys(self.spec.get("secrets") or {}, "")},
            "account": self.account,
            "stage": self.stage,
            "message": self.message,
            "failures": self.failures,
            "initiator": self.initiator,
            "initiator_id": self.initiator_id,
            **{name: value.isoformat() if value else None for name, value in dates.items()},
        }


def from_record(record: Mapping[str, Any], folder: Path) -> Job:
    """The Job of a record that an earlier life of the Hub wrote."""
    dates: dict[str, Any] = {
        name: datetime.fromisoformat(record[name]) if record[name] else None for name in ("started", "finished")
    }
    names = ("id", "namespace", "spec", "account", "stage", "message", "failures", "initiator")
    kept: dict[str, Any] = {name: record[name] for name in names}
    return Job(
        **kept,
        **dates,
        folder=folder,
        created=datetime.fromisoformat(record["created"]),
        owner_type=record.get("owner_type", "user"),
        initiator_id=record.get("initiator_id", ""),
        log_closed=True,
    )

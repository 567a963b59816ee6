"""Scheduled Jobs: a spec, a schedule, and a thread that starts a Job when it is time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hf_train.local_hub.accounts import Account, account_id
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.http import iso, now, object_id
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs import cron
from hf_train.local_hub.jobs.job import Job
from hf_train.local_hub.jobs.machine import JobMachine
from hf_train.local_hub.jobs.spec import answer, check_labels
from hf_train.local_hub.state import read_json, write_json

TICK_S = 0.5


@dataclass(slots=True)
class ScheduledJob:
    """One scheduled Job.

    Attributes:
        id: 24 hex digits.
        namespace: Who owns it.
        owner_type: `user` or `org`.
        account: Name of the account that made it; its Jobs are that account's.
        spec: Spec of the Jobs; secrets by name only.
        schedule: As it was written.
        suspend: Whether it is paused.
        concurrency: Whether it may start while its last Job runs.
        created: When it was made.
        due: When it starts next; None while it is paused.
        last_job: Id of the Job that it started last; empty for none.
        last_at: When that was.
        secrets: Values of its secrets, in memory only.
    """

    id: str
    namespace: str
    owner_type: str
    account: str
    spec: dict[str, Any]
    schedule: str
    suspend: bool
    concurrency: bool
    created: datetime
    due: datetime | None = None
    last_job: str = ""
    last_at: datetime | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def info(self) -> dict[str, Any]:
        """ScheduledJobInfo (huggingface_hub 2.4.0 `_jobs_api.py`)."""
        last = {"id": self.last_job, "at": iso(self.last_at)} if self.last_job and self.last_at else None
        return {
            "id": self.id,
            "createdAt": iso(self.created),
            "jobSpec": answer(self.spec),
            "schedule": self.schedule,
            "suspend": self.suspend,
            "concurrency": self.concurrency,
            "status": {"lastJob": last, "nextJobRunAt": iso(self.due) if self.due else None},
            "owner": {"id": account_id(self.namespace), "name": self.namespace, "type": self.owner_type},
        }

    def record(self) -> dict[str, Any]:
        """What lies on disk."""
        names = (
            "id", "namespace", "owner_type", "account", "spec", "schedule", "suspend", "concurrency", "last_job"
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "created": self.created.isoformat(),
            "last_at": self.last_at.isoformat() if self.last_at else None,
        }


class Scheduler:
    """All scheduled Jobs of one Hub.

    Args:
        hub: The Hub.
        machine: What runs their Jobs.
    """

    def __init__(self, hub: HubContext, machine: JobMachine) -> None:
        self._hub = hub
        self._machine = machine
        self._root = hub.data / "scheduled-jobs"
        self._lock = threading.RLock()
        self._all: dict[str, ScheduledJob] = {}
        self._stop = threading.Event()
        self._load()
        self._thread = threading.Thread(target=self._watch, name="scheduled-jobs", daemon=True)
        self._thread.start()

    def create(self, namespace: str, account: Account, body: Mapping[str, Any]) -> ScheduledJob:
        """Check and keep one.

        Raises:
            HubError: 400 for a bad spec or schedule, 403 for a foreign namespace, 404 for a missing volume.
        """
        self._machine.require(namespace, account)
        asked = body.get("jobSpec")
        if not isinstance(asked, dict):
            raise HubError(400, "jobSpec: an object is expected")
        for name in ("ssh", "network"):
            if asked.get(name):
                raise HubError(400, f"jobSpec.{name}: not for scheduled Jobs")
        spec = self._machine.checked(asked)
        secrets = dict(spec.get("secrets") or {})
        one = ScheduledJob(
            id=object_id(),
            namespace=namespace,
            owner_type="org" if namespace in self._hub.settings.orgs else "user",
            account=account.name,
            spec={**spec, "secrets": dict.fromkeys(secrets, "")},
            schedule=_checked(body.get("schedule")),
            suspend=bool(body.get("suspend")),
            concurrency=bool(body.get("concurrency")),
            created=now(),
            secrets=secrets,
        )
        self._keep(one)
        return one

    def get(self, namespace: str, id_: str) -> ScheduledJob:
        """One of a namespace.

        Raises:
            HubError: 404.
        """
        one = self._all.get(id_)
        if one is None or one.namespace != namespace:
            raise HubError(404, "Scheduled Job not found")
        return one

    def list(self, namespace: str, labels: list[str]) -> list[ScheduledJob]:
        """Those of a namespace, newest first; labels are `key=value` and all must hold."""
        wanted = [label.partition("=")[::2] for label in labels]
        with self._lock:
            found = [one for one in self._all.values() if one.namespace == namespace]
        found = [one for one in found if all((one.spec.get("labels") or {}).get(k) == v for k, v in wanted)]
        return sorted(found, key=lambda one: one.created, reverse=True)

    def delete(self, one: ScheduledJob) -> None:
        """Forget it; its Jobs stay."""
        with self._lock:
            self._all.pop(one.id, None)
            self._file(one.id).unlink(missing_ok=True)

    def pause(self, one: ScheduledJob, *, suspend: bool) -> None:
        """Suspend or resume."""
        if not suspend and self._lost(one):
            raise HubError(409, "The local Hub was restarted and does not keep secrets on disk. Make it anew.")
        one.suspend = suspend
        self._keep(one)

    def reschedule(self, one: ScheduledJob, schedule: object) -> None:
        """Another schedule from now on.

        Raises:
            HubError: 400.
        """
        one.schedule = _checked(schedule)
        self._keep(one)

    def relabel(self, one: ScheduledJob, labels: object) -> None:
        """Replace all labels.

        Raises:
            HubError: 400.
        """
        one.spec["labels"] = dict(check_labels(labels))
        self._keep(one)

    def start(self, one: ScheduledJob) -> Job:
        """Start a Job of it now; the schedule stays as it is.

        Raises:
            HubError: 409 while one runs and concurrency is off, or when its secrets are lost.
        """
        with self._lock:
            if not one.concurrency and self._runs(one):
                raise HubError(409, "Another instance of this scheduled Job is already running")
            if self._lost(one):
                raise HubError(409, "The local Hub was restarted and does not keep secrets on disk. Make it anew.")
            account = Account(name=one.account, orgs=self._hub.settings.orgs)
            spec = {**one.spec, "secrets": dict(one.secrets)}
            job = self._machine.submit(one.namespace, account, spec, initiator="scheduled-job", initiator_id=one.id)
            one.last_job, one.last_at = job.id, job.created
            self._save(one)
        return job

    def close(self) -> None:
        """Start no more."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(TICK_S):
            self.tick(now())

    def tick(self, moment: datetime) -> None:
        """Start what is due. One that cannot start now waits for its next time."""
        with self._lock:
            due = [one for one in self._all.values() if one.due and one.due <= moment]
        for one in due:
            one.due = cron.parse(one.schedule).after(moment)
            with contextlib.suppress(HubError):
                self.start(one)

    def _runs(self, one: ScheduledJob) -> bool:
        try:
            return not self._machine.get(one.namespace, one.last_job).ended
        except HubError:
            return False

    def _lost(self, one: ScheduledJob) -> bool:
        return set(one.spec.get("secrets") or {}) != set(one.secrets)

    def _file(self, id_: str) -> Path:
        return self._root / f"{id_}.json"

    def _keep(self, one: ScheduledJob) -> None:
        one.due = None if one.suspend else cron.parse(one.schedule).after(now())
        self._save(one)

    def _save(self, one: ScheduledJob) -> None:
        with self._lock:
            self._all[one.id] = one
            write_json(self._file(one.id), one.record())

    def _load(self) -> None:
        """Those of an earlier life of this data folder; the ones whose secrets are lost are suspended."""
        for path in sorted(self._root.glob("*.json")):
            record = read_json(path)
            created, last_at = record.pop("created"), record.pop("last_at")
            one = ScheduledJob(
                **record,
                created=datetime.fromisoformat(created),
                last_at=datetime.fromisoformat(last_at) if last_at else None,
            )
            one.suspend = one.suspend or self._lost(one)
            self._keep(one)


def _checked(schedule: object) -> str:
    try:
        cron.parse(str(schedule or ""))
    except ValueError as error:
        raise HubError(400, f"schedule: {error}") from error
    return str(schedule)

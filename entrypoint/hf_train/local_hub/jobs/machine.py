"""The Job machine: SCHEDULING -> RUNNING -> COMPLETED, ERROR or CANCELED, one thread per living Job.

Wordings (`Job timeout`, `Job failed with exit code: N. Reason: ...`): hub-docs `jobs-manage` and the messages that
huggingface_hub's own fixtures hold.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hf_train.local_hub.accounts import Account, account_id
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.executors.base import Ended, Executor, Mount, Task
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.http import iso, now, object_id
from hf_train.local_hub.hub import HubContext, VolumeSource
from hf_train.local_hub.jobs.hardware import HARDWARE
from hf_train.local_hub.jobs.log import JobLog
from hf_train.local_hub.jobs.spec import answer, check_labels, checked
from hf_train.local_hub.state import read_json, write_json

TERMINAL = frozenset({"COMPLETED", "ERROR", "CANCELED", "DELETED"})
SETTLE_S = 0.2
"""How long the stage stays RUNNING after the last line; on the Hub it is about a second."""
_log = logging.getLogger("hf_train.local_hub")


@dataclass(slots=True)
class Job:
    """One Job, as it is kept. Values of secrets live only here in memory, and only until it ends."""

    id: str
    namespace: str
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
    stop: threading.Event = field(default_factory=threading.Event)
    stop_reason: str = ""
    secrets: dict[str, str] = field(default_factory=dict)
    log: JobLog | None = None

    @property
    def log_path(self) -> Path:
        """File of its log."""
        return self.folder / "log.sse"

    def info(self) -> dict[str, Any]:
        """JobInfo (huggingface_hub 2.4.0 `_jobs_api.py`); durations are counted anew at each look."""
        end = self.finished or now()
        began = self.started or end
        who = {"id": account_id(self.account), "name": self.account}
        info = {
            "id": self.id,
            "type": "job",
            "createdAt": iso(self.created),
            "startedAt": iso(self.started) if self.started else None,
            "finishedAt": iso(self.finished) if self.finished else None,
            **answer(self.spec),
            "status": {"stage": self.stage, "message": self.message, "failureCount": self.failures},
            "durations": {
                "schedulingSecs": int((began - self.created).total_seconds()),
                "runningSecs": int((end - began).total_seconds()) if self.started else 0,
                "totalSecs": int((end - self.created).total_seconds()),
            },
            "owner": {"id": account_id(self.namespace), "name": self.namespace, "type": "user"},
            "createdBy": {**who, "type": "user"},
            "initiator": {**who, "type": self.initiator},
        }
        if self.spec.get("expose"):
            ports = self.spec["expose"].get("ports") or []
            info["status"]["exposeUrls"] = [f"https://{self.id}--{port}.hf.jobs" for port in ports]
        if (self.spec.get("ssh") or {}).get("enabled"):
            info["status"]["sshUrl"] = f"ssh://{self.id}@ssh.hf.jobs"
        return info

    def record(self) -> dict[str, Any]:
        """What lies on disk: secrets by name only."""
        spec = {**self.spec, "secrets": dict.fromkeys(self.spec.get("secrets") or {}, "")}
        dates = {name: iso(value) if value else None for name, value in self._dates().items()}
        return {
            "id": self.id,
            "namespace": self.namespace,
            "spec": spec,
            "account": self.account,
            "stage": self.stage,
            "message": self.message,
            "failures": self.failures,
            "initiator": self.initiator,
            **dates,
        }

    def _dates(self) -> dict[str, datetime | None]:
        return {"created": self.created, "started": self.started, "finished": self.finished}


class JobMachine:
    """All Jobs of one Hub.

    Args:
        hub: The Hub.
        volumes: Where volumes come from.
        executor: What runs them.
        faults: What goes wrong on purpose.
    """

    def __init__(self, hub: HubContext, volumes: VolumeSource, executor: Executor, faults: Faults) -> None:
        self._hub = hub
        self._volumes = volumes
        self._executor = executor
        self._faults = faults
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._threads: list[threading.Thread] = []
        self._root = hub.data / "jobs"
        self._load()

    def submit(self, namespace: str, account: Account, body: Mapping[str, Any], *, initiator: str = "user") -> Job:
        """Check and start a Job.

        Raises:
            HubError: 400 for a bad spec, 403 for a foreign namespace, 404 for a missing volume.
        """
        if not account.may_write(namespace):
            raise HubError(
                403,
                "You don't have the required permissions to complete this action on namespace "
                f"{namespace}, missing permissions: job.write.",
            )
        spec = checked(body)
        for volume in spec.get("volumes") or []:
            self._source(volume)
        job_id = object_id()
        folder = self._root / job_id
        folder.mkdir(parents=True)
        job = Job(
            id=job_id, namespace=namespace, spec=spec, account=account.name, folder=folder,
            created=now(), initiator=initiator, secrets=dict(spec.get("secrets") or {}),
        )  # fmt: skip
        job.spec = {**spec, "secrets": dict.fromkeys(job.secrets, "")}
        job.log = JobLog(job.log_path)
        self._keep(job)
        thread = threading.Thread(target=self._live, args=(job,), name=f"job-{job_id}", daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()
        return job

    def get(self, namespace: str, job_id: str) -> Job:
        """A Job of this namespace.

        Raises:
            HubError: 404.
        """
        job = self._jobs.get(job_id)
        if job is None or job.namespace != namespace or job.stage == "DELETED":
            raise HubError(404, "Job not found")
        return job

    def list(self, namespace: str, stages: Sequence[str], labels: Sequence[str]) -> list[Job]:
        """Jobs of a namespace, newest first; labels are `key=value` and all must hold."""
        wanted = [label.partition("=")[::2] for label in labels]
        with self._lock:
            found = [job for job in self._jobs.values() if job.namespace == namespace and job.stage != "DELETED"]
        found = [job for job in found if not stages or job.stage in stages]
        found = [job for job in found if all((job.spec.get("labels") or {}).get(k) == v for k, v in wanted)]
        return sorted(found, key=lambda job: job.created, reverse=True)

    def cancel(self, job: Job) -> None:
        """Cancel; an ended Job stays as it is."""
        with self._lock:
            if job.stage in TERMINAL:
                return
            job.stop_reason = job.stop_reason or "cancel"
            job.stop.set()
            # The stage changes at once, as on the Hub; the processes follow within the grace period.
            self._end(job, "CANCELED", None)

    def relabel(self, job: Job, labels: object) -> None:
        """Replace all labels."""
        job.spec["labels"] = dict(check_labels(labels))
        self._keep(job)

    def change(self, job: Job, name: str, value: object) -> None:
        """Change one key of the spec (the exposed ports)."""
        job.spec[name] = value
        self._keep(job)

    def close(self) -> None:
        """Stop every Job, with all that it started."""
        for job in list(self._jobs.values()):
            if job.stage not in TERMINAL:
                job.stop_reason = "shutdown"
                job.stop.set()
        for thread in self._threads:
            thread.join(timeout=5.0)

    def _live(self, job: Job) -> None:
        try:
            self._schedule(job)
            if not job.stop.is_set():
                self._attempts(job)
        except Exception as error:  # noqa: BLE001  (a bug here must end the Job, not leave it running)
            _log.exception("Job %s", job.id)
            self._end(job, "ERROR", f"Internal error of the local Hub: {error}")
        finally:
            if job.log:
                job.log.close()
            job.secrets.clear()
            with suppress(OSError):
                shutil.rmtree(job.folder / "work", ignore_errors=True)
            if job.stage not in TERMINAL:
                self._end(job, "ERROR", "The local Hub was stopped while the Job ran")

    def _schedule(self, job: Job) -> None:
        seconds = self._faults.number("schedule-seconds", self._hub.settings.schedule_seconds)
        job.message = self._faults.text("schedule-message") or None
        job.stop.wait(seconds)
        job.message = None

    def _attempts(self, job: Job) -> None:
        ended: Ended | None = None
        for attempt in range(int(job.spec.get("attempts", 1))):
            with self._lock:
                if job.stage in TERMINAL:
                    return
                job.started = job.started or now()
                job.stage = "RUNNING"
                self._keep(job)
            ended = self._run(job, attempt)
            if job.stop.is_set() or (ended.exit_code == 0 and not ended.message):
                break
            job.failures += 1
        if ended is not None and job.stop_reason != "shutdown":
            self._settle(job, ended)

    def _run(self, job: Job, attempt: int) -> Ended:
        if job.log is None:
            return Ended(exit_code=1, message="The log is closed")
        job.log.mark_start()
        folder = job.folder / "work" / str(attempt)
        folder.mkdir(parents=True)
        timer = threading.Timer(job.spec.get("timeoutSeconds", 1800), self._time_out, args=(job,))
        timer.daemon = True
        timer.start()
        try:
            ended = self._executor.run(self._task(job, folder), job.log.feed, job.stop)
        finally:
            timer.cancel()
        job.log.flush()
        return ended

    def _settle(self, job: Job, ended: Ended) -> None:
        threading.Event().wait(SETTLE_S)
        stage, message = self._verdict(job, ended)
        self._end(job, self._faults.text("final") or stage, self._faults.text("message") or message)

    def _verdict(self, job: Job, ended: Ended) -> tuple[str, str | None]:
        if job.stop_reason == "timeout":
            return "ERROR", "Job timeout"
        if ended.message:
            return "ERROR", ended.message
        if ended.exit_code == 0:
            return "COMPLETED", None
        reason = "OOMKilled" if ended.oom or ended.exit_code == 137 else "Error"
        return "ERROR", f"Job failed with exit code: {ended.exit_code}. Reason: {reason}"

    def _time_out(self, job: Job) -> None:
        job.stop_reason = job.stop_reason or "timeout"
        job.stop.set()

    def _task(self, job: Job, folder: Path) -> Task:
        hardware = HARDWARE[job.spec["flavor"]]
        env = {
            **(job.spec.get("environment") or {}),
            **job.secrets,
            "JOB_ID": job.id,
            "ACCELERATOR": job.spec["flavor"] if hardware.gpu else "none",
            "CPU_CORES": str(hardware.cpus),
            "MEMORY": f"{hardware.ram_gb}Gi",
            "HF_ENDPOINT": self._hub.endpoint,
        }
        mounts = tuple(
            Mount(
                source=self._source(volume),
                target=volume["mountPath"],
                read_only=bool(volume.get("readOnly")) or volume["type"] != "bucket",
            )
            for volume in job.spec.get("volumes") or []
        )
        return Task(
            job_id=job.id,
            image=str(job.spec.get("dockerImage") or f"hf.co/spaces/{job.spec.get('spaceId')}"),
            command=(*job.spec["command"], *(job.spec.get("arguments") or [])),
            env=env,
            mounts=mounts,
            folder=folder,
            hardware=hardware,
            network=job.spec.get("network") or {},
        )

    def _source(self, volume: Mapping[str, Any]) -> Path:
        source, path = volume["source"], volume.get("path") or ""
        try:
            if volume["type"] == "bucket":
                return self._volumes.bucket_folder(source, path)
            return self._volumes.repo_folder(volume["type"], source, volume.get("revision"), path)
        except KeyError as error:
            raise HubError(404, f"Volume source not found: {volume['type']} {source}", "RepoNotFound") from error

    def _end(self, job: Job, stage: str, message: str | None) -> None:
        with self._lock:
            if job.stage in TERMINAL:
                return
            job.stage, job.message, job.finished = stage, message, now()
            self._keep(job)

    def _keep(self, job: Job) -> None:
        with self._lock:
            self._jobs[job.id] = job
            write_json(job.folder / "job.json", job.record())

    def _load(self) -> None:
        """Jobs of an earlier life of this data folder. One that ran when the Hub died has failed."""
        for path in sorted(self._root.glob("*/job.json")):
            record = read_json(path)
            dates = {n: datetime.fromisoformat(record[n]) if record[n] else None for n in ("started", "finished")}
            job = Job(
                id=record["id"], namespace=record["namespace"], spec=record["spec"], account=record["account"],
                folder=path.parent, created=datetime.fromisoformat(record["created"]), stage=record["stage"],
                message=record["message"], failures=record["failures"], initiator=record["initiator"],
                started=dates["started"], finished=dates["finished"],
            )  # fmt: skip
            self._jobs[job.id] = job
            job.log_path.touch()
            if job.stage not in TERMINAL:
                self._end(job, "ERROR", "The local Hub was stopped while the Job ran")

"""The Job machine: SCHEDULING -> RUNNING -> COMPLETED, ERROR or CANCELED, one thread per living Job.

Wordings (`Job timeout`, `Job failed with exit code: N. Reason: ...`): hub-docs `jobs-manage` and the messages that
huggingface_hub's own fixtures hold.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from hf_train.local_hub.accounts import Account
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.executors.base import Ended, Executor, Usage
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.http import now, object_id
from hf_train.local_hub.hub import HubContext, VolumeSource
from hf_train.local_hub.jobs.job import Job, from_record
from hf_train.local_hub.jobs.log import JobLog, mend
from hf_train.local_hub.jobs.spec import DEFAULT_TIMEOUT_S, check_expose, check_labels, checked
from hf_train.local_hub.jobs.tasks import Tasks
from hf_train.local_hub.state import read_json, write_json

SETTLE_S = 0.2
"""How long the stage stays RUNNING after the last line; on the Hub it is about a second."""
STOP_GRACE_S = 0.3
"""How long commands have between SIGTERM and SIGKILL when the Hub itself stops, seconds."""
CLOSE_S = 1.5
LOST = "The local Hub was stopped while the Job ran"


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
        self._tasks = Tasks(hub, volumes, faults)
        self._executor = executor
        self._faults = faults
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._root = hub.data / "jobs"
        self._closing = threading.Event()
        self._load()

    def submit(
        self,
        namespace: str,
        account: Account,
        body: Mapping[str, Any],
        *,
        initiator: str = "user",
        initiator_id: str = "",
    ) -> Job:
        """Check and start a Job.

        Raises:
            HubError: 400 for a bad spec, 403 for a foreign namespace, 404 for a missing volume, 503 when the Hub stops.
        """
        self.require(namespace, account)
        spec = self.checked(body)
        if self._closing.is_set():
            raise HubError(503, "The local Hub stops")
        job_id = object_id()
        folder = self._root / job_id
        folder.mkdir(parents=True)
        secrets = dict(spec.get("secrets") or {})
        job = Job(
            id=job_id,
            namespace=namespace,
            owner_type="org" if namespace in self._hub.settings.orgs else "user",
            spec={**spec, "secrets": dict.fromkeys(secrets, "")},
            account=account.name,
            folder=folder,
            created=now(),
            initiator=initiator,
            initiator_id=initiator_id,
            secrets=secrets,
        )
        job.log = JobLog(job.log_path)
        job.thread = threading.Thread(target=self._live, args=(job,), name=f"job-{job_id}", daemon=True)
        with self._lock:
            self._keep(job)
            job.thread.start()
            if self._closing.is_set():
                job.stop.set()
        return job

    def require(self, namespace: str, account: Account) -> None:
        """Pass when the account may start and manage Jobs in the namespace.

        Raises:
            HubError: 403, in the Hub's words.
        """
        if not account.may_run(namespace):
            raise HubError(
                403,
                "You don't have the required permissions to complete this action on namespace "
                f"{namespace}, missing permissions: job.write.",
            )

    def checked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The spec, its volumes found.

        Raises:
            HubError: 400 for a bad spec, 404 for a missing volume.
        """
        spec = checked(body)
        for volume in spec["volumes"]:
            self._tasks.source(volume)
        return spec

    def get(self, namespace: str, job_id: str) -> Job:
        """A Job of this namespace.

        Raises:
            HubError: 404.
        """
        job = self._jobs.get(job_id)
        if job is None or job.namespace != namespace:
            raise HubError(404, "Job not found")
        return job

    def all(self) -> list[Job]:
        """Every Job, newest first."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: job.created, reverse=True)

    def list(self, namespace: str, stages: Sequence[str], labels: Sequence[str]) -> list[Job]:
        """Jobs of a namespace, newest first; labels are `key=value` and all must hold."""
        wanted = [label.partition("=")[::2] for label in labels]
        late = self._faults.number("listed-after", 0)
        found = [job for job in self.all() if job.namespace == namespace and (not stages or job.stage in stages)]
        if late:
            found = [job for job in found if (now() - job.created).total_seconds() >= late]
        return [job for job in found if all((job.spec.get("labels") or {}).get(k) == v for k, v in wanted)]

    def cancel(self, job: Job) -> None:
        """Cancel; an ended Job stays as it is."""
        with self._lock:
            if job.ended:
                return
            job.stop_reason = "cancel"
            # The stage changes at once, as on the Hub; the processes follow within the grace period.
            self._end(job, "CANCELED", None)
        job.stop.set()

    def relabel(self, job: Job, labels: object) -> None:
        """Replace all labels."""
        with self._lock:
            job.spec["labels"] = dict(check_labels(labels))
            self._keep(job)

    def expose(self, job: Job, ports: object) -> None:
        """Replace the exposed ports."""
        with self._lock:
            job.spec["expose"] = dict(check_expose(ports))
            self._keep(job)

    def usage(self, job: Job) -> Usage:
        """What it uses now."""
        return self._executor.usage(job.id)

    def begin_close(self) -> None:
        """Tell every Job to end, and every stream; does not wait."""
        with self._lock:
            self._closing.set()
            jobs = list(self._jobs.values())
        for job in jobs:
            job.hub_ends = True
            job.stop.grace_s = STOP_GRACE_S
            if not job.ended:
                job.stop_reason = job.stop_reason or "shutdown"
                job.stop.set()

    def close(self) -> None:
        """Stop every Job, with all that it started."""
        self.begin_close()
        until = time.monotonic() + CLOSE_S
        for job in self.all():
            if job.thread is not None:
                job.thread.join(timeout=max(0.0, until - time.monotonic()))

    def _live(self, job: Job) -> None:
        try:
            self._schedule(job)
            if not job.stop.is_set():
                self._attempts(job)
        except HubError as error:
            self._end(job, "ERROR", error.message)
        except Exception as error:  # noqa: BLE001  (a bug here must end the Job, not leave it running)
            print(f"Job {job.id}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            self._end(job, "ERROR", f"Internal error of the local Hub: {error}")
        finally:
            if job.log:
                job.log.close()
            self._end(job, "ERROR", LOST)
            job.log_closed = True
            shutil.rmtree(job.folder / "work", ignore_errors=True)

    def _schedule(self, job: Job) -> None:
        seconds = self._faults.number("schedule-seconds", self._hub.settings.schedule_seconds)
        job.message = self._faults.text("schedule-message") or None
        job.stop.wait(seconds)
        job.message = None

    def _attempts(self, job: Job) -> None:
        ended: Ended | None = None
        for attempt in range(int(job.spec.get("attempts", 1))):
            with self._lock:
                if job.ended:
                    return
                job.started = job.started or now()
                job.stage = "RUNNING"
                self._keep(job)
            ended = self._run(job, attempt)
            if job.stop.is_set() or (ended.exit_code == 0 and not ended.message):
                break
            job.failures += 1
        if ended is not None and job.stop_reason != "shutdown":
            time.sleep(SETTLE_S)
            stage, message = verdict(ended, timed_out=job.stop_reason == "timeout")
            self._end(job, self._faults.text("final") or stage, self._faults.text("message") or message)

    def _run(self, job: Job, attempt: int) -> Ended:
        if job.log is None:
            return Ended(exit_code=1, message="The log is closed")
        job.log.mark_start()
        folder = job.folder / "work" / str(attempt)
        folder.mkdir(parents=True)
        timer = threading.Timer(job.spec.get("timeoutSeconds", DEFAULT_TIMEOUT_S), _time_out, args=(job,))
        timer.daemon = True
        timer.start()
        try:
            ended = self._executor.run(self._tasks.task(job, folder), job.log.feed, job.stop)
        finally:
            timer.cancel()
        job.log.flush()
        return ended

    def _end(self, job: Job, stage: str, message: str | None) -> None:
        with self._lock:
            if job.ended:
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
            job = from_record(read_json(path), path.parent)
            self._jobs[job.id] = job
            mend(job.log_path)
            shutil.rmtree(job.folder / "work", ignore_errors=True)
            self._end(job, "ERROR", LOST)


def verdict(ended: Ended, *, timed_out: bool) -> tuple[str, str | None]:
    """Stage and message for the end of a Job's last attempt, in the Hub's words."""
    if timed_out:
        return "ERROR", "Job timeout"
    if ended.message:
        return "ERROR", ended.message
    if ended.exit_code == 0:
        return "COMPLETED", None
    reason = "OOMKilled" if ended.oom else "Error"
    return "ERROR", f"Job failed with exit code: {ended.exit_code}. Reason: {reason}"


def _time_out(job: Job) -> None:
    job.stop_reason = job.stop_reason or "timeout"
    job.stop.set()

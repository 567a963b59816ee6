"""The life of Jobs and of scheduled Jobs, with an executor that runs nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hf_train.local_hub.accounts import Account
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.executors.base import Ended, Stop, Task, Usage
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs.job import Job
from hf_train.local_hub.jobs.machine import JobMachine, verdict
from hf_train.local_hub.jobs.scheduled import Scheduler
from hf_train.local_hub.settings import HubSettings

ANN = Account(name="ann")
SPEC: dict[str, Any] = {"command": ["train"], "dockerImage": "i"}


class Puppet:
    """Ends when it is told to."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.results: list[Ended] = []
        self.hold = threading.Event()
        self.hold.set()

    def run(self, task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
        self.tasks.append(task)
        emit(b"hello\n")
        while not self.hold.wait(0.01):
            if stop.is_set():
                return Ended(exit_code=143)
        return self.results.pop(0) if self.results else Ended(exit_code=0)

    def usage(self, job_id: str) -> Usage:
        del job_id
        return Usage()


class Volumes:
    def __init__(self, root: Path) -> None:
        self.root = root

    def bucket_folder(self, bucket_id: str, path: str) -> Path:
        if bucket_id != "ann/b":
            raise KeyError(bucket_id)
        return self.root / path

    def repo_folder(self, repo_type: str, repo_id: str, revision: str | None, path: str) -> Path:
        return self.root / repo_type / repo_id / (revision or "main") / path


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
def hub(tmp_path: Path) -> HubContext:
    settings = HubSettings(data=tmp_path, user="ann", orgs=("lab",), schedule_seconds=0)
    return HubContext(settings=settings, endpoint="http://127.0.0.1:1", data=tmp_path)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def machine(hub: HubContext, puppet: Puppet, faults: Faults) -> JobMachine:
    return JobMachine(hub, Volumes(hub.data), puppet, faults)


def ended(job: Job) -> Job:
    assert job.thread is not None
    job.thread.join(5)
    assert not job.thread.is_alive()
    return job


def test_a_life(machine: JobMachine, puppet: Puppet, hub: HubContext) -> None:
    volumes = [
        {"type": "bucket", "source": "ann/b", "path": "p", "mountPath": "/rw"},
        {"type": "bucket", "source": "ann/b", "mountPath": "/ro", "readOnly": True},
        {"type": "model", "source": "ann/m", "mountPath": "/m", "readOnly": False, "revision": "v1"},
    ]
    job = ended(machine.submit("ann", ANN, {**SPEC, "arguments": ["--x"], "volumes": volumes, "secrets": {"S": "v"}}))
    (task,) = puppet.tasks
    assert task.command == ("train", "--x")
    assert [(mount.target, mount.read_only) for mount in task.mounts] == [("/rw", False), ("/ro", True), ("/m", True)]
    assert task.mounts[2].source == hub.data / "model/ann/m/v1"
    assert (task.env["S"], task.env["HF_ENDPOINT"], task.memory_bytes) == ("v", hub.endpoint, 16 << 30)
    info = job.info()
    assert (info["status"]["stage"], info["secrets"], info["owner"]["type"]) == ("COMPLETED", ["S"], "user")
    assert "hello" in job.log_path.read_text()
    assert not (job.folder / "work").exists()
    again = JobMachine(hub, Volumes(hub.data), puppet, Faults())
    assert again.get("ann", job.id).info() == info
    assert again.get("ann", job.id).lost_secrets == ["S"]


@pytest.mark.parametrize(
    ("end", "timed_out", "expected"),
    [
        (Ended(exit_code=0), False, ("COMPLETED", None)),
        (Ended(exit_code=2), False, ("ERROR", "Job failed with exit code: 2. Reason: Error")),
        (Ended(exit_code=137, oom=True), False, ("ERROR", "Job failed with exit code: 137. Reason: OOMKilled")),
        (Ended(exit_code=143), True, ("ERROR", "Job timeout")),
        (Ended(exit_code=1, message="Failed to pull image x"), False, ("ERROR", "Failed to pull image x")),
    ],
)
def test_words(end: Ended, timed_out: bool, expected: tuple[str, str | None]) -> None:
    assert verdict(end, timed_out=timed_out) == expected


def test_attempts(machine: JobMachine, puppet: Puppet) -> None:
    puppet.results = [Ended(exit_code=1), Ended(exit_code=1)]
    job = ended(machine.submit("ann", ANN, {**SPEC, "attempts": 3}))
    assert (job.stage, job.failures, len(puppet.tasks)) == ("COMPLETED", 2, 3)
    assert job.log_path.read_text().count("===== Job started at ") == 3


def test_cancel_is_at_once_and_final(machine: JobMachine, puppet: Puppet) -> None:
    puppet.hold.clear()
    job = machine.submit("ann", ANN, SPEC)
    machine.cancel(job)
    assert job.stage == "CANCELED"
    machine.cancel(ended(job))
    assert (job.stage, job.message) == ("CANCELED", None)


def test_closing(machine: JobMachine, puppet: Puppet) -> None:
    puppet.hold.clear()
    job = machine.submit("ann", ANN, SPEC)
    machine.close()
    assert (job.stage, job.message, job.hub_ends) == ("ERROR", "The local Hub was stopped while the Job ran", True)
    with pytest.raises(HubError) as caught:
        machine.submit("ann", ANN, SPEC)
    assert caught.value.status == 503


def test_refusals(machine: JobMachine) -> None:
    wrong = {**SPEC, "volumes": [{"type": "bucket", "source": "ann/none", "mountPath": "/x"}]}
    for namespace, body, status in (("bob", SPEC, 403), ("ann", wrong, 404), ("ann", {}, 400)):
        with pytest.raises(HubError) as caught:
            machine.submit(namespace, ANN, body)
        assert caught.value.status == status
    assert machine.all() == []


def test_lists(machine: JobMachine, faults: Faults) -> None:
    one = ended(machine.submit("ann", ANN, {**SPEC, "labels": {"a": "1", "b": "2"}}))
    two = ended(machine.submit("ann", ANN, {**SPEC, "labels": {"a": "1"}}))
    assert machine.list("ann", [], ["a=1"]) == [two, one]
    assert machine.list("ann", [], ["a=1", "b=2"]) == [one]
    assert machine.list("ann", ["RUNNING"], []) == []
    assert machine.list("bob", [], []) == []
    faults.add("jobs listed-after=60")
    assert machine.list("ann", [], []) == []


@pytest.fixture
def scheduler(hub: HubContext, machine: JobMachine) -> Scheduler:
    made = Scheduler(hub, machine)
    made.close()  # no thread: the tests tell the time
    return made


def scheduled(scheduler: Scheduler, **more: object) -> Any:
    return scheduler.create("ann", ANN, {"jobSpec": SPEC, "schedule": "@hourly", **more})


FAR = datetime(2100, 1, 1, 0, 30, tzinfo=UTC)


def test_a_scheduled_job_starts_when_it_is_due(scheduler: Scheduler, machine: JobMachine) -> None:
    one = scheduled(scheduler)
    assert one.due is not None
    scheduler.tick(one.created)
    assert machine.all() == [], "not yet"
    scheduler.tick(FAR)
    (job,) = machine.all()
    assert (job.initiator, job.initiator_id, one.last_job) == ("scheduled-job", one.id, job.id)
    assert one.due == FAR.replace(hour=1, minute=0)
    scheduler.tick(FAR)
    assert len(machine.all()) == 1


def test_concurrency(scheduler: Scheduler, machine: JobMachine, puppet: Puppet) -> None:
    puppet.hold.clear()
    one, many = scheduled(scheduler), scheduled(scheduler, concurrency=True)
    for each in (one, many):
        scheduler.start(each)
    with pytest.raises(HubError) as caught:
        scheduler.start(one)
    assert caught.value.status == 409
    scheduler.start(many)
    scheduler.tick(FAR)
    assert len(machine.all()) == 4, "the one that runs is left out this time"
    machine.close()


def test_suspended_and_deleted(scheduler: Scheduler, machine: JobMachine, hub: HubContext) -> None:
    one = scheduled(scheduler, suspend=True)
    scheduler.tick(FAR)
    assert (one.due, machine.all()) == (None, [])
    scheduler.pause(one, suspend=False)
    assert one.due is not None
    assert Scheduler(hub, machine).get("ann", one.id).info() == one.info()
    scheduler.delete(one)
    with pytest.raises(HubError):
        scheduler.get("ann", one.id)


@pytest.mark.parametrize(
    "more", [{"jobSpec": None}, {"schedule": "x"}, {"jobSpec": {**SPEC, "ssh": {"enabled": True}}}]
)
def test_bad_scheduled_jobs(scheduler: Scheduler, more: dict[str, object]) -> None:
    with pytest.raises(HubError) as caught:
        scheduled(scheduler, **more)
    assert caught.value.status == 400

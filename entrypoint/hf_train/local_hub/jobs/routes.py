"""The Jobs API. Paths and shapes: huggingface_hub 2.4.0 `hf_api.py` (`run_job` ... `update_job_labels`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_account
from hf_train.local_hub.accounts import Accounts
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs.hardware import HARDWARE
from hf_train.local_hub.jobs.machine import TERMINAL, Job, JobMachine
from hf_train.local_hub.jobs.stream import log_stream

PAGE = 100
_JOB = r"/api/jobs/(?P<namespace>[^/]+)/(?P<id>[^/]+)"


class JobRoutes:
    """Routes of Jobs.

    Args:
        hub: The Hub.
        accounts: Who asks.
        machine: The Jobs.
        faults: What goes wrong on purpose in streams and stages.
    """

    def __init__(self, hub: HubContext, accounts: Accounts, machine: JobMachine, faults: Faults) -> None:
        self._hub = hub
        self._accounts = accounts
        self._machine = machine
        self._faults = faults

    def routes(self) -> list[BaseRoute]:
        """All of them; the public hardware list first, for its path looks like a namespace."""
        return [
            CallRoute(["GET"], r"/api/jobs/hardware", self.hardware),
            CallRoute(["POST"], r"/api/jobs/(?P<namespace>[^/]+)", self.submit),
            CallRoute(["GET"], r"/api/jobs/(?P<namespace>[^/]+)", self.list),
            CallRoute(["GET"], _JOB, self.inspect),
            CallRoute(["GET"], f"{_JOB}/logs", self.logs),
            CallRoute(["GET"], f"{_JOB}/metrics", self.metrics),
            CallRoute(["GET"], f"{_JOB}/events", self.events),
            CallRoute(["POST"], f"{_JOB}/cancel", self.cancel),
            CallRoute(["POST"], f"{_JOB}/duplicate", self.duplicate),
            CallRoute(["PUT"], f"{_JOB}/labels", self.labels),
            CallRoute(["PUT"], f"{_JOB}/expose", self.expose),
        ]

    def hardware(self, call: Call) -> Response:
        """Flavors and prices; public."""
        del call
        return JSONResponse([one.as_json() for one in HARDWARE.values()])

    def submit(self, call: Call) -> Response:
        """Start a Job."""
        account = require_account(self._accounts, call)
        return JSONResponse(self._info(self._machine.submit(call.params["namespace"], account, call.json())))

    def list(self, call: Call) -> Response:
        """Jobs of a namespace, a page at a time."""
        self._visible(call)
        query = call.request.query_params
        jobs = self._machine.list(call.params["namespace"], query.getlist("stage"), query.getlist("label"))
        skip = call.number("skip", 0, low=0, high=1_000_000)
        page = jobs[skip : skip + PAGE]
        more = len(jobs) > skip + PAGE
        headers = call.next_link(self._hub.endpoint, skip=skip + PAGE) if more else {}
        return JSONResponse([self._info(job) for job in page], headers=headers)

    def inspect(self, call: Call) -> Response:
        """One Job."""
        return JSONResponse(self._info(self._job(call)))

    def logs(self, call: Call) -> Response:
        """The log as server-sent events."""
        job = self._job(call)
        tail = call.number("tail", -1, low=0, high=10_000_000)
        stream = log_stream(job, None if tail < 0 else tail, self._faults.stream())
        return _events(stream)

    def metrics(self, call: Call) -> Response:
        """CPU and memory of a running Job, once a second."""
        job = self._job(call)
        if job.stage != "RUNNING":
            raise HubError(406, "Job is not running")
        return _events(_metrics(job))

    def events(self, call: Call) -> Response:
        """Changes of the Job's state."""
        return _events(_states(self._job(call)))

    def cancel(self, call: Call) -> Response:
        """Cancel; an ended Job stays as it is."""
        job = self._job(call, write=True)
        self._machine.cancel(job)
        return JSONResponse(self._info(job))

    def duplicate(self, call: Call) -> Response:
        """Run the same spec again. Secrets are gone with the first run, so one that had any cannot be run again."""
        job = self._job(call, write=True)
        account = require_account(self._accounts, call)
        secrets = job.secrets or job.spec.get("secrets") or {}
        spec = {**job.spec, "secrets": dict(secrets)}
        new = self._machine.submit(job.namespace, account, spec, initiator="duplicated-job")
        return JSONResponse(self._info(new))

    def labels(self, call: Call) -> Response:
        """Replace the labels."""
        job = self._job(call, write=True)
        self._machine.relabel(job, call.json().get("labels"))
        return JSONResponse(self._info(job))

    def expose(self, call: Call) -> Response:
        """Change the exposed ports."""
        job = self._job(call, write=True)
        self._machine.change(job, "expose", call.json())
        return JSONResponse(self._info(job))

    def _job(self, call: Call, *, write: bool = False) -> Job:
        self._visible(call, write=write)
        return self._machine.get(call.params["namespace"], call.params["id"])

    def _visible(self, call: Call, *, write: bool = False) -> None:
        account = require_account(self._accounts, call)
        namespace = call.params["namespace"]
        if write and not account.may_write(namespace):
            raise HubError(403, f"You don't have the required permissions on namespace {namespace}: job.write.")
        if not account.sees(namespace):
            raise HubError(404, "Not found")

    def _info(self, job: Job) -> dict[str, Any]:
        info = job.info()
        if (stage := self._faults.text("stage")) and job.stage not in TERMINAL:
            info["status"]["stage"] = stage
        return info


def _events(stream: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


async def _metrics(job: Job) -> AsyncIterator[bytes]:
    while job.stage == "RUNNING":
        sample = {
            "cpu_usage_pct": 0,
            "cpu_millicores": 0,
            "memory_used_bytes": 0,
            "memory_total_bytes": HARDWARE[job.spec["flavor"]].ram_gb << 30,
            "rx_bps": 0,
            "tx_bps": 0,
            "gpus": {},
            "replica": job.id[:5],
        }
        yield f"event: metric\ndata: {json.dumps(sample)}\n\n".encode()
        await asyncio.sleep(1)


async def _states(job: Job) -> AsyncIterator[bytes]:
    last = ""
    while True:
        if job.stage != last:
            last = job.stage
            yield f"data: {json.dumps(job.info())}\n\n".encode()
        if last in TERMINAL:
            return
        await asyncio.sleep(0.1)

"""The Jobs API. Paths and shapes: huggingface_hub 2.4.0 `hf_api.py` (`run_job` ... `update_job_labels`)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from hf_train.local_hub import transport
from hf_train.local_hub.access import require_account
from hf_train.local_hub.accounts import Accounts
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.executors.base import Usage
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs.hardware import HARDWARE, Hardware
from hf_train.local_hub.jobs.job import Job
from hf_train.local_hub.jobs.machine import JobMachine
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
        scope = call.request.scope

        async def close(reset: bool) -> None:
            await transport.close(scope, reset=reset)

        return _events(log_stream(job, None if tail < 0 else tail, self._faults.stream(), close))

    def metrics(self, call: Call) -> Response:
        """CPU and memory of a running Job, once a second."""
        job = self._job(call)
        if job.stage != "RUNNING":
            raise HubError(406, "Job is not running")
        return _events(self._samples(job))

    def events(self, call: Call) -> Response:
        """Changes of the Job's state."""
        return _events(_states(self._job(call)))

    def cancel(self, call: Call) -> Response:
        """Cancel; an ended Job stays as it is."""
        job = self._job(call, write=True)
        self._machine.cancel(job)
        return JSONResponse(self._info(job))

    def duplicate(self, call: Call) -> Response:
        """Run the same spec again, secrets included as long as this Hub has them (it keeps them in memory only)."""
        job = self._job(call, write=True)
        account = require_account(self._accounts, call)
        if job.lost_secrets:
            names = ", ".join(job.lost_secrets)
            raise HubError(409, f"The local Hub was restarted and does not keep secrets on disk: {names}. Run it anew.")
        spec = {**job.spec, "secrets": dict(job.secrets)}
        new = self._machine.submit(job.namespace, account, spec, initiator="duplicated-job", initiator_id=job.id)
        return JSONResponse(self._info(new))

    def labels(self, call: Call) -> Response:
        """Replace the labels."""
        job = self._job(call, write=True)
        self._machine.relabel(job, call.json().get("labels"))
        return JSONResponse(self._info(job))

    def expose(self, call: Call) -> Response:
        """Change the exposed ports."""
        job = self._job(call, write=True)
        self._machine.expose(job, call.json())
        return JSONResponse(self._info(job))

    def _job(self, call: Call, *, write: bool = False) -> Job:
        self._visible(call, write=write)
        return self._machine.get(call.params["namespace"], call.params["id"])

    def _visible(self, call: Call, *, write: bool = False) -> None:
        account = require_account(self._accounts, call)
        namespace = call.params["namespace"]
        if write:
            self._machine.require(namespace, account)
        if not account.sees(namespace):
            raise HubError(404, "Not found")

    def _info(self, job: Job) -> dict[str, Any]:
        info = job.info()
        if (stage := self._faults.text("stage")) and not job.ended:
            info["status"]["stage"] = stage
        return info

    async def _samples(self, job: Job) -> AsyncIterator[bytes]:
        """One sample a second while it runs. The stream stays open after its end, as the Hub's does."""
        before, at = 0.0, 0.0
        while not job.hub_ends:
            if job.stage == "RUNNING":
                usage = await run_in_threadpool(self._machine.usage, job)
                moment = time.monotonic()
                cores = max(0.0, usage.cpu_s - before) / (moment - at) if at else 0.0
                before, at = usage.cpu_s, moment
                yield _sample(job, usage, cores, self._faults.text("gpu-use"))
            await asyncio.sleep(1)


def _events(stream: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def _sample(job: Job, usage: Usage, cores: float, gpu_use: str) -> bytes:
    hardware = HARDWARE[job.spec["flavor"]]
    sample = {
        "cpu_usage_pct": round(100 * cores / hardware.cpus),
        "cpu_millicores": round(cores * 1000),
        "memory_used_bytes": usage.memory_bytes,
        "memory_total_bytes": hardware.ram_gb << 30,
        "rx_bps": 0,
        "tx_bps": 0,
        "gpus": _gpus([int(one) for one in gpu_use.split(",")] if gpu_use else [], hardware),
        "replica": job.id[:5],
    }
    return f"event: metric\ndata: {json.dumps(sample)}\n\n".encode()


def _gpus(percents: list[int], hardware: Hardware) -> dict[str, dict[str, int]]:
    """The GPUs of a sample by their ids; each holds as much of its memory as it computes."""
    total = (hardware.vram_gb << 30) // max(hardware.gpus, 1)
    return {
        f"{at:08x}": {"utilization": one, "memory_used_bytes": total * one // 100, "memory_total_bytes": total}
        for at, one in enumerate(percents)
    }


async def _states(job: Job) -> AsyncIterator[bytes]:
    last = ""
    while not job.hub_ends:
        if job.stage != last:
            last = job.stage
            yield f"data: {json.dumps(job.info())}\n\n".encode()
        if job.ended:
            return
        await asyncio.sleep(0.1)

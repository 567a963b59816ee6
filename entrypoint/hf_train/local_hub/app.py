"""The application: storage and Jobs joined, faults and the request log around them."""

from __future__ import annotations

from collections import deque
from typing import Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from hf_train.local_hub.around import MAX_REQUESTS, Around
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.executors.base import Executor
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.jobs.machine import JobMachine
from hf_train.local_hub.jobs.routes import JobRoutes
from hf_train.local_hub.jobs.scheduled import Scheduler
from hf_train.local_hub.jobs.scheduled_routes import ScheduledRoutes
from hf_train.local_hub.pages import Pages
from hf_train.local_hub.repos.access import RepoAccess
from hf_train.local_hub.spaces.builds import SpaceBuilds
from hf_train.local_hub.spaces.routes import SpaceRoutes
from hf_train.local_hub.storage import open_storage

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class LocalHub:
    """One Hub as an ASGI application.

    Args:
        hub: Settings, endpoint and data folder.
        executor: What runs Jobs.
    """

    def __init__(self, hub: HubContext, executor: Executor) -> None:
        self.faults = Faults(hub.settings.faults)
        self.requests: deque[dict[str, Any]] = deque(maxlen=MAX_REQUESTS)
        self.storage = open_storage(hub)
        self.machine = JobMachine(hub, self.storage, executor, self.faults)
        self.scheduler = Scheduler(hub, self.machine)
        accounts = self.storage.accounts
        jobs = JobRoutes(hub, accounts, self.machine, self.faults)
        scheduled = ScheduledRoutes(accounts, self.scheduler)
        on_loopback = hub.settings.host in LOOPBACK
        admin = self._admin_routes() if on_loopback else []
        access = RepoAccess(hub=hub, accounts=accounts, store=self.storage.repos)
        pages = Pages(access, self.machine, show_jobs=on_loopback)
        spaces = SpaceRoutes(access, SpaceBuilds(hub, self.storage))
        of_jobs = [*jobs.routes(), *scheduled.routes()]
        routes = [*admin, *of_jobs, *spaces.routes(), *self.storage.routes(), *pages.routes()]
        self.app: ASGIApp = Around(Starlette(routes=routes), self.faults, self.requests)

    def begin_close(self) -> None:
        """Tell every Job and every stream to end; does not wait."""
        self.scheduler.close()
        self.machine.begin_close()

    def close(self) -> None:
        """Stop every Job, with all that it started."""
        self.begin_close()
        self.machine.close()

    def _admin_routes(self) -> list[BaseRoute]:
        """For tests, on loopback only: faults while it runs, what was asked so far, and all Jobs."""
        return [
            CallRoute(["GET", "POST", "DELETE"], r"/__admin/faults", self._admin_faults),
            CallRoute(["GET", "DELETE"], r"/__admin/requests", self._admin_requests),
            CallRoute(["GET"], r"/__admin/jobs", self._admin_jobs),
        ]

    def _admin_faults(self, call: Call) -> Response:
        if call.request.method == "DELETE":
            self.faults.clear()
        elif call.request.method == "POST":
            try:
                self.faults.add(str(call.json().get("fault", "")))
            except ValueError as problem:
                raise HubError(400, str(problem)) from problem
        return JSONResponse({"ok": True})

    def _admin_requests(self, call: Call) -> Response:
        if call.request.method == "DELETE":
            self.requests.clear()
        return JSONResponse(list(self.requests))

    def _admin_jobs(self, call: Call) -> Response:
        del call
        return JSONResponse([job.info() for job in self.machine.all()])

"""The API of scheduled Jobs. Paths and shapes: huggingface_hub 2.4.0 `hf_api.py` (`create_scheduled_job` and on)."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_account
from hf_train.local_hub.accounts import Accounts
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.jobs.scheduled import ScheduledJob, Scheduler

_ALL = r"/api/scheduled-jobs/(?P<namespace>[^/]+)"
_ONE = f"{_ALL}/(?P<id>[^/]+)"


class ScheduledRoutes:
    """Routes of scheduled Jobs.

    Args:
        accounts: Who asks.
        scheduler: The scheduled Jobs.
    """

    def __init__(self, accounts: Accounts, scheduler: Scheduler) -> None:
        self._accounts = accounts
        self._scheduler = scheduler

    def routes(self) -> list[BaseRoute]:
        """All of them."""
        return [
            CallRoute(["POST", "GET"], _ALL, self.all),
            CallRoute(["GET", "DELETE"], _ONE, self.one),
            CallRoute(["POST"], f"{_ONE}/(?P<what>suspend|resume)", self.pause),
            CallRoute(["POST"], f"{_ONE}/run", self.run),
            CallRoute(["POST"], f"{_ONE}/schedule", self.schedule),
            CallRoute(["PUT"], f"{_ONE}/labels", self.labels),
        ]

    def all(self, call: Call) -> Response:
        """Make one, or list those of a namespace."""
        account = require_account(self._accounts, call)
        namespace = call.params["namespace"]
        if call.request.method == "POST":
            return JSONResponse(self._scheduler.create(namespace, account, call.json()).info())
        if not account.sees(namespace):
            raise HubError(404, "Not found")
        labels = call.request.query_params.getlist("label")
        return JSONResponse([one.info() for one in self._scheduler.list(namespace, labels)])

    def one(self, call: Call) -> Response:
        """Look at one, or delete it."""
        if call.request.method == "DELETE":
            self._scheduler.delete(self._mine(call))
            return JSONResponse({"ok": True})
        account = require_account(self._accounts, call)
        if not account.sees(call.params["namespace"]):
            raise HubError(404, "Not found")
        return JSONResponse(self._scheduler.get(call.params["namespace"], call.params["id"]).info())

    def pause(self, call: Call) -> Response:
        """Suspend or resume."""
        one = self._mine(call)
        self._scheduler.pause(one, suspend=call.params["what"] == "suspend")
        return JSONResponse(one.info())

    def run(self, call: Call) -> Response:
        """Start a Job of it now."""
        return JSONResponse(self._scheduler.start(self._mine(call)).info())

    def schedule(self, call: Call) -> Response:
        """Another schedule."""
        one = self._mine(call)
        self._scheduler.reschedule(one, call.json().get("schedule"))
        return JSONResponse(one.info())

    def labels(self, call: Call) -> Response:
        """Replace the labels."""
        one = self._mine(call)
        self._scheduler.relabel(one, call.json().get("labels"))
        return JSONResponse(one.info())

    def _mine(self, call: Call) -> ScheduledJob:
        account = require_account(self._accounts, call)
        one = self._scheduler.get(call.params["namespace"], call.params["id"])
        if not account.sees(one.namespace) or not account.may_run(one.namespace):
            raise HubError(403, f"You don't have the required permissions on namespace {one.namespace}: job.write.")
        return one

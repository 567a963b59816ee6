"""The Spaces API. Paths and shapes: huggingface_hub 2.4.0 `hf_api.py` (`get_space_runtime`, `fetch_space_logs`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from hf_train.local_hub.calls import Call, CallRoute
from hf_train.local_hub.repos.access import RepoAccess
from hf_train.local_hub.spaces.builds import Build, SpaceBuilds

_SPACE = r"/api/(?P<type>spaces)/(?P<ns>[^/]+)/(?P<name>[^/]+)"
_TICK_S = 0.05


class SpaceRoutes:
    """Routes of what runs behind a Space.

    Args:
        access: Who may see which Space.
        builds: The builds.
    """

    def __init__(self, access: RepoAccess, builds: SpaceBuilds) -> None:
        self._access = access
        self._builds = builds

    def routes(self) -> list[BaseRoute]:
        """All of them; before those of repos, whose revisions look alike."""
        return [
            CallRoute(["GET"], f"{_SPACE}/runtime", self.runtime),
            CallRoute(["GET"], f"{_SPACE}/logs/build", self.build_log),
        ]

    def runtime(self, call: Call) -> Response:
        """The stage of a Space."""
        repo, _ = self._access.visible(call)
        build = self._builds.current(repo)
        hardware = {"current": "cpu-basic" if build.stage.startswith("RUNNING") else None, "requested": "cpu-basic"}
        answer: dict[str, Any] = {"stage": build.stage, "hardware": hardware, "storage": None, "gcTimeout": 172800}
        if build.ended.is_set():
            answer["sha"] = build.commit
        return JSONResponse(answer)

    def build_log(self, call: Call) -> Response:
        """Lines of the newest build, as they come."""
        repo, _ = self._access.visible(call)
        return StreamingResponse(_events(self._builds.current(repo)), media_type="text/event-stream")


async def _events(build: Build) -> AsyncIterator[bytes]:
    sent = 0
    while True:
        ended = build.ended.is_set()
        lines = build.lines[sent:]
        sent += len(lines)
        for moment, line in lines:
            event = {"data": f"{line}\n", "timestamp": moment}
            yield f"data: {json.dumps(event)}\n\n".encode()
        if ended:
            return
        await asyncio.sleep(_TICK_S)

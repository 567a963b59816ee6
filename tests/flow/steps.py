"""Words of the flow tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hf_train.context import Context, Pull
from hf_train.flow import pipeline
from hf_train.flow.prepare import Request
from hf_train.inputs import Layers, parse
from hf_train.ports import Published
from hf_train.report import Report, verdict_of
from hf_train.values import ModelLink
from support.fakes import World

PULL = Pull(number=7, head_sha="b" * 40)
ON_GITHUB = Context(
    on_github=True,
    repository="octo/proj",
    sha="c" * 40,
    event="pull_request",
    pull=PULL,
    run_id="99",
    workflow="train",
    job="train",
    private=True,
)


def request(context: Context = ON_GITHUB, environ: Mapping[str, str] | None = None, **flags: str) -> Request:
    """A run of `python train.py` with these inputs."""
    given = {"command": "python train.py", **{name.replace("_", "-"): value for name, value in flags.items()}}
    if "script" in flags:
        del given["command"]
    return Request(inputs=parse(Layers(flags=given)), context=context, environ=environ or {}, nonce="nonce1")


def go(world: World, asked: Request | None = None) -> tuple[Report, int]:
    """Run it; the report and the exit code."""
    report = pipeline.run(asked or request(), world.ports)
    return report, int(verdict_of(report).code)


def published(repo: str = "alice/m", files: dict[str, bytes] | None = None, *, private: bool = False) -> Published:
    """A repo that the Job pushed to."""
    link = ModelLink(
        repo=repo,
        revision="d" * 40,
        url=f"https://hub.test/{repo}/tree/{'d' * 40}",
        title="End of training",
        private=private,
        has_weights=True,
    )
    return Published(link=link, files=files or {})


def report_json(world: World) -> dict[str, Any]:
    """What was written as report.json."""
    document: dict[str, Any] = json.loads(world.files.reports["report.json"])
    return document

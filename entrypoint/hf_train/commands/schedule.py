"""`hf-train schedule set`, `list` and `remove`."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.commands.around import signals, wired
from hf_train.console import PlainConsole
from hf_train.errors import BadInput, RefusedByHub
from hf_train.flow import schedule as flow
from hf_train.flow.prepare import approved, patiently, with_header
from hf_train.hub import HuggingFaceHub
from hf_train.hub.scheduled import HubSchedules
from hf_train.options import keyword
from hf_train.plan.cron import read_cron
from hf_train.plan.schedule import MINE, NAME_LABEL, Schedule, name_problem, pinned, terms_of
from hf_train.show import show_schedule
from hf_train.text.untrusted import Redactor
from hf_train.values import Scheduled
from hf_train.wiring import Flags

_Namespace = Annotated[str | None, typer.Option(help="Owner of the schedules. Default: the owner of the token.")]
_PANEL = "The schedule"


def _option(name: str, kind: Any, default: object, help_text: str, metavar: str | None = None) -> inspect.Parameter:
    option = typer.Option(f"--{name}", help=help_text, metavar=metavar, rich_help_panel=_PANEL, show_default=False)
    return keyword(name.partition("/")[0].replace("-", "_"), Annotated[kind, option], default)


OPTIONS: Sequence[inspect.Parameter] = (
    _option("cron", str | None, None, "When, in UTC: five cron fields, or @hourly, @daily, @weekly ...", "CRON"),
    _option(
        "name",
        str | None,
        None,
        "What it is called. Default in a workflow: `hf-train-` and the repository's name.",
        "NAME",
    ),
    _option("suspend/--no-suspend", bool | None, None, "Paused or not. Default: as it is; a new one runs."),
    _option("concurrency/--no-concurrency", bool | None, None, "Start one while the last one runs. Default: no."),
    _option("renew", bool, False, "Replace it even when nothing differs: values of secrets cannot be compared."),
    _option("dry-run", bool, False, "Show what would be done; nothing is sent."),
)


def set_schedule(
    flags: Flags,
    *,
    cron: str | None,
    name: str | None,
    suspend: bool | None,
    concurrency: bool | None,
    renew: bool,
    dry_run: bool,
) -> int:
    """`hf-train schedule set`."""
    schedule, odd = _asked(cron, name, suspend, concurrency)
    with signals(), wired(flags, os.environ) as (asked, ports, token):
        if odd or schedule is None:
            raise BadInput([*odd, *asked.problems])
        if token is None and not dry_run and not asked.problems:
            raise RefusedByHub("No token", "A schedule needs a Hub token.", "Give hf-token, or the variable HF_TOKEN.")
        request = flow.of_schedule(with_header(approved(asked, ports), ports), dry_run=dry_run)
        schedules = HubSchedules(ports.hub.endpoint, token)
        proposal = flow.propose(
            request, schedule, ports, schedules, offline=token is None, renew=renew, build=not dry_run
        )
        plan, console = proposal.prepared.plan, ports.console
        show_schedule(plan, terms_of(plan, proposal.schedule, ports.clock.now()), console)
        title = f"Schedule {plan.job.labels[NAME_LABEL]}"
        if dry_run:
            console.info(f"{title}: would be {proposal.change.value}. Nothing was sent.")
            return 0
        one = flow.apply(proposal, ports, schedules)
        console.info(f"{title}: {proposal.change.value}, {one.namespace}/{one.id}, next run {_when(one)}.")
        if sha := pinned(plan.job.labels):
            console.info(f"Its runs train {sha}, also after later pushes; run this again to move it.")
    return 0


def _asked(
    cron: str | None, name: str | None, suspend: bool | None, concurrency: bool | None
) -> tuple[Schedule | None, list[str]]:
    problems = [problem] if name is not None and (problem := name_problem(name)) else []
    if cron is None:
        return None, [*problems, 'cron: give --cron, such as --cron "0 3 * * 1" or --cron @daily']
    try:
        read = read_cron(cron)
    except ValueError as error:
        return None, [*problems, f"cron: {error}"]
    return Schedule(name=name, cron=read, suspend=suspend, concurrency=bool(concurrency)), problems


def list_schedules(
    namespace: _Namespace = None,
    output_format: Annotated[Literal["text", "json"], typer.Option("--format", help="How to print them.")] = "text",
) -> int:
    """`hf-train schedule list`: those that hf-train set, of all repositories."""
    console, _, _, found = _look(namespace)
    if output_format == "json":
        print(json.dumps([_row(one) for one in found], indent=2))
        return 0
    for one in found:
        row = _row(one)
        overlap = ", may overlap" if one.concurrency else ""
        console.info(f"{row['name']}  {one.namespace}/{one.id}  {one.schedule}  next run {_when(one)}{overlap}")
        last = f", last Job {one.last_job} at {_time(one.last_at)}" if one.last_job else ", no Job yet"
        console.info(f"  {row['repository'] or 'no repository'} {pinned(one.labels)} on {one.flavor}{last}")
    if not found:
        console.info("hf-train set no schedule here.")
    return 0


def remove_schedule(
    name: Annotated[str, typer.Argument(help="Its name, or its id.", metavar="NAME|ID")],
    namespace: _Namespace = None,
) -> int:
    """`hf-train schedule remove`: Jobs that it started run on."""
    console, schedules, repository, found = _look(namespace)
    for one in flow.chosen(name, repository, found):
        flow.remove(one, schedules, SystemClock())
        console.info(f"Schedule {one.labels.get(NAME_LABEL)}: removed, {one.namespace}/{one.id}.")
        if one.last_job:
            console.info(f"A Job of it that runs is not ended; the last was {one.namespace}/{one.last_job}.")
    return 0


def _look(namespace: str | None) -> tuple[PlainConsole, HubSchedules, str, Sequence[Scheduled]]:
    environ, clock = os.environ, SystemClock()
    token = wiring.given_token(environ)
    if token is None:
        raise RefusedByHub("No token", "Schedules are asked for with a Hub token.", "Set the variable HF_TOKEN.")
    namespace = namespace or environ.get("HF_TRAIN_NAMESPACE") or None
    endpoint = environ.get("HF_ENDPOINT") or wiring.HUB
    owner = namespace or patiently(clock, HuggingFaceHub(endpoint, token).whoami, limit_s=flow.LIMIT_S).name
    schedules = HubSchedules(endpoint, token)
    found = patiently(clock, lambda: schedules.find(owner, MINE), limit_s=flow.LIMIT_S)
    console = wiring.console_of(Redactor([token.reveal()]), environ)
    return console, schedules, wiring.context_of(environ).repository, found


def _row(one: Scheduled) -> dict[str, object]:
    return {
        "id": one.id,
        "name": one.labels.get(NAME_LABEL, ""),
        "namespace": one.namespace,
        "repository": one.labels.get("hft-repo", ""),
        "sha": one.labels.get("hft-sha", ""),
        "schedule": one.schedule,
        "suspend": one.suspend,
        "concurrency": one.concurrency,
        "flavor": one.flavor,
        "image": one.image,
        "command": list(one.command),
        "next-run": one.next_at.isoformat() if one.next_at else None,
        "last-job": one.last_job or None,
    }


def _when(one: Scheduled) -> str:
    return "none, it is paused" if one.suspend else _time(one.next_at)


def _time(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else "not known"

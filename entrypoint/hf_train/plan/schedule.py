"""A schedule on the Hub from the same spec as a run: its labels, what tells two apart, what it costs. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from hf_train.plan.cron import Cron
from hf_train.plan.line import equal_schedule_line
from hf_train.plan.model import Plan
from hf_train.values import JobSpec, Scheduled

NAME_LABEL = "hft-schedule"
"""Label with the name that `schedule set` and `remove` go by; the label `name` can be changed on the Hub."""
MINE = {"hf-train": "1", "hft-mode": "schedule"}
_OF_A_RUN = frozenset({"hft-run", "hft-attempt", "hft-pr", "hft-family"})
"""Labels by which a run is superseded, swept or taken over. The Jobs of a schedule belong to no workflow run."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
SHOWN_RUNS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """A schedule as it was asked for.

    Attributes:
        name: Its name, one per repository and namespace; None for the repository's.
        cron: When it runs.
        suspend: Whether it is paused; None leaves one that is there as it is.
        concurrency: Whether a Job may start while the last one runs.
    """

    name: str | None
    cron: Cron
    suspend: bool | None = None
    concurrency: bool = False


def name_problem(name: str) -> str:
    """What is wrong with a name; empty when nothing is."""
    if not _NAME.fullmatch(name):
        return f"name: {name!r}: letters, digits, `.`, `_` and `-` (at most 80, the first a letter or digit)"
    return f"name: {name!r} looks like the id of a scheduled Job" if is_id(name) else ""


def is_id(text: str) -> bool:
    """Whether a text is an id of the Hub's: 24 hex digits."""
    return bool(re.fullmatch(r"[0-9a-f]{24}", text))


def scheduled(job: JobSpec, schedule: Schedule) -> JobSpec:
    """The spec of a run as that of a schedule: the same but for labels."""
    kept = {name: value for name, value in job.labels.items() if name not in _OF_A_RUN}
    name = schedule.name or re.sub(r"-[0-9a-f]{8}$", "", job.labels["name"])
    own = {"name": name, NAME_LABEL: name, "hft-mode": "schedule", "hft-key": _key(job, schedule, name)}
    return replace(job, labels={**kept, **own})


def same(there: Scheduled, job: JobSpec, schedule: Schedule) -> bool:
    """Whether a schedule on the Hub is the wanted one. Labels are free text, so what the Hub tells is compared too.

    Args:
        there: What the Hub has.
        job: The spec that `scheduled` made.
        schedule: What is asked for.
    """
    return (
        there.labels.get("hft-key") == job.labels["hft-key"]
        and (there.image, there.command, there.flavor) == (job.image, job.command, job.flavor)
        and (there.schedule, there.concurrency) == (schedule.cron.text, schedule.concurrency)
        and schedule.suspend in {None, there.suspend}
    )


def _key(job: JobSpec, schedule: Schedule, name: str) -> str:
    """Hash of all that is sent but labels and values of secrets. Never that of a run, which would attach to it."""
    what = [
        name,
        schedule.cron.text,
        schedule.concurrency,
        job.namespace,
        job.image,
        list(job.command),
        job.flavor,
        job.timeout_s,
        job.attempts,
        sorted(job.env.items()),
        sorted(job.secrets),
        [volume.as_option() for volume in job.volumes],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a schedule means, for people.

    Attributes:
        next_runs: The next runs, UTC.
        runs_a_month: On average.
        run_usd: The most that one run can cost, US dollars; None when the price is not known.
        month_usd: The same of a month.
        notes: What is worth knowing, in words.
        line: The equal `hf jobs scheduled run ...` line.
    """

    next_runs: tuple[datetime, ...]
    runs_a_month: float
    run_usd: float | None
    month_usd: float | None
    notes: tuple[str, ...]
    line: str


def terms_of(plan: Plan, schedule: Schedule, now: datetime) -> Terms:
    """What a schedule of this plan means."""
    cron, worst, timeout = schedule.cron, plan.budget.worst_case_usd, plan.job.timeout_s
    a_month, gap, notes = cron.runs_a_month, cron.shortest_gap_s(now), []
    if timeout > gap and not schedule.concurrency:
        notes.append(
            f"A run may take {timeout} s, and the next can be due after {gap:.0f} s. Without --concurrency the Hub "
            "starts none while one runs."
        )
    if plan.job.secrets:
        notes.append(
            f"The Hub keeps {', '.join(plan.job.secrets)} as of now. Values cannot be compared: after a change run "
            "this with --renew, and give no token that expires before the schedule ends."
        )
    return Terms(
        next_runs=tuple(cron.after(now, SHOWN_RUNS)),
        runs_a_month=a_month,
        run_usd=worst,
        month_usd=None if worst is None else worst * a_month,
        notes=tuple(notes),
        line=equal_schedule_line(
            plan.job, cron.text, suspend=schedule.suspend, concurrency=schedule.concurrency or None
        ),
    )


def pinned(labels: Mapping[str, str]) -> str:
    """The commit of a schedule, in words; empty outside git."""
    sha = labels.get("hft-sha", "")
    return f"commit {sha[:12]}" if sha else ""

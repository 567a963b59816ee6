"""The one object that every projection reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hf_train.context import Context
from hf_train.errors import UserError
from hf_train.judge.gate import Judged
from hf_train.plan import Plan
from hf_train.report.frames import Frame
from hf_train.values import Attempt, Findings, JobRef, JobState, Outcome, Release, Snapshot


class Phase(StrEnum):
    """Where in its life a run is when it is reported."""

    QUEUED = "queued"
    STARTING = "starting"
    """The Hub runs it, and it has not yet said that it trains: an image is pulled, packages and data are loaded."""
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One run, as far as it is known.

    Attributes:
        context: Where it was started.
        key: Key of its sticky comment.
        phase: Where in its life it is.
        plan: What was planned; None when it was skipped before there was a plan.
        snapshot: What was sent; None when nothing was, or not yet.
        state: The last look at the Job.
        outcome: How it ended; None while it lives.
        findings: What came out so far.
        reused: Why no new Job was paid for, in words; empty when one was.
        skipped: Why nothing was run, in words.
        refused: The error that stopped the run before there was a Job.
        problems: What went wrong beside the training, in words.
        comment_url: Address of the sticky comment.
        comment_file: Path of the comment's text.
        report_file: Path of `report.json`.
        base_name: Where the baseline comes from, for people; empty when there is none.
        base: Metrics of the baseline.
        base_curve: Curve of the baseline, name -> (step, value) points, as its stored report holds it.
        judged: The gate's conditions with their verdicts; only for a completed training.
        frame: Where the failure's traceback left this repository; None when it is not known.
        eta_s: Seconds left by the log's own word, None when it says none.
        earlier: Jobs of this run that ended before this one: a smoke run, tries that the platform ended.
        release: The release that was made of it; None when none was asked for.
        pr_cost_usd: What all Jobs of the pull request cost; None when there is one only, or it is not known.
        nodes: The last looks at the nodes of a training on several, the first one first; empty for a Job by itself.
        left: Jobs of this launch that may still run though nobody wants them to, in words.
    """

    context: Context
    key: str
    phase: Phase
    plan: Plan | None = None
    snapshot: Snapshot | None = None
    state: JobState | None = None
    outcome: Outcome | None = None
    findings: Findings = field(default_factory=Findings)
    reused: str = ""
    skipped: str = ""
    refused: UserError | None = None
    problems: tuple[str, ...] = ()
    comment_url: str = ""
    comment_file: str = ""
    report_file: str = ""
    base_name: str = ""
    base: Mapping[str, float] = field(default_factory=dict)
    base_curve: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    judged: tuple[Judged, ...] = ()
    frame: Frame | None = None
    eta_s: float | None = None
    earlier: tuple[Attempt, ...] = ()
    release: Release | None = None
    pr_cost_usd: float | None = None
    nodes: tuple[JobState, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def ref(self) -> JobRef | None:
        """The Job, when there is one."""
        return self.state.ref if self.state else None

    @property
    def duration_s(self) -> float | None:
        """Seconds that the Job ran, by the Hub's own count; waiting is not in it."""
        return self.state.running_s if self.state else None

    @property
    def cost_usd(self) -> float | None:
        """What the run cost so far, earlier Jobs of it included. None when a price or a time is not known."""
        before = [one.usd for one in self.earlier]
        own = self.job_usd if self.state is not None or not before else 0.0
        return None if own is None or None in before else own + sum(usd for usd in before if usd is not None)

    @property
    def job_usd(self) -> float | None:
        """What this Job cost so far, all nodes of it: the Hub bills started minutes of running. None when not known."""
        costs = [self.node_usd(one) for one in self.nodes or (self.state,) if one is not None]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if costs and len(known) == len(costs) else None

    def node_usd(self, state: JobState) -> float | None:
        """What one Job cost so far; None when it is not known. One that never ran costs nothing."""
        flavor = self.plan.budget.flavor if self.plan else None
        waits = bool(self.nodes) and state.started_at is None
        seconds = 0.0 if state.running_s is None and waits else state.running_s
        return flavor.cost_usd(seconds) if flavor and seconds is not None and math.isfinite(seconds) else None

"""Sweep: the Jobs whose workflow run is over, and nothing else. The third line behind a signal and its cleanup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hf_train.ports import Clock, Runs
from hf_train.values import JobState, Stage


class Fate(StrEnum):
    """What a sweep makes of a Job, in words for people."""

    ORPHAN = "its workflow run is over"
    ENDED = "it has ended"
    STRANGE = "its stage is not one that we know"
    FOREIGN = "it is not a Job of this repository's hf-train"
    DETACHED = "it may outlive its run (mode: detach, or the like)"
    YOUNG = "it is younger than --older-than"
    UNKNOWN = "its workflow run is not known"
    WATCHED = "its workflow run is at work"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One Job and what is to become of it."""

    state: JobState
    fate: Fate


def judge(jobs: Sequence[JobState], repository: str, runs: Runs, clock: Clock, older_than_s: float) -> list[Judged]:
    """Look at Jobs one by one.

    Args:
        jobs: Jobs of the namespace.
        repository: This repository as a label has it; only its Jobs are looked at.
        runs: Its workflow runs.
        clock: Time.
        older_than_s: Jobs younger than this are left alone.
    """
    return [Judged(state=one, fate=_fate(one, repository, runs, clock, older_than_s)) for one in jobs]


def _fate(job: JobState, repository: str, runs: Runs, clock: Clock, older_than_s: float) -> Fate:
    """Whatever is not clearly an orphan is left alone: a wrong cancel cannot be taken back."""
    labels = job.labels
    if labels.get("hf-train") != "1" or not repository or labels.get("hft-repo") != repository:
        return Fate.FOREIGN
    if job.stage.is_terminal:
        return Fate.ENDED
    if job.stage is Stage.UNKNOWN:
        return Fate.STRANGE
    if labels.get("hft-mode"):
        return Fate.DETACHED
    if job.created_at is None or (clock.now() - job.created_at).total_seconds() < older_than_s:
        return Fate.YOUNG
    over = runs.is_over(labels.get("hft-run", ""))
    if over is None:
        return Fate.UNKNOWN
    return Fate.ORPHAN if over else Fate.WATCHED

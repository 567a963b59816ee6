"""Which Jobs a sweep takes: only those that are clearly orphans."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hf_train.flow.sweep import Fate, judge
from hf_train.values import JobRef, JobState, Stage
from support.fakes import START, FakeClock

LABELS = {"hf-train": "1", "hft-repo": "octo-proj", "hft-run": "7"}
JOB = JobState(
    ref=JobRef(id="1" * 24, namespace="alice", url=""),
    stage=Stage.RUNNING,
    created_at=START - timedelta(hours=1),
    labels=LABELS,
)


class Runs:
    """Run 7 is over, 8 is at work, and nobody knows the rest."""

    def is_over(self, run_id: str) -> bool | None:
        return {"7": True, "8": False}.get(run_id)


@pytest.mark.case(57)
@pytest.mark.parametrize(
    ("job", "fate"),
    [
        (JOB, Fate.ORPHAN),
        (replace(JOB, stage=Stage.SCHEDULING), Fate.ORPHAN),
        (replace(JOB, stage=Stage.COMPLETED), Fate.ENDED),
        (replace(JOB, stage=Stage.UNKNOWN, stage_text="PAUSED"), Fate.STRANGE),
        (replace(JOB, labels={}), Fate.FOREIGN),
        (replace(JOB, labels={**LABELS, "hf-train": "2"}), Fate.FOREIGN),
        (replace(JOB, labels={**LABELS, "hft-repo": "octo-other"}), Fate.FOREIGN),
        (replace(JOB, labels={**LABELS, "hft-mode": "detach"}), Fate.DETACHED),
        (replace(JOB, created_at=START - timedelta(minutes=1)), Fate.YOUNG),
        (replace(JOB, created_at=None), Fate.YOUNG),
        (replace(JOB, labels={**LABELS, "hft-run": "8"}), Fate.WATCHED),
        (replace(JOB, labels={**LABELS, "hft-run": "9"}), Fate.UNKNOWN),
        (replace(JOB, labels={name: value for name, value in LABELS.items() if name != "hft-run"}), Fate.UNKNOWN),
    ],
)
def test_only_what_is_clearly_an_orphan_is_taken(job: JobState, fate: Fate) -> None:
    (judged,) = judge([job], "octo-proj", Runs(), FakeClock(), 600.0)
    assert judged.fate is fate


def test_without_a_repository_nothing_is_ours() -> None:
    (judged,) = judge(
        [replace(JOB, labels={"hf-train": "1", "hft-repo": "", "hft-run": "7"})], "", Runs(), FakeClock(), 0
    )
    assert judged.fate is Fate.FOREIGN

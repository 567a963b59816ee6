"""Curves from a tracker, when nothing nearer has one: the bucket that trackio synced to, named by the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hf_train.collect.trackio import MAX_BYTES, read_trackio
from hf_train.errors import LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.ports import Ports
from hf_train.values import Findings, JobState, Outcome

LIMIT_S = 20.0
SLACK = timedelta(minutes=5)
"""Points bear the time of the Job's machine."""
MAX_BUCKETS = 2


def tracked(findings: Findings, state: JobState | None, outcome: Outcome, ports: Ports) -> Findings:
    """The findings, with the tracker's curves when they had none. What cannot be read is not missed.

    Args:
        findings: What log and repos gave.
        state: The last look at the Job.
        outcome: How it ended; after a signal nothing more is asked.
        ports: The world.
    """
    drawn = any(len(points) > 1 for points in findings.curve.values())
    if drawn or outcome.signum is not None or state is None or not state.stage.is_terminal or ports.trackers is None:
        return findings
    began = state.started_at or state.created_at
    if began is None:
        return findings
    until = (state.finished_at or ports.clock.now()) + SLACK
    for bucket in _buckets(findings.tracker_urls, ports.hub.endpoint):
        for content in _databases(bucket, ports):
            if curve := read_trackio(content, began - SLACK, until):
                return replace(findings, curve={**findings.curve, **curve})
    return findings


def _buckets(urls: Sequence[str], endpoint: str) -> list[str]:
    """Buckets on this Hub among the pages that the log names."""
    name = r"[A-Za-z0-9][\w.-]{0,95}"
    page = re.compile(rf"{re.escape(endpoint)}/buckets/({name}/{name})")
    found = [match[1] for url in urls if (match := page.fullmatch(url))]
    return list(dict.fromkeys(found))[:MAX_BUCKETS]


def _databases(bucket: str, ports: Ports) -> Sequence[bytes]:
    trackers = ports.trackers
    if trackers is None:
        return ()
    try:
        return patiently(ports.clock, lambda: trackers.databases(bucket, MAX_BYTES), limit_s=LIMIT_S)
    except (RefusedByHub, LostSight):
        return ()

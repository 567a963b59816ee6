"""What a log says: the frozen values that the reader returns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Status = Literal["completed", "failed", "diverged", "truncated", "running"]
Value = float | None

_NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True)
class Progress:
    """How far a training is.

    Attributes:
        step: Optimizer steps done (epochs, when a library prints only those), or None.
        total: Steps planned, or None.
        epoch: Epochs done (may be a fraction), or None.
        metrics: Latest value of each metric.
        steps_per_second: Speed, or None.
        eta_seconds: Time left by the log's own bar or by the speed, or None.
    """

    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    metrics: Mapping[str, Value] = field(default_factory=lambda: _NOTHING)
    steps_per_second: float | None = None
    eta_seconds: float | None = None


@dataclass(frozen=True)
class Push:
    """A repo on the Hub that the log says it wrote to.

    Attributes:
        repo_type: ``model``, ``dataset`` or ``space``.
        repo_id: ``owner/name``.
        url: The repo's address without revision.
        why: The kind of line that says so.
        strength: 3 a model was pushed there, 2 a commit was made, 1 the repo is only named.
    """

    repo_type: str
    repo_id: str
    url: str
    why: str
    strength: int


@dataclass(frozen=True)
class LogReading:
    """The reading of one log. Nothing in it is a verdict on a Job: that is the Job's stage.

    Attributes:
        status: As far as the log alone can tell.
        metrics: Last value of each metric; ``nan`` and ``inf`` as floats, None where only None was printed.
        progress: How far it came.
        model_urls: Model repos that the log itself says were pushed, strongest evidence only.
        tracker_urls: W&B, trackio, Comet, ... pages.
        cause: One of the codes of `causes.CODES`, or None when nothing failed.
        cause_line: The line that proves it, or None.
        cause_rank: The rank that printed it, or None.
        hint: What to do, or None.
        curve: Metric name to ``(step, value)`` points, at most 500 each.
        warnings: Codes of what is odd but no failure, such as ``no-gpu`` or ``line-too-long``.
        traceback_tail: The last lines before and of the failure.
        pushes: Every repo that the log names as written to.
        configured_repos: Repo ids from configurations printed in the log (``hub_model_id``), not proven.
    """

    status: Status
    metrics: Mapping[str, Value] = field(default_factory=lambda: _NOTHING)
    progress: Progress = field(default_factory=Progress)
    steps_per_second: float | None = None
    model_urls: tuple[str, ...] = ()
    tracker_urls: tuple[str, ...] = ()
    cause: str | None = None
    cause_line: str | None = None
    cause_rank: int | None = None
    hint: str | None = None
    curve: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()
    traceback_tail: tuple[str, ...] = ()
    pushes: tuple[Push, ...] = ()
    configured_repos: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON object of ``hf-train explain --format json`` (strict JSON: no bare NaN)."""
        return {
            "status": self.status,
            "metrics": {name: json_number(value) for name, value in self.metrics.items()},
            "progress": {
                "step": self.progress.step,
                "total": self.progress.total,
                "epoch": json_number(self.progress.epoch),
            },
            "steps_per_second": json_number(self.steps_per_second),
            "model_urls": list(self.model_urls),
            "tracker_urls": list(self.tracker_urls),
            "cause": self.cause,
            "cause_line": self.cause_line,
            "cause_rank": self.cause_rank,
            "hint": self.hint,
            "curve": {
                name: [[json_number(x), json_number(y)] for x, y in points] for name, points in self.curve.items()
            },
        }


def json_number(value: Value) -> float | int | str | None:
    """A number for strict JSON: ``"nan"``, ``"inf"`` and ``"-inf"`` become strings, whole floats stay floats."""
    if value is None or math.isfinite(value):
        return value
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"

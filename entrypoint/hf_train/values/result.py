"""What came out of a Job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

CARD_TITLE = "hf-train: lineage of Job"
"""How the title of a commit begins that a step makes after a Job; such a one proves nothing of a training."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLink:
    """A repo that the Job published to, proven by a commit of its own.

    Attributes:
        repo: `namespace/name`.
        kind: `model`, `dataset` or `space`.
        revision: The commit, 40 hex digits.
        url: Page of the repo at that commit.
        title: The commit's title.
        private: Whether the repo is private.
        has_weights: Whether it holds weights at that commit; None when that was not looked at.
        card: The later commit with which this step wrote the lineage into its card; empty when it did not.
    """

    repo: str
    kind: Literal["model", "dataset", "space"] = "model"
    revision: str
    url: str
    title: str = ""
    private: bool = False
    has_weights: bool | None = None
    card: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A release of a model.

    Attributes:
        tag: The Git tag.
        hub_tag: Whether the model's commit has the same tag on the Hub.
        url: Page of the GitHub release that tells of it; empty when it does not.
    """

    tag: str
    hub_tag: bool = False
    url: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One number of the report.

    Attributes:
        name: As the library prints it.
        value: The number; NaN and infinities are themselves.
        source: Where it was read: `all_results.json`, `log`, ...
    """

    name: str
    value: float
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuUse:
    """How one GPU was used.

    Attributes:
        name: Its name or id, as whoever measured it gives it.
        samples: How many looks it stands for: of the Hub's stream one a second, of the Job's own side one a minute.
        mean_pct: Mean utilisation, percent.
        max_pct: Highest utilisation, percent.
        memory_max_bytes: Most memory in use; None when that is not known.
        memory_total_bytes: Memory that it has; None when that is not known.
    """

    name: str
    samples: int
    mean_pct: float
    max_pct: float
    memory_max_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A remark of the check run, beside a line of the code.

    Attributes:
        path: Path in the repository.
        line: Line, from 1.
        level: `failure` or `warning`.
        title: A few words.
        message: What is to be said, as plain text.
    """

    path: str
    line: int
    level: Literal["failure", "warning"]
    title: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What came out of a Job.

    Attributes:
        metrics: In the order to show them.
        model: The main repo, None when nothing was published.
        others: Further repos that the Job published to.
        model_note: Why there is no model link, in words; empty when there is one or none was expected.
        curve: name -> (step, value) points, at most 500 each.
        diverged: Whether a NaN or infinite loss was seen.
        cause: Code of the failure's cause, None when there is none.
        cause_line: The line that proves it.
        hint: What to try next.
        tracker_urls: Links of trackers that the log names.
        gpus: How the GPUs were used, as far as it was measured.
        progress: Last step seen, as `(step, total)`.
        epoch: Epochs done by then, None when the log does not say.
        steps_per_second: Speed, None when the log does not say.
        resumed_from: Step that the Job went on from; None when it began anew, or that is not known.
        checkpoint: Step of the newest checkpoint in its output folder; None when there is none.
        problems: What could not be read or is worth knowing, in words.
    """

    metrics: tuple[Metric, ...] = ()
    model: ModelLink | None = None
    others: tuple[ModelLink, ...] = ()
    model_note: str = ""
    curve: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    diverged: bool = False
    cause: str | None = None
    cause_line: str = ""
    hint: str = ""
    tracker_urls: tuple[str, ...] = ()
    gpus: tuple[GpuUse, ...] = ()
    progress: tuple[int | None, int | None] = (None, None)
    epoch: float | None = None
    steps_per_second: float | None = None
    resumed_from: int | None = None
    checkpoint: int | None = None
    problems: tuple[str, ...] = ()

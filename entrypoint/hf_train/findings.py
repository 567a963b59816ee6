"""Collect: what the log, the repos and their files say, put together in the order of trust.

The order: metrics file > `all_results.json`, `trainer_state.json`, `eval_results.json` at the Job's commit > model
card > TensorBoard events in the repo > log. The log is best effort and never gives the verdict, at most a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from hf_train.collect.candidates import model_candidates
from hf_train.collect.cards import read_model_card
from hf_train.collect.divergence import diverged
from hf_train.collect.files import read_all_results, read_metrics_file, read_trainer_state
from hf_train.collect.reading import LogReading, Progress
from hf_train.collect.tensorboard import read_tensorboard_events
from hf_train.collect.trust import Source, merge
from hf_train.errors import LostSight, RefusedByHub
from hf_train.plan import Plan
from hf_train.ports import Ports, Published
from hf_train.prepare import patiently
from hf_train.values import Findings, JobState, Metric, ModelLink, Outcome, Reason, Stage

LOOK_LIMIT_S = 30.0
MAX_CANDIDATES = 5
LATE_PUSH_S = 2.0
_RESULTS = frozenset({"all_results.json", "eval_results.json", "train_results.json"})
_LOOKED_AT = frozenset({Stage.COMPLETED, Stage.ERROR, Stage.CANCELED})


def live(progress: Progress) -> Findings:
    """What a running training says so far."""
    metrics = tuple(
        Metric(name=name, value=value, source="log") for name, value in progress.metrics.items() if value is not None
    )
    return Findings(metrics=metrics, progress=(progress.step, progress.total))


def collect(reading: LogReading, plan: Plan, state: JobState | None, outcome: Outcome, ports: Ports) -> Findings:
    """Put the findings of an ended (or left) Job together.

    Args:
        reading: What the log says.
        plan: What was planned.
        state: The last look at the Job.
        outcome: How it ended.
        ports: The world; a repo that cannot be read is a problem in words.
    """
    shelf = _Shelf(())
    if state is not None and state.stage in _LOOKED_AT and outcome.reason is not Reason.CANCELLED:
        shelf = _look(reading, plan, state, ports)
    sources = (*shelf.sources, Source("log", reading.metrics, reading.progress.step))
    merged = merge(sources)
    bad = reading.status == "diverged" or any(diverged(source.metrics) for source in sources)
    failed = bad or outcome.reason not in {Reason.COMPLETED, Reason.DETACHED}
    odd = [f"{metric.name}: {problem}" for metric in merged for problem in metric.problems]
    return Findings(
        metrics=tuple(Metric(name=m.name, value=m.value, source=m.source) for m in merged if m.value is not None),
        model=shelf.model,
        others=shelf.others,
        model_note=shelf.note,
        curve={name: tuple(points) for name, points in (shelf.curve or reading.curve).items()},
        diverged=bad,
        # A log is full of words like "error"; it explains a failure, it does not make one.
        cause=reading.cause if failed else None,
        cause_line=(reading.cause_line or "") if failed else "",
        hint=(reading.hint or "") if failed else "",
        tracker_urls=reading.tracker_urls,
        progress=(reading.progress.step, reading.progress.total),
        problems=(*shelf.problems, *odd),
    )


@dataclass(frozen=True, slots=True)
class _Shelf:
    """What the repos gave."""

    sources: tuple[Source, ...]
    model: ModelLink | None = None
    others: tuple[ModelLink, ...] = ()
    note: str = ""
    curve: Mapping[str, Sequence[tuple[float, float]]] | None = None
    problems: tuple[str, ...] = ()


def _look(reading: LogReading, plan: Plan, state: JobState, ports: Ports) -> _Shelf:
    candidates = _candidates(reading, plan, ports)
    if not candidates:
        return _Shelf((), note="No model repo was named, neither in the inputs nor in the command or the log.")
    found: list[Published] = []
    notes: list[str] = []
    problems: list[str] = []
    for kind, repo in candidates[:MAX_CANDIDATES]:
        try:
            one = _published(kind, repo, plan, state, ports)
        except (LostSight, RefusedByHub) as error:
            problems.append(f"{repo} could not be looked at: {error.message}")
            continue
        if one.link is not None:
            found.append(one)
        elif one.note:
            notes.append(one.note)
    model = next((one for one in found if one.link and one.link.kind == "model"), None)
    if model is None or model.link is None:
        others = tuple(one.link for one in found if one.link)
        return _Shelf((), others=others, note="; ".join(notes), problems=tuple(problems))
    sources, curve, unread = _sources(model.files or {}, plan)
    others = tuple(one.link for one in found if one.link and one is not model)
    return _Shelf(sources, model.link, others, curve=curve, problems=(*problems, *unread))


def _candidates(reading: LogReading, plan: Plan, ports: Ports) -> list[tuple[str, str]]:
    """Repos to look at, the named one first. A name proves nothing; the look at the repo does."""
    named = [("model", plan.expect.model_repo)] if plan.expect.model_repo else []
    owner = ports.hub.job_owner() if "HF_TOKEN" in plan.job.secrets else ""
    guessed = model_candidates(plan.job.command, plan.expect.config, reading, owner or None)
    return list(dict.fromkeys([*named, *((one.repo_type, one.repo_id) for one in guessed)]))


def _published(kind: str, repo: str, plan: Plan, state: JobState, ports: Ports) -> Published:
    since = state.started_at or state.created_at or ports.clock.now()
    until = state.finished_at or ports.clock.now() + timedelta(minutes=1)
    extra = [plan.expect.metrics_file] if plan.expect.metrics_file else []

    def look() -> Published:
        return ports.hub.published(kind, repo, since, until, extra)

    published = patiently(ports.clock, look, limit_s=LOOK_LIMIT_S)
    if published.link is None and state.stage is Stage.COMPLETED:
        ports.clock.sleep(LATE_PUSH_S)  # a commit may show a moment after the Job that made it
        published = patiently(ports.clock, look, limit_s=LOOK_LIMIT_S)
    return published


def _sources(
    contents: Mapping[str, bytes], plan: Plan
) -> tuple[tuple[Source, ...], Mapping[str, Sequence[tuple[float, float]]] | None, tuple[str, ...]]:
    sources: list[Source] = []
    problems: list[str] = []
    curve: Mapping[str, Sequence[tuple[float, float]]] | None = None
    for name, content in contents.items():
        text = content.decode("utf-8", "replace")
        if name == plan.expect.metrics_file:
            own = read_metrics_file(text)
            sources.append(Source("metrics-file", own.values, name=name))
            problems += [f"{name}: {problem}" for problem in own.problems]
        elif name in _RESULTS:
            results = read_all_results(text)
            sources.append(Source(name, results.values))
            problems += [f"{name}: {problem}" for problem in results.problems]
        elif name == "trainer_state.json":
            state = read_trainer_state(text)
            sources.append(Source(name, state.metrics, state.global_step))
            curve = state.curve or None
        elif name == "README.md":
            sources.append(Source("model-index", read_model_card(text).metrics, name="model card"))
        elif "tfevents" in name:
            events = read_tensorboard_events(content)
            sources.append(Source("tensorboard", events.metrics, name="TensorBoard"))
            curve = curve or events.curve or None
    if plan.expect.metrics_file and plan.expect.metrics_file not in contents:
        problems.append(f"The metrics file {plan.expect.metrics_file} is not in the repo at this Job's commit.")
    return tuple(sources), curve, tuple(problems)

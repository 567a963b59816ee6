"""Collect: what the log, the repos and their files say, put together in the order of trust.

The order: metrics file > `all_results.json`, `trainer_state.json`, `eval_results.json` at the Job's commit > the same
files in the output folder > model card > TensorBoard events in the repo > log > a checkpoint in the output folder. The
log is best effort and never gives the verdict, at most a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hf_train.collect.candidates import model_candidates
from hf_train.collect.divergence import diverged
from hf_train.collect.reader import read_log
from hf_train.collect.reading import LogReading, Progress
from hf_train.collect.record import Gpu, Record, longer
from hf_train.collect.results import not_there, read_results
from hf_train.collect.trust import CHECKPOINT, Source, agree, merge
from hf_train.collect.trust import Metric as Chosen
from hf_train.errors import LostSight, RefusedByHub
from hf_train.failure import Failure, failure_of
from hf_train.flow.output import record_of
from hf_train.flow.prepare import patiently
from hf_train.flow.publishing import Push
from hf_train.plan import Plan
from hf_train.ports import Ports, Published
from hf_train.values import Findings, GpuUse, JobState, Metric, ModelLink, Outcome, Reason, Stage

LOOK_LIMIT_S = 30.0
MAX_CANDIDATES = 8
LATE_PUSH_S = 2.0
_LOOKED_AT = frozenset({Stage.COMPLETED, Stage.ERROR, Stage.CANCELED})


def live(progress: Progress) -> Findings:
    """What a running training says so far."""
    metrics = tuple(
        Metric(name=name, value=value, source="log") for name, value in progress.metrics.items() if value is not None
    )
    return Findings(metrics=metrics, progress=(progress.step, progress.total))


def collect(
    reading: LogReading,
    plan: Plan,
    state: JobState | None,
    outcome: Outcome,
    ports: Ports,
    pushed: Push | None = None,
) -> Findings:
    """Put the findings of an ended (or left) Job together.

    Args:
        reading: What the log says.
        plan: What was planned.
        state: The last look at the Job.
        outcome: How it ended.
        ports: The world; a repo that cannot be read is a problem in words.
        pushed: What this step pushed itself: no other proof is needed for that.
    """
    shelf = _Shelf()
    if state is not None and state.stage in _LOOKED_AT and outcome.reason is not Reason.CANCELLED:
        shelf = _look(reading, plan, state, ports, pushed)
    record = record_of(plan, state, outcome, ports)
    sources = _sources(shelf, record, Source("log", reading.metrics, reading.progress.step))
    merged = merge(sources)
    bad = reading.status == "diverged" or any(diverged(source.metrics) for source in sources)
    why = Failure()
    if bad or outcome.reason not in {Reason.COMPLETED, Reason.DETACHED}:
        # A log is full of words like "error"; it explains a failure, it does not make one.
        said = _explained(reading, record, ports)
        why = Failure(code=said.cause, line=said.cause_line or "", hint=said.hint or "")
        why = failure_of(why, state, outcome.reason)
    missing = _not_read(plan, record)
    odd = [f"{metric.name}: {problem}" for metric in merged for problem in metric.problems]
    return Findings(
        metrics=tuple(Metric(name=m.name, value=m.value, source=m.source) for m in merged if m.value is not None),
        model=shelf.model,
        others=shelf.others,
        model_note=shelf.note,
        curve={name: tuple(points) for name, points in (shelf.curve or longer(record.curve, reading.curve)).items()},
        diverged=bad,
        cause=why.code,
        cause_line=why.line,
        hint=why.hint,
        tracker_urls=reading.tracker_urls,
        progress=(reading.progress.step, reading.progress.total),
        epoch=reading.progress.epoch,
        steps_per_second=reading.steps_per_second,
        gpus=tuple(_use(one, record.samples) for one in record.gpus),
        resumed_from=record.resumed_from,
        checkpoint=record.checkpoint,
        problems=(
            *(one for one in shelf.problems if one not in missing),
            *record.problems,
            *odd,
            *_since_the_resume(merged, reading, record),
        ),
    )


def _sources(shelf: _Shelf, record: Record, log: Source) -> tuple[Source, ...]:
    """All sources. A checkpoint is as old as it is, so it only tells what nothing else does."""
    last = (*shelf.sources, *(one for one in record.sources if one.kind != CHECKPOINT), log)
    known = {name for source in last for name in source.metrics}
    kept = (one for one in record.sources if one.kind == CHECKPOINT)
    return (*last, *(replace(one, metrics=_without(one.metrics, known)) for one in kept))


def _without(metrics: Mapping[str, float | None], known: Collection[str]) -> Mapping[str, float | None]:
    return {name: value for name, value in metrics.items() if name not in known}


def _since_the_resume(merged: Sequence[Chosen], reading: LogReading, record: Record) -> Sequence[str]:
    """The Trainer's own mean is that of its process (transformers 5.24.0 `_finalize_training`)."""
    chosen = next((one.value for one in merged if one.name == "train_loss"), None)
    own = reading.metrics.get("train_loss")
    if record.resumed_from is None or chosen is None or own is None or not agree(chosen, own):
        return ()
    return (f"train_loss leaves out the steps up to {record.resumed_from}, from which this Job was resumed.",)


def _explained(reading: LogReading, record: Record, ports: Ports) -> LogReading:
    """Why it failed, by the log; when that is silent, by the traceback that torchrun kept."""
    if reading.cause is not None or not record.traceback:
        return reading
    return read_log([ports.console.redact(record.traceback) + "\n"])


def _not_read(plan: Plan, record: Record) -> frozenset[str]:
    """What is said of a metrics file that no repo has: nothing when the output folder has it."""
    path = plan.expect.metrics_file
    return frozenset((not_there(path), *_unread(plan))) if path and record.has_metrics_file else frozenset()


def _use(gpu: Gpu, samples: int) -> GpuUse:
    return GpuUse(
        name=gpu.name,
        samples=samples,
        mean_pct=gpu.mean_pct,
        max_pct=gpu.max_pct,
        memory_max_bytes=gpu.memory_max_bytes,
        memory_total_bytes=gpu.memory_total_bytes,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shelf:
    """What the repos gave."""

    sources: tuple[Source, ...] = ()
    model: ModelLink | None = None
    others: tuple[ModelLink, ...] = ()
    note: str = ""
    curve: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def _look(reading: LogReading, plan: Plan, state: JobState, ports: Ports, pushed: Push | None) -> _Shelf:
    owner = ports.hub.job_owner() if "HF_TOKEN" in plan.job.secrets else ""
    candidates = _candidates(reading, plan, owner)
    if not candidates:
        note = "No model repo was named, neither in the inputs nor in the command or the log."
        return _Shelf(note=note, problems=_unread(plan))
    found: list[tuple[Published, ModelLink]] = []
    notes: list[str] = []
    problems: list[str] = []
    for kind, repo in candidates[:MAX_CANDIDATES]:
        try:
            ours = pushed if pushed and (kind, repo) == ("model", pushed.repo) else None
            one = _ours(ours, plan, ports) if ours else _published(kind, repo, plan, state, ports, owner)
        except (LostSight, RefusedByHub) as error:
            problems.append(f"{repo} could not be looked at: {error.message}")
            notes.append(f"{repo} could not be looked at")
            continue
        if one.link is not None:
            found.append((one, one.link))
        elif one.note:
            notes.append(one.note)
    return _shelf(found, notes, problems, plan)


def _ours(pushed: Push, plan: Plan, ports: Ports) -> Published:
    """The commit that this step made."""
    if not pushed.revision:
        return Published(link=None, note=pushed.problem)
    extra = [plan.expect.metrics_file] if plan.expect.metrics_file else []
    return patiently(ports.clock, lambda: ports.hub.results(pushed.repo, pushed.revision, extra), limit_s=LOOK_LIMIT_S)


def _shelf(
    found: Sequence[tuple[Published, ModelLink]], notes: Sequence[str], problems: Sequence[str], plan: Plan
) -> _Shelf:
    """Choose the main repo: the one that was asked for, else the first candidate that got a model."""
    main = next((pair for pair in found if pair[1].kind == "model"), None)
    if main is None:
        others, lost = tuple(link for _, link in found), _unread(plan)
        return _Shelf(others=others, note="; ".join(notes), problems=(*problems, *lost))
    one, link = main
    results = read_results(one.files or {}, plan.expect.metrics_file)
    note = _not_as_asked(link, notes, plan)
    remarks = [words for each, _ in found for words in each.problems if words != note]
    refused = bool(note) and plan.expect.require_model
    rest = tuple(other for _, other in found if other is not link)
    return _Shelf(
        sources=results.sources,
        model=None if refused else link,
        others=(link, *rest) if refused else rest,
        note=note if refused else "",
        curve=results.curve,
        problems=(*problems, *((note,) if note and not refused else ()), *remarks, *results.problems),
    )


def _not_as_asked(link: ModelLink, notes: Sequence[str], plan: Plan) -> str:
    """Why what was published is not the model that was asked for; empty when it is.

    With `require-model` (the default when `model-repo` names one) it then counts as nothing published: who waits for
    that model would not get it.
    """
    asked = plan.expect.model_repo
    if asked and link.repo.lower() != asked.lower():
        where = "a private repo" if link.private else link.repo
        return f"Pushed elsewhere: {where} got commit {link.revision[:7]}; {'; '.join(notes) or f'{asked} did not'}"
    if link.has_weights is False:
        return f"The commit {link.revision[:7]} holds no weights."
    return ""


def _unread(plan: Plan) -> tuple[str, ...]:
    path = plan.expect.metrics_file
    return (f"The metrics file {path} was not read: no model repo got a commit of this Job.",) if path else ()


def _candidates(reading: LogReading, plan: Plan, owner: str) -> list[tuple[str, str]]:
    """Repos to look at, the named one first. A name proves nothing; the look at the repo does."""
    named = [("model", plan.expect.model_repo)] if plan.expect.model_repo else []
    guessed = model_candidates(plan.job.command, plan.expect.config, reading, owner or None)
    return list(dict.fromkeys([*named, *((one.repo_type, one.repo_id) for one in guessed)]))


def _published(kind: str, repo: str, plan: Plan, state: JobState, ports: Ports, owner: str) -> Published:
    since = state.started_at or state.created_at or ports.clock.now()
    until = state.finished_at or ports.clock.now() + timedelta(minutes=1)
    extra = [plan.expect.metrics_file] if plan.expect.metrics_file else []

    def look() -> Published:
        return ports.hub.published(kind, repo, since, until, extra, owner)

    published = patiently(ports.clock, look, limit_s=LOOK_LIMIT_S)
    if published.link is None and state.stage is Stage.COMPLETED:
        ports.clock.sleep(LATE_PUSH_S)  # a commit may show a moment after the Job that made it
        published = patiently(ports.clock, look, limit_s=LOOK_LIMIT_S)
    return published

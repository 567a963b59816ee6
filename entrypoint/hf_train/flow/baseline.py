"""Which earlier run to compare with: the merge base's, else the base branch's newest, else what `baseline` names.

Reports are stored in the bucket (see `shelves`), so no git history is needed; what is trusted of them: see `stored`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hf_train.collect.files import read_metrics_file
from hf_train.collect.reader import LogReader
from hf_train.collect.results import read_results
from hf_train.collect.trust import Source, merge
from hf_train.errors import JobGone, LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.flow.shelves import LOOK_LIMIT_S, QUEUE, family_of, folder_name, home_of, tested
from hf_train.inputs import Inputs
from hf_train.plan import BUCKET
from hf_train.ports import Ports
from hf_train.report import Report
from hf_train.report.stored import Curve, Stored, looks_stored, read_stored
from hf_train.values import JobRef, JobState, Stage

LOG_LIMIT_S = 60.0
MAX_MORE = 10
"""So many stored reports are read beyond those that are wanted: some may be this run's own, or unreadable."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """What this run is compared with.

    Attributes:
        name: Where it comes from, for people.
        runs: Metrics, the one to compare with first.
        curve: Curves of that one.
        problems: Why there is none, or what was ignored on the way, in words.
    """

    name: str = ""
    runs: tuple[Mapping[str, float], ...] = ()
    curve: Curve = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def find(report: Report, inputs: Inputs, ports: Ports) -> Baseline:
    """Look for the baseline. A Hub that does not answer is a problem in words, and then nothing is known.

    Args:
        report: This run, with a plan and the last look at its Job.
        inputs: `baseline` says what is wanted, `gate` how many earlier runs, and whether it does without.
        ports: The world.
    """
    if inputs.baseline == "none" or report.plan is None:
        return Baseline()
    count = max([1, *(condition.runs for condition in inputs.gate)])
    seeker = _Seeker(report, report.plan.job.namespace, count, ports)
    wanted = inputs.baseline or ("release" if inputs.release and report.context.tag else "")
    kind, _, name = wanted.partition(":")
    found = seeker.named(kind, name) if kind else seeker.usual()
    if found.runs or found.problems:
        return found
    if not kind and not any(condition.wants_baseline for condition in inputs.gate):
        return found
    where = wanted or ", ".join(seeker.looked_at) or "an event without a base"
    words = f"There is no baseline: no completed run of this workflow, job and matrix leg is stored for {where}."
    return Baseline(problems=(words,))


@dataclass(slots=True)
class _Seeker:
    """Looks in the places, one after the other."""

    report: Report
    namespace: str
    count: int
    ports: Ports
    problems: list[str] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)

    def usual(self) -> Baseline:
        """The merge base's runs, then the newest of the base branch; on a branch, its earlier runs."""
        found: list[tuple[str, Stored]] = []
        for label, folder in self._usual_places():
            self.looked_at.append(label)
            found += [(label, one) for one in self._stored(label, folder, self._is_earlier)]
            if len(_distinct(found)) >= self.count:
                break
        return self._of(_distinct(found))

    def named(self, kind: str, name: str) -> Baseline:
        """What the input `baseline` names."""
        if kind == "release":
            return self._release()
        if kind == "file":
            return self._file(name)
        if kind == "model":
            return self._model(name)
        if kind in {"run", "job"}:
            return self._run(kind, name)
        folder = {"branch": "branches", "tag": "tags", "commit": "commits"}[kind]
        label = f"{kind} {name[:7] if kind == 'commit' else name}"
        family = family_of(self.report)
        if kind != "commit" or len(name) == 40:
            found = self._stored(label, f"{family}/{folder}/{folder_name(name)}", self._is_other)
            if found or kind != "tag":
                return self._of([(label, one) for one in found])
        # A tag has no runs of its own as a rule: those of its commit count. A short hash is looked up as well.
        sha = self._commit(f"tags/{name}" if kind == "tag" else name)
        places = [f"{family}/commits/{sha}"] if sha else []
        return self._of([(label, one) for place in places for one in self._stored(label, place, self._is_other)])

    def _release(self) -> Baseline:
        """The run of the last release before this one."""
        if self.ports.releases is None:
            return Baseline(problems=("The last release could not be looked up: that takes a GitHub token.",))
        tag, problem = self.ports.releases.previous(self.report.context.tag)
        if problem:
            return Baseline(problems=(f"The last release could not be looked up: {problem}.",))
        return self.named("tag", tag) if tag else Baseline(problems=("There is no earlier release to compare with.",))

    def _usual_places(self) -> Iterator[tuple[str, str]]:
        context, family = self.report.context, family_of(self.report)
        branch = context.ref.removeprefix("refs/heads/") if context.ref.startswith("refs/heads/") else ""
        queue = QUEUE.fullmatch(branch)
        base_ref, base_sha = (queue["base"], queue["sha"]) if queue else (branch, "")
        if context.pull is not None:
            base_ref, base_sha = context.pull.base_ref, context.pull.base_sha
            if not base_ref and self.ports.pulls is not None:
                base_ref = self.ports.pulls.base_of(context.pull.number)[0]
            merge_base = self._merge_base(base_ref or base_sha)
            if merge_base:
                yield f"merge base {merge_base[:7]}", f"{family}/commits/{merge_base}"
            if base_sha == merge_base:
                base_sha = ""
        if base_sha:
            yield f"base commit {base_sha[:7]}", f"{family}/commits/{folder_name(base_sha)}"
        if base_ref:
            yield f"branch {base_ref}", f"{family}/branches/{folder_name(base_ref)}"

    def _merge_base(self, base: str) -> str:
        """Of the base branch as it is now and the commit that was trained.

        That is the fork point, or, when the pull request's merge commit was trained, the tip of the base that went
        into it. A base commit that was force-pushed away is not asked for.
        """
        head = tested(self.report) or self.report.context.head_sha
        if not base or not head or self.ports.pulls is None:
            return ""
        return self.ports.pulls.merge_base(base, head)[0]  # without it the event's own base commit is next

    def _commit(self, ref: str) -> str:
        if self.ports.pulls is None:
            self.problems.append(f"{ref} could not be looked up: that takes a GitHub token.")
            return ""
        sha, problem = self.ports.pulls.commit(ref)
        if problem:
            self.problems.append(f"{ref} could not be looked up: {problem}.")
        return sha

    def _is_other(self, one: Stored) -> bool:
        """Not this run itself, nor an earlier attempt of it."""
        context = self.report.context
        mine = bool(self.report.state and one.job == self.report.state.ref.id)
        return not mine and not (context.run_id and str(one.run) == context.run_id)

    def _is_earlier(self, one: Stored) -> bool:
        """Nor one of the same pull request; on a branch, none that was started later (this may be a re-run)."""
        context = self.report.context
        if not self._is_other(one) or (context.pull is not None and one.pull == context.pull.number):
            return False
        return context.pull is not None or not context.run_id.isdecimal() or one.run < int(context.run_id)

    def _stored(self, label: str, folder: str, accept: Callable[[Stored], bool]) -> list[Stored]:
        bucket, most = f"{self.namespace}/{BUCKET}", self.count + MAX_MORE
        texts = self._ask(lambda: self.ports.reports.newest(bucket, folder, most)) or ()
        runs: list[Stored] = []
        for text in texts:
            one = read_stored(text)
            if isinstance(one, str):
                self.problems.append(f"A stored report of {label} is ignored: {one}.")
            elif accept(one):
                runs.append(one)
        return runs

    def _ask(self, call: Callable[[], T]) -> T | None:
        try:
            return patiently(self.ports.clock, call, limit_s=LOOK_LIMIT_S)
        except (LostSight, RefusedByHub) as error:
            self.problems.append(f"The baseline could not be looked for: {error.message}")
            return None

    def _run(self, kind: str, name: str) -> Baseline:
        """A workflow run or a Job by its id: its stored report, else (it was detached, perhaps) its Job's log."""
        label = f"{kind} {name}"
        stored = self._stored(label, f"{home_of(self.report)}/{kind}s/{folder_name(name)}", self._is_other)
        legs = [one for one in stored if one.key == self.report.key] or stored
        if len({one.key for one in legs}) > 1:
            words = f"{label} has {len({one.key for one in legs})} legs, and none is this one; name one with job:ID."
            return Baseline(problems=(*self.problems, words))
        if legs:
            return self._of([(label, one) for one in legs])
        jobs = self._jobs(kind, name)
        if len(jobs) > 1:
            return Baseline(problems=(f"{label} has {len(jobs)} Jobs and no stored report; name one with job:ID.",))
        return self._log(label, jobs[0]) if jobs else Baseline(problems=tuple(self.problems))

    def _jobs(self, kind: str, name: str) -> Sequence[JobState]:
        if kind == "run":
            found = self._ask(lambda: self.ports.hub.find(self.namespace, {"hft-run": name})) or ()
            return [one for one in found if one.stage is Stage.COMPLETED]
        ref = JobRef(id=name, namespace=self.namespace, url="")
        try:
            state = self._ask(lambda: self.ports.hub.look(ref))
        except JobGone:
            return ()
        if state is not None and state.stage is not Stage.COMPLETED:
            self.problems.append(f"Job {name} is no baseline: its stage is {state.stage_text or state.stage}.")
        return [state] if state is not None and state.stage is Stage.COMPLETED else []

    def _log(self, label: str, state: JobState) -> Baseline:
        reader, clock = LogReader(), self.ports.clock
        feed = self.ports.hub.follow(state.ref)
        began = clock.monotonic()
        try:
            while clock.monotonic() - began < LOG_LIMIT_S:
                lines = feed.take(1.0)
                reader.feed("".join(f"{line}\n" for line in lines))
                if feed.ended and not lines:
                    break
        finally:
            feed.close()
        reading = reader.close()
        if not feed.ended:
            return Baseline(
                problems=(*self.problems, f"There is no baseline: the log of {label} could not be read to its end.")
            )
        if reading.status == "diverged":
            return Baseline(problems=(*self.problems, f"{label} is no baseline: it diverged."))
        curve = {name: tuple(points) for name, points in reading.curve.items()}
        return self._numbers(f"{label} (log)", (Source("log", reading.metrics),), curve)

    def _file(self, path: str) -> Baseline:
        text = self.ports.workspace.read_text(path)
        if text is None:
            return Baseline(problems=(f"The baseline file {path} is not in the workspace, or it is too large.",))
        if looks_stored(text):
            one = read_stored(text)
            if isinstance(one, str):
                return Baseline(problems=(f"The baseline file {path} cannot be read: {one}.",))
            return self._of([(path, one)])
        metrics = read_metrics_file(text)
        self.problems += [f"{path}: {problem}" for problem in metrics.problems]
        return self._numbers(path, (Source("metrics-file", metrics.values),), {})

    def _model(self, name: str) -> Baseline:
        repo, _, revision = name.partition("@")
        found = self._ask(lambda: self.ports.hub.results(repo, revision or None))
        if found is None or found.link is None:
            note = (f"There is no baseline: {found.note}.",) if found else ()
            return Baseline(problems=(*self.problems, *note))
        link = found.link
        hidden = link.private and self.report.context.private is False
        label = f"{'a private model' if hidden else link.repo} at {link.revision[:7]}"
        results = read_results(found.files or {})
        self.problems += results.problems
        return self._numbers(label, results.sources, {name: tuple(points) for name, points in results.curve.items()})

    def _numbers(self, label: str, sources: Sequence[Source], curve: Curve) -> Baseline:
        values = {metric.name: metric.value for metric in merge(sources) if metric.value is not None}
        finite = {name: value for name, value in values.items() if abs(value) < float("inf")}
        if not finite:
            return Baseline(problems=(*self.problems, f"There is no baseline: {label} has no metrics."))
        return Baseline(name=label, runs=(finite,), curve=curve, problems=tuple(self.problems))

    def _of(self, found: Sequence[tuple[str, Stored]]) -> Baseline:
        runs = [(label, one) for label, one in found if one.metrics][: self.count]
        if not runs:
            return Baseline(problems=tuple(self.problems))
        label, first = runs[0]
        metrics = tuple(one.metrics for _, one in runs)
        return Baseline(name=label, runs=metrics, curve=first.curve, problems=tuple(self.problems))


def _distinct(found: Sequence[tuple[str, Stored]]) -> list[tuple[str, Stored]]:
    """Without a Job that is there twice: under its commit and its branch, or reported again by a re-run."""
    seen: set[str] = set()
    kept = []
    for label, one in found:
        if one.job not in seen:
            kept.append((label, one))
        seen |= {one.job} - {""}
    return kept

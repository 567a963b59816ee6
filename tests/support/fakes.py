"""Fakes of the ports. They obey the contract that the adapters obey; time is theirs and costs nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from hf_train.errors import BadInput, JobGone, RefusedByHub, TransientHubError
from hf_train.ports import Account, Card, Gauge, Head, LogFeed, Ports, Published, Survey
from hf_train.values import Annotation, Flavor, GpuUse, JobRef, JobSpec, JobState, Secret, Snapshot, Stage

START = datetime(2026, 12, 2, 6, 0, tzinfo=UTC)


class FakeClock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.on_sleep: Callable[[float], None] | None = None

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += max(0.0, seconds)
        if self.on_sleep:
            self.on_sleep(self.seconds)


@dataclass
class FakeFeed:
    """A log stream: lines, each at its own second after the connection."""

    clock: FakeClock
    script: list[tuple[float, str]]
    closes: bool = True
    batch: int | None = None
    held: int = 0
    problems: tuple[str, ...] = ()
    resumed: int = 0
    closed: bool = False

    def take(self, timeout_s: float) -> Sequence[str]:
        deadline = self.clock.seconds + timeout_s
        due = [item for item in self.script if item[0] <= deadline][: self.batch]
        if due:
            self.clock.seconds = max(self.clock.seconds, min(at for at, _ in self.script))
            self.script = [item for item in self.script if item not in due]
            self.held -= len(due)
            return [line for _, line in due]
        self.clock.sleep(timeout_s)
        return []

    @property
    def ended(self) -> bool:
        return self.closes and len(self.script) <= max(self.held, 0)

    def resume(self) -> None:
        self.resumed += 1
        self.clock.sleep(0.2)  # a connection takes time

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeGauge:
    """Use of GPUs that is known already."""

    gpus: tuple[GpuUse, ...]
    closed: bool = False

    def use(self) -> Sequence[GpuUse]:
        return self.gpus

    def close(self) -> None:
        self.closed = True


Step = Stage | Exception | JobState


@dataclass
class FakeHub:
    """A Hub with one Job whose life is a script: `(second, stage or error)`."""

    clock: FakeClock
    life: list[tuple[float, Step]] = field(default_factory=lambda: [(0.0, Stage.RUNNING), (10.0, Stage.COMPLETED)])
    log: list[tuple[float, str]] = field(default_factory=list)
    message: str = ""
    node_lives: dict[int, list[tuple[float, Step]]] = field(default_factory=dict)
    """Lives of further nodes, by their number; those without one live as the first does."""
    messages: dict[int, str] = field(default_factory=dict)
    logs: dict[int, list[tuple[float, str]]] = field(default_factory=dict)
    ended_at: dict[str, datetime] = field(default_factory=dict)
    log_batch: int | None = None
    log_held: int = 0
    repos: dict[str, Published] = field(default_factory=dict)
    asked_for: list[tuple[str, str]] = field(default_factory=list)
    submit_errors: list[Exception | BaseException] = field(default_factory=list)
    submit_stores_before_error: bool = False
    existing: list[JobState] = field(default_factory=list)
    flavors: Sequence[Flavor] = (Flavor(name="cpu-basic", cpu="2 vCPU", ram="16 GB", usd_per_minute=0.000167),)
    endpoint: str = "https://hub.test"
    submitted: list[tuple[JobSpec, dict[str, str]]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    relabelled: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    looks: int = 0
    stored: list[JobState] = field(default_factory=list)
    feed: FakeFeed | None = None
    gpus: tuple[GpuUse, ...] = ()
    gauged: list[str] = field(default_factory=list)
    gauge_open: FakeGauge | None = None

    def whoami(self) -> Account:
        return Account(name="alice", role="write")

    def job_owner(self) -> str:
        return "alice"

    def hardware(self) -> Sequence[Flavor]:
        return self.flavors

    def submit(self, spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        number = len(self.submitted) + 1
        self.submitted.append((spec, {name: value.reveal() for name, value in secrets.items()}))
        ref = JobRef(
            id=f"{number:024x}", namespace=spec.namespace, url=f"{self.endpoint}/jobs/{spec.namespace}/{number:024x}"
        )
        state = JobState(
            ref=ref, stage=Stage.SCHEDULING, created_at=self.clock.now(), labels=spec.labels,
            image=spec.image, command=spec.command, flavor=spec.flavor,
            env=spec.env, secrets=spec.secrets, volumes=spec.volumes,
        )  # fmt: skip
        if self.submit_errors:
            error = self.submit_errors.pop(0)
            if self.submit_stores_before_error:
                self.stored.append(state)
            raise error
        self.stored.append(state)
        return state

    def look(self, ref: JobRef) -> JobState:
        self.looks += 1
        if ref.id in self.cancelled:
            return self._state(ref, Stage.CANCELED)
        step: Step = Stage.SCHEDULING
        node = self._stored(ref).node
        for at, one in self.node_lives.get(node, self.life):
            if at <= self.clock.seconds:
                step = one
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, JobState) else self._state(ref, step)

    def _stored(self, ref: JobRef) -> JobState:
        jobs = (*self.stored, *self.existing)
        return next((one for one in jobs if one.ref.id == ref.id), JobState(ref=ref, stage=Stage.SCHEDULING))

    def _state(self, ref: JobRef, stage: Stage) -> JobState:
        stored = self._stored(ref)
        message = self.messages.get(stored.node, "") if self.messages else self.message
        if stage.is_terminal:
            self.ended_at.setdefault(ref.id, self.clock.now())
        return replace(
            stored,
            stage=stage,
            message=message if stage.is_terminal else "",
            started_at=None if stage is Stage.SCHEDULING else START,
            finished_at=self.ended_at.get(ref.id) if stage.is_terminal else None,
            running_s=self.clock.seconds,
            queued_s=1.0,
        )

    def glance(self, ref: JobRef) -> JobState | None:
        self.looks -= 1  # it is no poll
        with contextlib.suppress(JobGone, RefusedByHub, TransientHubError):
            return self.look(ref)
        return None

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        jobs = [*self.existing, *self.stored]
        return [job for job in reversed(jobs) if all(job.labels.get(k) == v for k, v in labels.items())]

    def cancel(self, ref: JobRef) -> None:
        if not any(ref.id == one.ref.id for one in (*self.stored, *self.existing)):
            raise JobGone(ref.id)
        self.cancelled.append(ref.id)

    def relabel(self, ref: JobRef, labels: Mapping[str, str]) -> None:
        self.relabelled.append((ref.id, dict(labels)))
        for jobs in (self.existing, self.stored):
            jobs[:] = [replace(one, labels=dict(labels)) if one.ref.id == ref.id else one for one in jobs]

    def follow(self, ref: JobRef) -> LogFeed:
        node = self._stored(ref).node
        feed = FakeFeed(self.clock, list(self.logs.get(node, self.log)), batch=self.log_batch, held=self.log_held)
        self.feed = self.feed if node else feed
        return feed

    def gauge(self, ref: JobRef) -> Gauge:
        self.gauged.append(ref.id)
        self.gauge_open = FakeGauge(self.gpus)
        return self.gauge_open

    def published(
        self, kind: str, repo: str, since: datetime, until: datetime, extra: Sequence[str], author: str = ""
    ) -> Published:
        del kind, since, until, extra
        self.asked_for.append((repo, author))
        return self.repos.get(repo, Published(link=None, note=f"{repo} does not exist, or this token cannot see it"))

    def results(self, repo: str, revision: str | None, extra: Sequence[str] = ()) -> Published:
        del extra
        name = f"{repo}@{revision}" if revision else repo
        return self.repos.get(name, Published(link=None, note=f"{repo} does not exist, or this token cannot see it"))


@dataclass
class FakeWorkspace:
    """A checkout with these files."""

    files: dict[str, str] = field(default_factory=lambda: {"train.py": "print(1)"})
    folders: set[str] = field(default_factory=lambda: {"."})
    uploads: list[str] = field(default_factory=list)
    problem: str = ""
    sha: str = "a" * 40

    def is_file(self, path: str) -> bool:
        return path in self.files

    def is_folder(self, path: str) -> bool:
        return path in self.folders

    def read_text(self, path: str) -> str | None:
        return self.files.get(path)

    def survey(self, folder: str, exclude: Sequence[str], extra: Mapping[PurePosixPath, bytes]) -> Survey:
        del exclude, extra
        if self.problem:
            raise BadInput([self.problem])
        return Survey(digest=f"{abs(hash(folder)):064x}"[:64], files=len(self.files), size=100, sha=self.sha)

    def sends(self, survey: Survey, path: str) -> bool:
        del survey
        return path in self.files

    def upload(self, survey: Survey, namespace: str) -> Snapshot:
        self.uploads.append(survey.digest)
        bucket = f"{namespace}/jobs-artifacts"
        return Snapshot(digest=survey.digest, bucket=bucket, path=f"snapshots/{survey.digest}", files=1, size=100)


@dataclass
class FakeScripts:
    """Scripts by URL."""

    content: bytes = b"print(1)"

    def fetch(self, url: str) -> bytes:
        del url
        return self.content


@dataclass
class FakePulls:
    """A pull request that takes comments, or does not."""

    problem: str = ""
    bodies: list[str] = field(default_factory=list)
    checks: list[tuple[str, str | None, str]] = field(default_factory=list)
    merge_bases: dict[tuple[str, str], str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    compared: list[tuple[str, str]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    limit: Callable[[str], float] | None = None
    """Seconds of quiet that GitHub asks for instead of taking this comment; 0 takes it."""
    asked_pause: float = 0.0

    def pause_s(self) -> float:
        return self.asked_pause

    def upsert_comment(self, number: int, key: str, body: str) -> tuple[str, str]:
        if self.problem:
            return "", self.problem
        assert body.startswith(key)
        self.asked_pause = self.limit(body) if self.limit else 0.0
        if self.asked_pause:
            return "", "GitHub limits how often it may be written to"
        self.bodies.append(body)
        return f"https://github.test/pull/{number}#issuecomment-1", ""

    def base_of(self, number: int) -> tuple[str, str]:
        del number
        return ("", self.problem) if self.problem else ("main", "")

    def merge_base(self, base: str, head: str) -> tuple[str, str]:
        self.compared.append((base, head))
        return self.merge_bases.get((base, head), ""), self.problem

    def commit(self, ref: str) -> tuple[str, str]:
        sha = self.commits.get(ref, "")
        return sha, "" if sha else self.problem or "GitHub does not know it"

    def previous_comment(self, number: int, key: str) -> str:
        del number, key
        return self.bodies[-1] if self.bodies else ""

    def pending_check(self, sha: str, name: str) -> str:
        del sha
        mine = [(conclusion, title) for other, conclusion, title in self.checks if other == name]
        return mine[-1][1] if mine and mine[-1][0] is None else ""

    def write_check(
        self,
        sha: str,
        name: str,
        conclusion: str | None,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
    ) -> str:
        del sha, summary
        self.checks.append((name, conclusion, title))
        self.annotations += annotations
        return self.problem


@dataclass
class FakePeople:
    """GitHub's word on who may do what."""

    permissions: dict[str, str] = field(default_factory=dict)
    heads: dict[int, Head] = field(default_factory=dict)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    problem: str = ""

    def permission(self, login: str) -> tuple[str, str]:
        return self.permissions.get(login, "read") if not self.problem else "", self.problem

    def head(self, number: int) -> tuple[Head | None, str]:
        return self.heads.get(number) if not self.problem else None, self.problem

    def pull_of(self, sha: str) -> tuple[int | None, str]:
        found = [number for number, head in self.heads.items() if head.sha == sha]
        return (found[0], "") if len(found) == 1 else (None, self.problem or f"{len(found)} pull requests")

    def react(self, number: int, comment_id: int, content: str) -> str:
        del number
        self.reactions.append((comment_id, content))
        return self.problem


@dataclass
class FakePublisher:
    """Pushes, or raises what it was given."""

    revision: str = "d" * 40
    errors: list[Exception] = field(default_factory=list)
    pushed: list[tuple[str, str, str, str]] = field(default_factory=list)

    def publish(self, bucket: str, folder: str, repo: str, title: str, since: datetime) -> str:
        del since
        if self.errors:
            raise self.errors.pop(0)
        self.pushed.append((bucket, folder, repo, title))
        return self.revision


@dataclass
class FakeCards:
    """One card on a main branch that has these commits, the newest first; or raises what it was given."""

    text: str = "---\nlicense: mit\n---\n# Model\n"
    commits: tuple[str, ...] = ("d" * 40,)
    errors: list[Exception] = field(default_factory=list)
    written: list[tuple[str, str, str]] = field(default_factory=list)

    def read(self, repo: str) -> Card:
        del repo
        if self.errors:
            raise self.errors.pop(0)
        return Card(text=self.text, commits=self.commits)

    def write(self, repo: str, text: str, parent: str, title: str) -> str:
        self.written.append((repo, parent, title))
        self.text = text
        self.commits = (f"{len(self.written):040x}", *self.commits)
        return self.commits[0]


@dataclass
class FakeTags:
    """Tags of model repos; or raises what it was given."""

    tags: dict[str, str] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)

    def tag(self, repo: str, name: str, revision: str, message: str) -> bool:
        del message
        if self.errors:
            raise self.errors.pop(0)
        there = self.tags.setdefault(f"{repo}@{name}", revision)
        if there != revision:
            raise RefusedByHub("Tag is taken", f"{repo} has the tag {name} already, at commit {there[:7]}.")
        return True


@dataclass
class FakeReleases:
    """Releases by their tags, the oldest first."""

    bodies: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    def previous(self, tag: str) -> tuple[str, str]:
        before = [one for one in self.bodies if one != tag]
        return before[-1] if before and not self.problem else "", self.problem

    def edit(self, tag: str, change: Callable[[str], str]) -> tuple[str, str]:
        if self.problem or tag not in self.bodies:
            return "", self.problem or "there is no release of this tag"
        self.bodies[tag] = change(self.bodies[tag])
        return f"https://github.test/octo/proj/releases/tag/{tag}", ""


@dataclass
class FakeTrackers:
    """Databases by their bucket; or raises what it was given."""

    stored: dict[str, list[bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    error: Exception | None = None

    def databases(self, bucket: str, most: int) -> Sequence[bytes]:
        self.asked.append(bucket)
        if self.error:
            raise self.error
        return [one for one in self.stored.get(bucket, []) if len(one) <= most]


@dataclass
class RecordingConsole:
    """Keeps what was said."""

    said: list[str] = field(default_factory=list)
    remote_lines: list[str] = field(default_factory=list)
    annotations: list[tuple[str, str, str]] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)
    secrets: tuple[str, ...] = ()

    def info(self, text: str = "") -> None:
        self.said.append(text)

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        self.said.append(f"[{title}")
        yield
        self.said.append("]")

    def notice(self, title: str, message: str) -> None:
        self.annotations.append(("notice", title, message))

    def warning(self, title: str, message: str) -> None:
        self.annotations.append(("warning", title, message))

    def error(self, title: str, message: str, file: str = "", line: int = 0) -> None:
        self.annotations.append(("error", title, message))
        if file:
            self.places.append((file, line))

    @contextlib.contextmanager
    def untrusted(self) -> Iterator[None]:
        yield

    def whole(self, lines: Sequence[str], *, last: bool = False) -> Sequence[str]:
        return lines

    def remote(self, lines: Sequence[str]) -> None:
        self.remote_lines += lines

    def redact(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


@dataclass
class MemoryFiles:
    """Keeps what was written."""

    output_values: dict[str, str] = field(default_factory=dict)
    summaries: list[str] = field(default_factory=list)
    log_lines: list[str] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] | None = None
    states: list[dict[str, str]] = field(default_factory=list)

    def outputs(self, values: Mapping[str, str]) -> None:
        self.output_values.update(values)

    def summary(self, markdown: str) -> None:
        self.summaries.append(markdown)

    def log(self, lines: Sequence[str]) -> None:
        self.log_lines += lines

    def report(self, name: str, content: str) -> str:
        self.reports[name] = content
        return f"report/{name}"

    def remember(self, state: Mapping[str, str]) -> None:
        self.state = dict(state)
        self.states.append(dict(state))

    def forget(self) -> None:
        self.state = None


@dataclass
class FakeReports:
    """A bucket of reports."""

    stored: dict[str, str] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    problem: str = ""

    def save(self, bucket: str, paths: Sequence[str], content: str) -> None:
        self._fail(paths[0])
        self.stored |= {f"{bucket}/{path}": content for path in paths}

    def _fail(self, path: str) -> None:
        if self.problem:
            raise TransientHubError(self.problem)
        if self.errors and path.startswith("reports/"):
            raise self.errors.pop(0)

    def newest(self, bucket: str, folder: str, count: int) -> Sequence[str]:
        self._fail(folder)
        inside = sorted((path for path in self.stored if path.startswith(f"{bucket}/{folder}/")), reverse=True)
        return [self.stored[path] for path in inside[:count]]

    def contents(self, bucket: str, paths: Sequence[str], most: int) -> Mapping[str, bytes]:
        self._fail(paths[0])
        found = {path: self.stored[f"{bucket}/{path}"].encode() for path in paths if f"{bucket}/{path}" in self.stored}
        return {path: content for path, content in found.items() if len(content) <= most}


@dataclass
class World:
    """All fakes of one run."""

    clock: FakeClock = field(default_factory=FakeClock)
    hub: FakeHub = field(init=False)
    pulls: FakePulls = field(default_factory=FakePulls)
    workspace: FakeWorkspace = field(default_factory=FakeWorkspace)
    scripts: FakeScripts = field(default_factory=FakeScripts)
    console: RecordingConsole = field(default_factory=RecordingConsole)
    files: MemoryFiles = field(default_factory=MemoryFiles)
    reports: FakeReports = field(default_factory=FakeReports)
    people: FakePeople = field(default_factory=FakePeople)
    publisher: FakePublisher = field(default_factory=FakePublisher)
    cards: FakeCards = field(default_factory=FakeCards)
    tags: FakeTags = field(default_factory=FakeTags)
    releases: FakeReleases = field(default_factory=FakeReleases)
    trackers: FakeTrackers = field(default_factory=FakeTrackers)

    def __post_init__(self) -> None:
        self.hub = FakeHub(self.clock)

    @property
    def ports(self) -> Ports:
        """As the flow takes them."""
        return Ports(
            hub=self.hub,
            pulls=self.pulls,
            workspace=self.workspace,
            scripts=self.scripts,
            console=self.console,
            files=self.files,
            reports=self.reports,
            clock=self.clock,
            people=self.people,
            publisher=self.publisher,
            cards=self.cards,
            tags=self.tags,
            releases=self.releases,
            trackers=self.trackers,
        )

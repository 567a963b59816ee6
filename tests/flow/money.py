"""A Hub that counts money: each Job has a life of its own, and every launch is held against the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hf_train.errors import JobGone
from hf_train.ports import LogFeed
from hf_train.values import JobRef, JobSpec, JobState, Secret, Stage
from support.fakes import FakeFeed, FakeHub


@dataclass(frozen=True, kw_only=True)
class Life:
    """How one Job goes.

    Attributes:
        seconds: How long it runs.
        stage: Its last stage.
        message: The Hub's words at its end.
        log: What it prints, at its second.
        error: What the POST raises; the Job exists all the same when `stored`.
        stored: Whether the Hub made the Job of a POST that raised.
    """

    seconds: float = 60.0
    stage: Stage = Stage.COMPLETED
    message: str = ""
    log: tuple[tuple[float, str], ...] = ()
    error: Exception | None = None
    stored: bool = False


@dataclass
class MoneyHub(FakeHub):
    """Jobs that live one after the other, each by its script; the last script is for all that follow."""

    lives: list[Life] = field(default_factory=lambda: [Life()])
    jobs: dict[str, tuple[JobState, Life]] = field(default_factory=dict)
    dearest: float = 0.0
    dearest_of_all: float = 0.0
    posts: int = 0
    _before: frozenset[str] = frozenset()

    def forget(self) -> None:
        """Another run begins: what was paid until now is not that run's."""
        self._before = frozenset(self.jobs)
        self.dearest = self.dearest_of_all = 0.0

    def submit(self, spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        life = self.lives[min(self.posts, len(self.lives) - 1)]
        self.posts += 1
        ref = JobRef(id=f"{self.posts:024x}", namespace=spec.namespace, url=f"{self.endpoint}/jobs/a/{self.posts}")
        state = JobState(
            ref=ref, stage=Stage.SCHEDULING, created_at=self.clock.now(), labels=spec.labels,
            image=spec.image, command=spec.command, flavor=spec.flavor,
            env=spec.env, secrets=spec.secrets, volumes=spec.volumes,
        )  # fmt: skip
        self.submitted.append((spec, {name: value.reveal() for name, value in secrets.items()}))
        if life.error is None or life.stored:
            self.jobs[ref.id] = (state, life)
        if life.error is None or life.stored:
            self.dearest = max(self.dearest, self._owed(ref.id, spec, self._before))
            self.dearest_of_all = max(self.dearest_of_all, self._owed(ref.id, spec, frozenset()) + self._others())
        if life.error is not None:
            raise life.error
        return state

    def _owed(self, new: str, spec: JobSpec, but: frozenset[str]) -> float:
        """What the Jobs cost when the new one runs to its timeout; what has ended counts as it was."""
        total = self._worst(spec)
        for name, (state, _) in self.jobs.items():
            if name == new or name in but:
                continue
            now = self.look(state.ref)
            own = next(one for one, _ in self.submitted if one.labels == state.labels)
            total += self._ran(now) if now.stage.is_terminal else self._worst(own)
        return total

    def _others(self) -> float:
        """What Jobs of before cost; one that runs, at worst."""
        minutes = {one.ref.id: int(one.labels.get("hft-minutes", "0")) for one in self.existing}
        return sum(
            self._ran(one) if one.stage.is_terminal else self._price(one.flavor) * minutes[one.ref.id]
            for one in self.existing
        )

    def _worst(self, spec: JobSpec) -> float:
        return self._price(spec.flavor) * -(-spec.timeout_s // 60) * (spec.attempts or 1)

    def _ran(self, state: JobState) -> float:
        return self._price(state.flavor) * -(-(state.running_s or 0.0) // 60)

    def _price(self, name: str) -> float:
        return next((one.usd_per_minute or 0.0 for one in self.flavors if one.name == name), 0.0)

    def look(self, ref: JobRef) -> JobState:
        self.looks += 1
        if ref.id not in self.jobs:
            raise JobGone(ref.id)
        state, life = self.jobs[ref.id]
        assert state.created_at is not None
        ran = (self.clock.now() - state.created_at).total_seconds()
        if ref.id in self.cancelled:
            return replace(state, stage=Stage.CANCELED, running_s=0.0)
        limit = next(spec.timeout_s for spec, _ in self.submitted if spec.labels == state.labels)
        if ran < min(life.seconds, limit):
            return replace(state, stage=Stage.RUNNING, started_at=state.created_at, running_s=ran)
        ended = state.created_at + timedelta(seconds=min(life.seconds, limit))
        cut = limit < life.seconds
        return replace(
            state,
            stage=Stage.ERROR if cut else life.stage,
            message="Job timeout" if cut else life.message,
            started_at=state.created_at,
            finished_at=ended,
            running_s=min(life.seconds, limit),
            queued_s=0.0,
        )

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        states = [self.look(state.ref) for state, _ in self.jobs.values()]
        found = [*self.existing, *states]
        return [one for one in reversed(found) if all(one.labels.get(k) == v for k, v in labels.items())]

    def cancel(self, ref: JobRef) -> None:
        self.cancelled.append(ref.id)

    def follow(self, ref: JobRef) -> LogFeed:
        self.feed = FakeFeed(self.clock, [(self.clock.seconds + at, line) for at, line in self.jobs[ref.id][1].log])
        return self.feed

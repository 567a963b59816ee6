"""A fake of `ports.Schedules`, with the faults that a flow must survive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hf_train.values import JobSpec, Scheduled, Secret
from support.fakes import FakeClock


@dataclass
class FakeSchedules:
    """Scheduled Jobs in memory.

    Attributes:
        clock: Time of their making.
        there: What there is.
        calls: `create`, and `remove ID`, in order.
        fewest: How few there were after a remove; None before the first.
        specs: Specs of the creates.
        secrets: Values of their secrets.
        create_errors: Raised by the next creates.
        kept_on_error: Whether a create that raises has made it all the same.
        remove_errors: Raised by the next removes.
        rival: What another step makes at the same moment.
    """

    clock: FakeClock
    there: list[Scheduled] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    fewest: int | None = None
    specs: list[JobSpec] = field(default_factory=list)
    secrets: list[dict[str, str]] = field(default_factory=list)
    create_errors: list[Exception] = field(default_factory=list)
    kept_on_error: bool = False
    remove_errors: list[Exception] = field(default_factory=list)
    rival: Scheduled | None = None

    def create(
        self, spec: JobSpec, secrets: Mapping[str, Secret], cron: str, *, suspend: bool | None, concurrency: bool | None
    ) -> Scheduled:
        self.calls.append("create")
        self.specs.append(spec)
        self.secrets.append({name: value.reveal() for name, value in secrets.items()})
        self.clock.sleep(1.0)
        one = Scheduled(
            id=f"{len(self.calls):024x}",
            namespace=spec.namespace,
            schedule=cron,
            suspend=bool(suspend),
            concurrency=bool(concurrency),
            image=spec.image,
            command=spec.command,
            flavor=spec.flavor,
            labels=dict(spec.labels),
            created_at=self.clock.now(),
        )
        error = self.create_errors.pop(0) if self.create_errors else None
        if error is None or self.kept_on_error:
            self.there.append(one)
        if error is not None:
            raise error
        if self.rival is not None:
            self.there.append(self.rival)
        return one

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Scheduled]:
        found = [
            one
            for one in self.there
            if one.namespace == namespace and all(one.labels.get(name) == value for name, value in labels.items())
        ]
        return sorted(found, key=lambda one: one.created_at or self.clock.now(), reverse=True)

    def remove(self, namespace: str, name: str) -> None:
        self.calls.append(f"remove {name}")
        if self.remove_errors:
            raise self.remove_errors.pop(0)
        self.there = [one for one in self.there if (one.namespace, one.id) != (namespace, name)]
        self.fewest = min(len(self.there), self.fewest if self.fewest is not None else len(self.there))

"""Renew the lease of a Job that is followed. A renewal that fails is tried at the next look; the Job decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from hf_train.errors import JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.flow.prepare import patiently
from hf_train.plan import BUCKET, Plan
from hf_train.plan.lease import FILE, Lease, lease_of
from hf_train.ports import Ports
from hf_train.values import JobState

RENEWALS = 4
"""So often is a lease renewed in its own time: three lost requests in a row end nothing."""


def grant(plan: Plan, ports: Ports) -> None:
    """Write the file for the first time, before there is a Job: a volume must exist.

    Raises:
        RefusedByHub: The bucket may not be written.
        LostSight: The Hub does not answer.
    """
    if (lease := lease_of(plan.job.labels)) is not None:
        patiently(ports.clock, lambda: _write(lease, plan.job.namespace, ports))


@dataclass(slots=True)
class Keeper:
    """Renews the lease of one Job.

    Attributes:
        ports: The world.
    """

    ports: Ports
    _renewed: float | None = field(default=None, init=False)
    _said: bool = field(default=False, init=False)

    def seen(self, state: JobState) -> None:
        """Called after each look at the Job."""
        lease = lease_of(state.labels)
        if lease is None or state.stage.is_terminal:
            return
        now = self.ports.clock.monotonic()
        if self._renewed is not None and now - self._renewed < lease.seconds / RENEWALS:
            return
        try:
            _write(lease, state.ref.namespace, self.ports)
        except (TransientHubError, RefusedByHub, JobGone, LostSight) as error:
            if not self._said:
                self._said = True
                self.ports.console.warning(
                    "Lease", f"It could not be renewed ({error}); the Job ends itself after {lease.seconds} s without."
                )
        else:
            self._renewed, self._said = now, False


def _write(lease: Lease, namespace: str, ports: Ports) -> None:
    ports.reports.save(f"{namespace}/{BUCKET}", [f"{lease.folder}/{FILE}"], f"{ports.clock.now().isoformat()}\n")

"""How a Job uses the GPUs that are paid for, beside its watch: it changes no verdict and delays nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hf_train.plan import Plan
from hf_train.ports import Gauge, Ports
from hf_train.report.gpus import idle_words
from hf_train.values import GpuUse, JobState, Stage


@dataclass(slots=True)
class Meter:
    """Reads the use of one Job's GPUs while it runs; nothing for a flavor without any.

    Attributes:
        plan: What runs.
        ports: The world.
    """

    plan: Plan
    ports: Ports
    _gauge: Gauge | None = field(default=None, init=False)

    def seen(self, state: JobState) -> JobState:
        """A look at the Job: the first that runs opens the stream. Returns the look."""
        flavor = self.plan.budget.flavor
        if self._gauge is None and state.stage is Stage.RUNNING and flavor is not None and flavor.gpus:
            self._gauge = self.ports.hub.gauge(state.ref)
        return state

    def close(self) -> tuple[GpuUse, ...]:
        """Stop reading; what was seen. GPUs that idled are a warning."""
        if self._gauge is None:
            return ()
        used = tuple(self._gauge.use())
        self._gauge.close()
        if words := idle_words(used):
            self.ports.console.warning("GPU", f"{words[0].upper()}{words[1:]}.")
        return used


def fuller(kept: Sequence[GpuUse], seen: Sequence[GpuUse]) -> tuple[GpuUse, ...]:
    """The measurement with more samples: what the Job's own side kept (a look a minute), or what was seen here.

    Args:
        kept: By the record in the output folder, of which a Job that was killed may have written little.
        seen: By the Hub's stream, which may have failed.
    """
    samples = [max((one.samples for one in gpus), default=0) for gpus in (kept, seen)]
    return tuple(kept if samples[0] >= samples[1] else seen)

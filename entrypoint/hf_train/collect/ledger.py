"""What the families write into while a log is read: metrics by trust, curves, progress, end signs, warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hf_train.collect.curve import Curves, Series
from hf_train.collect.divergence import Divergence
from hf_train.collect.progress import Tracker
from hf_train.collect.values import is_curve, is_result

MAX_METRICS = 400
MAX_NAME = 100
_REACH = 60  # segments below a heading that belong to it

CONTRACT = 4
"""The documented line of the user's own code."""
STRUCTURED = 3
"""Dict lines, summary blocks, result tables, JSON lines. Of two, the later one holds."""
POSTFIX = 2
"""What stands behind a progress bar."""
PROSE = 1
"""``name: value`` in free text."""


@dataclass(slots=True)
class _Entry:
    curve: bool
    value: float | None = None
    level: int = 0
    axis: str = ""
    series: Series | None = None


class Ledger:
    """Everything that was read so far.

    Attributes:
        curves: Thinned curves.
        tracker: Progress.
        divergence: NaN rules.
        warnings: Codes in order of appearance.
        line: Number of the current segment.
        succeeded: Segment number of the last end sign, or None.
        configured: Repo ids from printed configurations.
        frame: Number of the last segment that was a traceback's frame; its source line follows.
    """

    def __init__(self) -> None:
        self.curves = Curves()
        self.tracker = Tracker()
        self.divergence = Divergence()
        self.warnings: dict[str, None] = {}
        self.line = 0
        self.succeeded: int | None = None
        self.configured: dict[str, None] = {}
        self.frame = -1
        self._heading = (-_REACH, 0.0)
        self._entries: dict[str, _Entry] = {}

    def record(
        self,
        values: Mapping[str, float | None],
        text: str,
        level: int,
        *,
        step: float | None = None,
        epoch: float | None = None,
        curve: bool = True,
    ) -> None:
        """Take the metrics of one line.

        Args:
            values: Name to value; None for a printed ``None``.
            text: The line, as evidence.
            level: How far to trust it: `CONTRACT`, `STRUCTURED`, `POSTFIX` or `PROSE`.
            step: Step that the line belongs to.
            epoch: Epoch that it belongs to, used for the curve when no step is known.
            curve: Whether the values are points of curves.
        """
        total = 0.0
        x, axis = (step, "step") if step is not None else (epoch, "epoch") if epoch is not None else (None, "index")
        if x is not None and not math.isfinite(x):
            curve = False
        for name, value in values.items():
            entry = self._entries.get(name) or self._entry(name)
            if value is None or entry is None:
                continue
            total += value
            if level >= entry.level:
                entry.value, entry.level = value, level
            if curve and entry.curve and value - value == 0:
                if entry.axis != axis:
                    entry.axis, entry.series = axis, self.curves.series(name, axis)
                if entry.series is not None:
                    entry.series.add(x, value)
        # A sum is finite only when all its parts are (or it overflows, which the rules then look at for nothing).
        if total - total != 0 or self.divergence.pending:
            self.divergence.observe(values, text)

    def _entry(self, name: str) -> _Entry | None:
        if len(self._entries) >= MAX_METRICS or len(name) > MAX_NAME:
            return None
        entry = self._entries[name] = _Entry(curve=is_curve(name))
        return entry

    def heading(self, step: float, total: float | None) -> None:
        """A line of its own said which step it is: the values stand in the lines below it."""
        self._heading = (self.line, step)
        self.tracker.steps(step, total)

    def place(self) -> tuple[float | None, float | None]:
        """Step or epoch of a line that tells neither: those of the heading above, else the current epoch."""
        line, step = self._heading
        return (step, None) if self.line - line <= _REACH else (None, self.tracker.epoch)

    def success(self) -> None:
        """An end sign of a training, a test or a push was printed."""
        self.succeeded = self.line

    def warn(self, code: str) -> None:
        """Something is odd but no failure."""
        self.warnings[code] = None

    def configure(self, repo_id: str) -> None:
        """A printed configuration names the repo to push to."""
        if len(self.configured) < 16:
            self.configured[repo_id] = None

    def metrics(self) -> dict[str, float | None]:
        """Last value of each metric, results first, each group in order of appearance."""
        results = {name: entry.value for name, entry in self._entries.items() if is_result(name)}
        others = {name: entry.value for name, entry in self._entries.items() if name not in results}
        if self.tracker.has_bar and "step" not in others and self.tracker.step is not None:
            others["step"] = float(self.tracker.step)
        return {**results, **others}

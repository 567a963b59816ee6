"""How far a training is, from bars, headers and epoch lines. Many bars look alike; few are the training's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_TRAINING = re.compile(r"(?i)\b(?:steps?|train(?:ing)?|iter(?:ation)?s?|global step)\b")
_NOISE = re.compile(
    r"""(?ix)\b(?:
        load\w*|writ\w*|map|tokeniz\w*|generat\w*|sav\w*|upload\w*|download\w*|fetch\w*|process\w*|filter\w*|
        validat\w*|evaluat\w*|eval|test\w*|scan\w*|comput\w*|dropp?\w*|pack\w*|cach\w*|predict\w*|sanity|extract\w*|
        convert\w*|build\w*|read\w*|add\w*|apply\w*|truncat\w*|encod\w*|creat\w*|shard\w*|batches|push\w*|collect\w*|
        prepar\w*|check\w*|quantiz\w*|merg\w*|resolv\w*|import\w*|install\w*|infer\w*|val|data|unpack\w*|copy\w*
    )\b|\.(?:safetensors|bin|json|jsonl|model|txt|parquet|pt|png|jpe?g|gguf|zip|tar)\b"""
)
_MAX_BARS = 64
_HUGE = 1e15
_DIGITS = re.compile(r"\d+")


@dataclass
class _Bar:
    total: int
    order: int
    rank: int = 0
    votes: int = 0
    step: int = 0
    first: tuple[int, float] | None = None
    last: tuple[int, float] | None = None
    rate: float | None = None
    eta: float | None = None


@lru_cache(maxsize=2048)
def _bar_name(label: str) -> tuple[str | None, int]:
    """A bar's name with its numbers taken out (None when it is no training), and 1 when it says that it trains."""
    if _NOISE.search(label):
        return None, 0
    return _DIGITS.sub("#", label[:80]), 1 if _TRAINING.search(label) else 0


class Tracker:
    """Keeps the bars of one log and tells which of them is the training's."""

    def __init__(self) -> None:
        self.planned: int | None = None
        self.epochs: float | None = None
        self.epoch: float | None = None
        self.counted: int | None = None
        self.counted_total: int | None = None
        self.advances = 0
        self.printed_rate: float | None = None
        self.runtime: float | None = None
        self.eta: float | None = None
        self._bars: dict[tuple[str, int], _Bar] = {}
        self._vote = False
        self._epoch_bar: tuple[int, int, int] | None = None
        self._ratio: tuple[float, int] | None = None
        self._waiting: float | None = None
        self._from_zero = False
        self._last_epoch: float | None = None
        self._counted_epochs: tuple[int, int] | None = None

    def bar(
        self, label: str, step: int, total: int, elapsed: float | None, rate: float | None, eta: float | None
    ) -> None:
        """A bar's state. `label` is the text in front of it, without the percentage."""
        if total < 1 or step > total:
            return
        name, training = _bar_name(label)
        if name is None:
            return
        key = (name, total)
        bar = self._bars.get(key)
        if bar is None:
            if len(self._bars) >= _MAX_BARS:
                return
            bar = self._bars[key] = _Bar(total, len(self._bars), rank=training)
        if step > bar.step:
            self.advances += 1
        bar.step = step
        bar.rate, bar.eta = rate or bar.rate, eta
        if elapsed is not None and step:
            bar.first = bar.first or (step, elapsed)
            bar.last = (step, elapsed)
        if self._vote:
            bar.votes += 1
            self._vote = False
        if self._waiting is not None and step:
            self._ratio, self._waiting = (self._waiting, step), None

    def epoch_bar(self, epoch: int, step: int, total: int, *, first: int = 0) -> None:
        """A bar that runs once per epoch; they count from `first` (Lightning 0, Keras 1), or from a 0 once seen."""
        if total < 1 or step > total:
            return
        if epoch == 0:
            self._from_zero = True
        state = (epoch - (0 if self._from_zero else first), step, total)
        if self._epoch_bar is None or state[:2] > self._epoch_bar[:2]:
            self.advances += 1
        self._epoch_bar = state
        self.epoch = float(epoch)

    def steps(self, step: float, total: float | None = None) -> None:
        """A line that counts steps itself (``iter: 4959``, ``iteration 5/ 100``, ``"step": 3``)."""
        if not 0 <= step < _HUGE:
            return
        if self.counted is None or step > self.counted:
            self.advances += 1
        self.counted = int(step)
        if total is not None and step <= total < _HUGE:
            self.counted_total = int(total) or None

    def ended(self, runtime: float | None, rate: float | None, epoch: float | None = None) -> None:
        """The library printed its own runtime (seconds) and steps per second, at the end in `epoch`."""
        if epoch is not None and 0 < epoch < _HUGE:
            self._last_epoch = epoch
        if runtime is not None and 0 < runtime < _HUGE:
            self.runtime = runtime
        if rate is not None and 0 <= rate < _HUGE:
            self.printed_rate = rate

    def at_epoch(self, epoch: float) -> None:
        """A metric line said which epoch it is."""
        if not 0 <= epoch < _HUGE:
            return
        if self.epoch is None or epoch > self.epoch:
            self.advances += 1
        self.epoch = epoch

    def step_line(self, epoch: float | None) -> None:
        """A line with the training's loss was printed: the bar that is redrawn next is the training's."""
        self._vote = True
        if epoch is not None and 0 < epoch < _HUGE:
            self._waiting = epoch

    def epoch_count(self, done: int, total: int) -> None:
        """A library that only tells epochs: they are counted as steps, unless real steps are known."""
        self.epochs = float(total) or self.epochs
        if 0 <= done <= total:
            if self._counted_epochs is None or done > self._counted_epochs[0]:
                self.advances += 1
            self._counted_epochs = (done, total)

    @property
    def step(self) -> int | None:
        """Steps done."""
        return self._place()[0]

    @property
    def total(self) -> int | None:
        """Steps planned."""
        return self._place()[1]

    def _place(self) -> tuple[int | None, int | None]:
        main = self._main()
        if main is not None and self._named(main):
            # A bar that is only printed at its start says nothing of later lines.
            stale = main.step == 0 and bool(self.epoch)
            return None if stale else main.step, main.total
        if self._epoch_bar is not None:
            epoch, step, total = self._epoch_bar
            whole = round(self.epochs * total) if self.epochs else total if self._from_zero and epoch == 0 else None
            return epoch * total + step, whole
        if self.counted is not None:
            return self.counted, self.counted_total or self.planned
        if self._counted_epochs is not None:
            return self._counted_epochs
        if main is not None and main.step < main.total:
            return None if main.step == 0 and self.epoch else main.step, main.total
        return None, self.planned

    def _named(self, bar: _Bar) -> bool:
        """Whether a bar is surely the training's: an unnamed one may be anything."""
        return bool(bar.votes or bar.rank or bar.total == self.planned)

    @property
    def finished(self) -> bool:
        """Whether the last planned step was reached. The end of an epoch's bar is none when the epochs are unknown."""
        step, total = self._place()
        main = self._main()
        if self._epoch_bar is not None and not self.epochs and (main is None or not self._named(main)):
            return False
        return step is not None and total is not None and step >= total > 0

    @property
    def has_bar(self) -> bool:
        """Whether the step comes from a training bar."""
        main = self._main()
        return main is not None and self._place()[0] == main.step

    def steps_per_second(self) -> float | None:
        """Speed: what the library printed at the end, else the slope of the bar, else the bar's own rate."""
        step = self.step
        if self.printed_rate and self.printed_rate >= 0.1:
            return self.printed_rate
        if self.runtime and step and self.printed_rate is not None:
            # train_steps_per_second is rounded to three decimals; 0.083 is 6 steps in 72.16 s.
            return round(step / self.runtime, 6)
        main = self._main()
        if main is not None:
            if main.first and main.last and main.last[1] - main.first[1] >= 10 and main.last[0] > main.first[0]:
                return round((main.last[0] - main.first[0]) / (main.last[1] - main.first[1]), 6)
            if main.rate:
                return main.rate
        return self.printed_rate

    def eta_seconds(self) -> float | None:
        """Time left, by the bar itself or by the speed."""
        main = self._main()
        if main is not None and main.eta is not None and main.step < main.total:
            return main.eta
        step, total, speed = self.step, self.total, self.steps_per_second()
        if step is None or total is None:
            return self.eta
        if step >= total:
            return 0.0
        return (total - step) / speed if speed else self.eta

    def steps_per_epoch(self) -> float | None:
        """How many steps one epoch has, where the log tells."""
        total = self.total
        if self._epoch_bar is not None or not total:
            return None
        if self._ratio is None:
            if not self.epochs:
                return None
            end = self._last_epoch
            # max_steps ends a run inside its last epoch; early stopping before it.
            return total / end if end is not None and end > self.epochs - 1 else total / self.epochs
        epoch, step = self._ratio
        if epoch <= 0 or step <= 0:
            return None
        guess = total * epoch / step
        # The bar may be a step late, so the number of epochs is snapped to a whole one when that fits.
        whole = round(guess)
        return total / whole if whole >= 1 and abs(guess - whole) < 0.05 * whole else step / epoch

    def _main(self) -> _Bar | None:
        if not self._bars:
            return None
        planned = [bar for bar in self._bars.values() if bar.total == self.planned]
        return max(
            planned or self._bars.values(), key=lambda bar: (bar.votes, bar.rank, bar.step < bar.total, -bar.order)
        )

"""NaN rules (reference fact 4): a diverged run ends with exit code 0 and a finite, fake ``train_loss``."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hf_train.collect.values import is_grad_norm, is_loss

_STREAK = 20  # steps with a NaN gradient norm and a finite loss: longer than fp16 loss scaling ever skips
_MAX_NAMES = 200


class Divergence:
    """Follows losses and gradient norms over one log."""

    def __init__(self) -> None:
        self.skipped_steps = False
        self._bad: dict[str, str] = {}
        self._zero: str | None = None
        self._grad_line: str | None = None
        self._grad_streak = 0

    def observe(self, values: Mapping[str, float | None], line: str) -> None:
        """Take the metrics of one line.

        Args:
            values: What the line printed.
            line: The line, kept as evidence.
        """
        grad: float | None = None
        loss: float | None = None
        for name, value in values.items():
            if value is None:
                continue
            if is_loss(name):
                loss = value if loss is None or name == "loss" else loss
                self._loss(name, value, line)
            elif is_grad_norm(name):
                grad = value
        if grad is None:
            return
        if math.isfinite(grad):
            self._zero, self._grad_line, self._grad_streak = None, None, 0
            return
        self.skipped_steps = True
        self._grad_streak += 1
        self._grad_line = self._grad_line or line
        if loss == 0:
            # The Trainer's nan filter prints 0 for a loss that was NaN.
            self._zero = self._zero or line

    @property
    def pending(self) -> bool:
        """Whether something not finite was seen that a later, finite value may take back."""
        return bool(self._bad) or self._grad_streak > 0

    def evidence(self) -> str | None:
        """The first line of the divergence that still holds at the end, or None."""
        if self._bad:
            return next(iter(self._bad.values()))
        if self._zero is not None:
            return self._zero
        return self._grad_line if self._grad_streak >= _STREAK else None

    def _loss(self, name: str, value: float, line: str) -> None:
        if math.isfinite(value):
            self._bad.pop(name, None)
        elif name not in self._bad and len(self._bad) < _MAX_NAMES:
            self._bad[name] = line


def diverged(values: Mapping[str, float | None]) -> bool:
    """Whether final values alone show that a run diverged: a loss that is no number, or 0 with a NaN gradient."""
    loss_bad = any(value is not None and not math.isfinite(value) and is_loss(name) for name, value in values.items())
    grad_bad = any(
        value is not None and not math.isfinite(value) and is_grad_norm(name) for name, value in values.items()
    )
    return loss_bad or (grad_bad and values.get("loss") == 0)

"""Adapter: time."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The `ports.Clock` of a real run."""

    def now(self) -> datetime:
        """Wall clock, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; a signal handler may raise out of it."""
        time.sleep(max(0.0, seconds))

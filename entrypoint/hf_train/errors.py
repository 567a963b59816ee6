"""Every error that a user can meet, one exit code each.

A failed training is not here: it is a value (`Outcome`), and it is reported before the step fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `hf-train`, a promise of the public interface."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    REFUSED = 3
    CANCELLED_ON_HUB = 4
    TIMED_OUT = 5
    NOT_PUBLISHED = 6
    GATE_FAILED = 7
    BUG = 70
    LOST_SIGHT = 75
    INTERRUPTED = 130
    TERMINATED = 143


class UserError(Exception):
    """What the user can mend.

    Attributes:
        title: A few words, fit for an annotation's title.
        message: What is wrong, and where.
        hint: What to type or change next; may be empty.
        exit_code: The exit code of the process.
    """

    exit_code: ExitCode = ExitCode.BAD_INPUT

    def __init__(self, title: str, message: str, hint: str = "") -> None:
        super().__init__(f"{title}: {message}")
        self.title = title
        self.message = message
        self.hint = hint


class BadInput(UserError):  # noqa: N818  (named as the user meets it)
    """One or more inputs are wrong. Nothing was sent and nothing was spent.

    Attributes:
        problems: One sentence per problem; all of them at once.
    """

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        title = "Bad input" if count == 1 else f"{count} bad inputs"
        super().__init__(title, "\n".join(self.problems), "Nothing was sent to the Hub and nothing was spent.")


class RefusedByPolicy(UserError):  # noqa: N818
    """Our own policy refuses the launch (the worst case is over `max-cost`, for instance). Nothing was spent."""

    exit_code = ExitCode.BAD_INPUT


class RefusedByHub(UserError):  # noqa: N818
    """The Hub refuses the launch (401, 402, 403, 404), or there is no token while one is required."""

    exit_code = ExitCode.REFUSED


class LostSight(UserError):  # noqa: N818
    """The Hub cannot be reached, or there is no capacity; a Job that was submitted may still run."""

    exit_code = ExitCode.LOST_SIGHT


class Interrupted(BaseException):
    """The process was told to stop. Raised by the signal handler, so it is not an `Exception` that a library may eat.

    Attributes:
        signum: 2 for SIGINT, 15 for SIGTERM.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(f"signal {signum}")
        self.signum = signum

    @property
    def exit_code(self) -> ExitCode:
        """130 for SIGINT, 143 for SIGTERM."""
        return ExitCode.INTERRUPTED if self.signum == 2 else ExitCode.TERMINATED


class TransientHubError(Exception):
    """An answer of the Hub that may be better next time: 408, 425, 429, 5xx, a reset, a time-out.

    Attributes:
        retry_after_s: Seconds to wait by the answer's own word (`Retry-After`, `RateLimit`), or None.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class JobGone(Exception):  # noqa: N818
    """The Hub does not know the Job (404)."""

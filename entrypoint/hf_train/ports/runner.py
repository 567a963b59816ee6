"""What the flow asks of the machine that it runs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

from hf_train.ports.answers import Survey
from hf_train.values import Snapshot


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a signal handler may raise out of it."""
        ...


class Console(Protocol):
    """What the user reads in the log of the step."""

    def info(self, text: str = "") -> None:
        """One line of ours."""
        ...

    def group(self, title: str) -> AbstractContextManager[None]:
        """A folded group around what is printed inside."""
        ...

    def notice(self, title: str, message: str) -> None:
        """An annotation without weight."""
        ...

    def warning(self, title: str, message: str) -> None:
        """An annotation that something is worth a look."""
        ...

    def error(self, title: str, message: str, file: str = "", line: int = 0) -> None:
        """The annotation of a failure, beside a line of a file of the repository when one is named."""
        ...

    def untrusted(self) -> AbstractContextManager[None]:
        """A window in which the runner obeys no workflow command; remote lines are printed inside it only."""
        ...

    def remote(self, lines: Sequence[str]) -> None:
        """Lines that a Job printed. Hostile: cleaned, redacted, budgeted."""
        ...

    def whole(self, lines: Sequence[str], *, last: bool = False) -> Sequence[str]:
        """Lines of a Job that are ready to be read: one whose end may be the beginning of a secret waits for the next.

        What is broken over several lines is taken out of each. `last` gives what still waits.
        """
        ...

    def redact(self, text: str) -> str:
        """The text without any known secret, in any of the coats that we know."""
        ...


class Workspace(Protocol):
    """The checkout, and its way into the bucket."""

    def is_file(self, path: str) -> bool:
        """Whether a file of this name is sent with the code (it may not climb out of the sent folder)."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether this is a folder of the workspace."""
        ...

    def read_text(self, path: str) -> str | None:
        """Content of a small text file of the workspace, None when there is none."""
        ...

    def survey(self, folder: str, exclude: Sequence[str], extra: Mapping[PurePosixPath, bytes]) -> Survey:
        """Look at a folder, with further files laid beside it. Raises `BadInput` when it cannot be sent."""
        ...

    def sends(self, survey: Survey, path: str) -> bool:
        """Whether a surveyed folder has this file, by its path below the folder: what git does not list is not sent."""
        ...

    def upload(self, survey: Survey, namespace: str) -> Snapshot:
        """Bring a surveyed folder into the bucket, once; an existing snapshot is not sent again."""
        ...


class Scripts(Protocol):
    """Scripts by URL."""

    def fetch(self, url: str) -> bytes:
        """Content of the script. Raises `BadInput` when the URL is not allowed or gives none."""
        ...


class Files(Protocol):
    """Where a run leaves its results."""

    def outputs(self, values: Mapping[str, str]) -> None:
        """Set step outputs (again: the last value wins)."""
        ...

    def summary(self, markdown: str) -> None:
        """Set the job summary of this step."""
        ...

    def log(self, lines: Sequence[str]) -> None:
        """Append to `job.log`."""
        ...

    def report(self, name: str, content: str) -> str:
        """Write a file of the report. Returns its path, empty when there is nowhere to write."""
        ...

    def remember(self, state: Mapping[str, str]) -> None:
        """Write the state file that the cleanup step reads."""
        ...

    def forget(self) -> None:
        """Remove the state file: nothing is left to clean up."""
        ...

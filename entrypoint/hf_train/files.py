"""Adapter: where a run leaves its results: step outputs, the summary, the report folder, the state file."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from hf_train.text.redact import Redactor
from hf_train.text.untrusted import redacted_line

MAX_OUTPUT = 100_000
MAX_SUMMARY = 900 << 10


class RunFiles:
    """The `ports.Files` of a real run.

    Args:
        output_file: `GITHUB_OUTPUT`, or empty.
        summary_file: `GITHUB_STEP_SUMMARY`, or empty.
        report_dir: Folder of the report, or None.
        state_file: What the cleanup step reads, or None.
        redact: Takes secrets out of text.
        tell: Says what could not be written.
    """

    def __init__(
        self,
        *,
        output_file: str,
        summary_file: str,
        report_dir: Path | None,
        state_file: Path | None,
        redact: Redactor,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._output_file = Path(output_file) if output_file else None
        self._summary_file = Path(summary_file) if summary_file else None
        self._dir = report_dir
        self._state_file = state_file
        self._redact = redact
        self._tell = tell
        self._told: set[str] = set()
        self._log: TextIO | None = None
        self._summary_start: int | None = None

    def outputs(self, values: Mapping[str, str]) -> None:
        """Append to `GITHUB_OUTPUT`, each value behind a fresh delimiter that it cannot hold."""
        if self._output_file is None:
            return
        rows = []
        for name, value in values.items():
            safe = self._redacted(value)[:MAX_OUTPUT]
            delimiter = f"ghd_{secrets.token_hex(32)}"
            rows.append(f"{name}<<{delimiter}\n{safe}\n{delimiter}\n")
        with (
            self._tolerated("GITHUB_OUTPUT"),
            self._output_file.open("a", encoding="utf-8", errors="replace", newline="") as stream,
        ):
            stream.write("".join(rows))

    def summary(self, markdown: str) -> None:
        """Write the job summary of this step. The runner drops one over 1 MiB whole, so it is kept below."""
        if self._summary_file is not None:
            encoded = self._redact(markdown).encode("utf-8", "replace")[:MAX_SUMMARY]
            with self._tolerated("the job summary"), self._summary_file.open("ab") as stream:
                if self._summary_start is None:
                    self._summary_start = stream.tell()  # other tools may have written to it in this step
                stream.truncate(self._summary_start)
                stream.write(encoded.decode("utf-8", "ignore").encode() + b"\n")

    def log(self, lines: Sequence[str]) -> None:
        """Append to `job.log`, redacted, otherwise as the Job printed it."""
        if self._dir is None:
            return
        with self._tolerated("job.log"):
            self._write_log(lines)

    def _write_log(self, lines: Sequence[str]) -> None:
        if self._log is None:
            self._log = self._new("job.log")
        self._log.write("".join(f"{redacted_line(line, self._redact)}\n" for line in lines))

    def report(self, name: str, content: str) -> str:
        """Write a file of the report."""
        if self._dir is None:
            return ""
        written: list[Path] = []
        with self._tolerated(name):
            with self._new(name) as stream:
                stream.write(self._redacted(content))
            written.append(self._dir / name)
        return "".join(map(str, written))

    @contextlib.contextmanager
    def _tolerated(self, what: str) -> Iterator[None]:
        """A file that cannot be written (a full disk, a name that is taken) is told once, and changes no verdict."""
        try:
            yield
        except OSError as error:
            if what not in self._told:
                self._told.add(what)
                self._tell(f"{what} could not be written: {error.strerror or type(error).__name__}")

    def _new(self, name: str) -> TextIO:
        """A fresh file of the report. What has its name goes first: it may be a link that a commit holds."""
        assert self._dir is not None  # noqa: S101  (its callers looked)
        self._dir.mkdir(parents=True, exist_ok=True)
        path = self._dir / name
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        return os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="")

    def _redacted(self, text: str) -> str:
        """Without secrets. JSON stays JSON, though a number's digits may be a secret's: such a number is null."""
        safe = self._redact(text)
        if safe == text or not text.startswith("{"):
            return safe
        try:
            whole = json.loads(text)
        except ValueError:
            return safe
        pretty = text.startswith("{\n")
        cleaned = json.dumps(self._redacted_json(whole), indent=2 if pretty else None, ensure_ascii=not pretty)
        return cleaned + ("\n" if text.endswith("\n") else "")

    def _redacted_json(self, value: object) -> object:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {self._redact(name): self._redacted_json(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._redacted_json(one) for one in value]
        return value if self._redact(json.dumps(value)) == json.dumps(value) else None

    def remember(self, state: Mapping[str, str]) -> None:
        """Write the state file, readable by this user only; at once, and never through somebody's link."""
        if self._state_file is None:
            return
        self._state_file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._state_file.with_name(f".{secrets.token_hex(8)}")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(dict(state), stream)
        fresh.replace(self._state_file)

    def forget(self) -> None:
        """Remove the state file."""
        if self._state_file is not None:
            self._state_file.unlink(missing_ok=True)

    def close(self) -> None:
        """Finish `job.log`; a run without a line has an empty one."""
        if self._dir is not None and self._log is None:
            with contextlib.suppress(OSError):
                self.log([])
        if self._log is not None:
            with self._tolerated("job.log"):
                self._log.close()


def read_state(path: Path) -> Mapping[str, str]:
    """The state file of a run; empty when there is none or it is not one of ours."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in state.items()} if isinstance(state, dict) else {}

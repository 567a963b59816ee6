"""`hf-train` as a test runs it: in this process (quick, and its waits can be shortened) or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from hf_train import wiring
from hf_train.cli import main
from hf_train.clock import SystemClock
from hf_train.flow import watch

_OURS = ("GITHUB_", "RUNNER_", "HF_", "ACTIONS_")


@dataclass(frozen=True, kw_only=True)
class Done:
    """One run that ended.

    Attributes:
        code: Exit code.
        out: What it printed on stdout.
        err: What it printed on stderr.
        report: `report.json`, empty when there is none.
        folder: Folder of the report.
        outputs: Step outputs (the last value of each), empty outside GitHub.
        seconds: How long it took.
    """

    code: int
    out: str
    err: str
    report: dict[str, Any]
    folder: Path
    outputs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def job_lines(self) -> list[str]:
        """Lines of `job.log`."""
        path = self.folder / "job.log"
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.is_file() else []

    @property
    def problems(self) -> str:
        """All of the report's problems in one text."""
        return " ".join(self.report.get("problems", []))


def clean_environ(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without anything of a runner or a Hub, and with the `hf` of our venv on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    kept.pop("CI", None)
    own = str(Path(sys.executable).parent)
    return {**kept, "PATH": f"{own}:{kept.get('PATH', '')}", "PYTHONUNBUFFERED": "1", **extra}


class FastClock:
    """A clock whose waits pass at once: `sleep(30)` takes a moment and is thirty seconds to those who ask."""

    REAL_S = 0.03

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> datetime:
        """Wall clock, UTC, as it is."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds, with all that was slept."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        """Wait a moment."""
        real = min(max(seconds, 0.0), self.REAL_S)
        time.sleep(real)
        self._ahead += max(seconds, 0.0) - real


@dataclass(kw_only=True)
class Product:
    """Runs `hf-train` in a folder.

    Attributes:
        cwd: The checkout.
        environ: Variables on top of a clean environment.
        scratch: Folder for reports and command files.
        fast: Whether waits of runs in this process pass at once, and the Job is looked at more often.
    """

    cwd: Path
    environ: dict[str, str]
    scratch: Path
    fast: bool = False
    _count: int = 0
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        """`hf-train run WORDS` in this process, with a report folder."""
        folder = self._next("report")
        return self._call(["run", "--report-dir", str(folder), *words], folder, env or {})

    def call(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        """`hf-train WORDS` in this process."""
        return self._call(list(words), self._next("report"), env or {})

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> Live:
        """`hf-train run WORDS` as a process of its own."""
        folder = self._next("report")
        log = folder.with_suffix(".out")
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "hf_train", "run", "--report-dir", str(folder), *words],
                cwd=self.cwd,
                env=clean_environ({**self.environ, **(env or {})}),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        self._started.append(process)
        return Live(process=process, log=log, folder=folder)

    def end_all(self) -> None:
        """Leave no process behind, whatever failed."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _next(self, name: str) -> Path:
        self._count += 1
        return self.scratch / f"{name}-{self._count}"

    def _call(self, words: list[str], folder: Path, env: Mapping[str, str]) -> Done:
        environ = clean_environ({**self.environ, **env})
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        before = Path.cwd()
        began = time.monotonic()
        with (
            mock.patch.dict(os.environ, environ, clear=True),
            mock.patch.object(wiring, "SystemClock", FastClock if self.fast else SystemClock),
            mock.patch.object(watch, "FIRST_POLL_S", 0.2 if self.fast else watch.FIRST_POLL_S),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            os.chdir(self.cwd)
            try:
                code = main(words)
            finally:
                os.chdir(before)
        return Done(
            code=code,
            out=_text(out),
            err=_text(err),
            report=read_report(folder),
            folder=folder,
            outputs=read_outputs(environ.get("GITHUB_OUTPUT", "")),
            seconds=time.monotonic() - began,
        )


@dataclass(frozen=True, kw_only=True)
class Live:
    """A run that lives."""

    process: subprocess.Popen[bytes]
    log: Path
    folder: Path

    def wait_for(self, text: str, timeout_s: float = 20) -> None:
        """Until it has printed this.

        Raises:
            AssertionError: It did not in time, or it ended.
        """
        until = time.monotonic() + timeout_s
        while text not in (printed := self.log.read_text(encoding="utf-8", errors="replace")):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{printed}"
            assert time.monotonic() < until, printed
            time.sleep(0.02)

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal to the process alone, as the runner does."""
        self.process.send_signal(signum)

    def done(self, timeout_s: float = 30) -> Done:
        """Wait for its end."""
        began = time.monotonic()
        try:
            code = self.process.wait(timeout_s)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        out = self.log.read_text(encoding="utf-8", errors="replace")
        report = read_report(self.folder)
        seconds = time.monotonic() - began
        return Done(code=code, out=out, err="", report=report, folder=self.folder, seconds=seconds)


def read_report(folder: Path) -> dict[str, Any]:
    """`report.json` of a folder; empty when there is none."""
    path = folder / "report.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return loaded


def read_outputs(path: str) -> dict[str, str]:
    """Step outputs as the runner reads them: `name<<delimiter`, lines, delimiter."""
    values: dict[str, str] = {}
    if not path or not Path(path).is_file():
        return values
    lines = iter(Path(path).read_text(encoding="utf-8").split("\n"))
    for line in lines:
        name, _, delimiter = line.partition("<<")
        if delimiter:
            value: list[str] = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            values[name] = "\n".join(value)
    return values


def git(repo: Path, *words: str) -> str:
    """Git in a repository, away from the developer's own configuration."""
    identity = ["-c", "user.name=Mona", "-c", "user.email=mona@example.org", "-c", "commit.gpgsign=false"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(repo), "GIT_CONFIG_NOSYSTEM": "1"}
    options = ["-c", "protocol.file.allow=always", *identity]
    done = subprocess.run(["git", *options, *words], cwd=repo, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(repo: Path, message: str = "Train") -> str:
    """Commit everything; returns the commit."""
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--message", message)
    return git(repo, "rev-parse", "HEAD")


def make_repo(folder: Path, files: Mapping[str, str]) -> Path:
    """A user's repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, files)
    commit(folder)
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write text files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def on_github(scratch: Path, **more: str) -> dict[str, str]:
    """Variables of a runner on a push to a branch."""
    temp = scratch / "runner-temp"
    temp.mkdir(exist_ok=True)
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": "octo/proj",
        "GITHUB_SHA": "1" * 40,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_WORKFLOW": "train",
        "GITHUB_JOB": "train",
        "GITHUB_OUTPUT": str(temp / "output"),
        "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
        "RUNNER_TEMP": str(temp),
        **more,
    }


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


TRAIN = """\
import os, pathlib, sys

print("argv", sys.argv[1:])
for step in range(1, 4):
    print({"loss": round(1.5 / step, 4), "epoch": float(step)}, flush=True)
"""


def sha_line(text: Sequence[str], name: str) -> str:
    """The value of a `name=value` line of a log."""
    return next(line.partition("=")[2] for line in text if line.startswith(f"{name}="))

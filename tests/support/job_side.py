"""The side in the Job as a test runs it: a snapshot as it lies in the mount, and the tools that an image has."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_train import jobside

SHELL_TOOLS = ("sh", "dirname", "mktemp", "cp", "chmod", "rm", "mkdir", "ln", "cat", "env")
MORE_TOOLS = ("sha256sum", "find", "wc", "sleep", "setsid", "readlink", "touch", "true", "mkfifo")


def image(folder: Path, *names: str, python: bool = False) -> str:
    """A PATH with these tools alone: no bash, and no Python unless it is asked for."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).symlink_to(shutil.which(name) or "")
    for name in ("python3", "python") if python else ():
        (folder / name).symlink_to(Path(sys.executable).resolve())
    return str(folder)


def lay(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    executables: bytes = b"",
    links: bytes = b"",
    changed: Mapping[str, str] | None = None,
) -> Path:
    """Lay a snapshot down as the mount has it.

    Args:
        folder: Where, made here.
        files: Path and bytes of the code.
        executables: The list of paths with an execute bit.
        links: The list of links.
        changed: Text of our own programs to replace, for waits that are too long for a test.
    """
    programs = {}
    for name, program in jobside.programs().items():
        text = program.decode()
        for old, new in (changed or {}).items():
            text = text.replace(old, new)
        programs[f".hf-train/{name}"] = text.encode()
    lists = {f".hf-train/{jobside.EXECUTABLES}": executables, f".hf-train/{jobside.LINKS}": links}
    contents = {**files, **programs, **lists}
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    (folder / ".hf-train" / jobside.SUMS).write_text(sums)
    (folder / ".hf-train" / "manifest.json").write_text("{}")
    return folder


@dataclass(kw_only=True)
class Job:
    """Runs commands as the Hub does.

    Attributes:
        code: The mounted snapshot.
        scratch: Folder for what the Job writes.
        path: Its PATH.
        env: More variables.
    """

    code: Path
    scratch: Path
    path: str
    env: dict[str, str] = field(default_factory=dict)
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def output(self) -> Path:
        """The mounted output folder."""
        return self.scratch / "output"

    @property
    def record(self) -> Path:
        """What our side keeps of this Job."""
        return self.output / ".hf-train" / "job1"

    def with_output(self) -> Job:
        """Mount an output folder."""
        self.output.mkdir(exist_ok=True)
        self.env |= {"HF_TRAIN_OUTPUT": str(self.output), "JOB_ID": "job1"}
        return self

    def start(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command."""
        temp = self.scratch / "tmp"
        temp.mkdir(exist_ok=True)
        process = subprocess.Popen(
            ["/bin/sh", str(self.code / ".hf-train" / "start.sh"), *command],
            env={"PATH": self.path, "TMPDIR": str(temp), "HOME": str(self.scratch), **self.env},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self._started.append(process)
        return process

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*command)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def python(self, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program."""
        return self.run("python3", "-c", text, *words)

    def kept(self, name: str) -> Any:
        """A JSON file of the record."""
        return json.loads((self.record / name).read_text())

    def end_all(self) -> None:
        """Leave no process behind, whatever failed."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()


def lives(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait for something.

    Raises:
        AssertionError: It did not come.
    """
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)

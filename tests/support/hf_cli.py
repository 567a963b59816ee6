"""The real `hf` CLI, and waiting for what it brings about."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_train.local_hub.pytest import LocalHubHandle

HF = Path(sys.executable).with_name("hf")


@dataclass(frozen=True, kw_only=True)
class Cli:
    """The real `hf`, pointed at a Hub."""

    hub: LocalHubHandle
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        """Only what `hf` needs."""
        return {
            "PATH": f"{HF.parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "HF_HOME": str(self.home / "hf"),
            "HF_ENDPOINT": self.hub.endpoint,
            "HF_TOKEN": self.hub.token,
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_HUB_DISABLE_EXPERIMENTAL_WARNING": "1",
            "NO_COLOR": "1",
            "NO_PROXY": "127.0.0.1",
            "COLUMNS": "200",
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`hf WORDS`, not waited for."""
        return subprocess.Popen(
            [str(HF), *words],
            env=self.environ,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str, code: int = 0) -> str:
        """Output of `hf WORDS`, both streams, which must end with this code."""
        return "".join(self._run(words, code))

    def json(self, *words: str) -> Any:
        """What `hf WORDS --json` prints on stdout."""
        return json.loads(self._run((*words, "--json"), 0)[0])

    def launch(self, *words: str) -> str:
        """Id of the Job that `hf jobs run -q -d WORDS` starts."""
        return self._run(("jobs", "run", "-q", "-d", *words), 0)[0].strip()

    def _run(self, words: Sequence[str], code: int) -> tuple[str, str]:
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == code, f"hf {' '.join(words)}: {process.returncode}\n{out}\n{err}"
        return out, err


def eventually(condition: Callable[[], Any], timeout_s: float = 10) -> Any:
    """What the condition gives, once it is true.

    Raises:
        AssertionError: It was not in time.
    """
    until = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < until, "in vain"
        time.sleep(0.03)
    return found


def processes(word: str) -> list[str]:
    """Command lines of living processes that hold a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found

"""A venv with the training libraries of the examples, made once per machine and kept outside the repository.

It holds what `examples/requirements-training.txt` pins. pip makes it, not uv: pip is what finds a build of torch that
the machine's own pip.conf points to. Its folder is named by the file's hash and the Python, so that a changed pin makes
a new one.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from support import cache
from support.paths import ROOT

REQUIREMENTS = ROOT / "examples" / "requirements-training.txt"
INSTALL_S = 1800
"""Limit of the installation, in seconds: the index's own torch brings several gigabytes."""


@dataclass(frozen=True, kw_only=True)
class TrainingEnv:
    """The venv.

    Attributes:
        folder: Where it lies.
        made_s: Seconds that making it took; 0 when it was there.
    """

    folder: Path
    made_s: float

    @property
    def path(self) -> str:
        """A PATH for a Job in which `python` is this venv's."""
        return f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"


def get() -> TrainingEnv:
    """The venv of today's requirements; made when it is missing.

    Raises:
        AssertionError: pip failed; its last lines are in the message.
    """
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache.folder() / f"training-{key}"
    ready = folder / ".ready"
    with cache.only_one("training"):
        if ready.is_file():
            return TrainingEnv(folder=folder, made_s=0.0)
        began = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        _call(sys.executable, "-I", "-m", "venv", str(folder))
        # Wheels only: no package's build script runs here.
        pip = (str(folder / "bin" / "python"), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
        _call(*pip, "install", "--quiet", "--only-binary", ":all:", "-r", str(REQUIREMENTS))
        ready.touch()
        return TrainingEnv(folder=folder, made_s=time.monotonic() - began)


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{(done.stdout + done.stderr)[-3000:]}"

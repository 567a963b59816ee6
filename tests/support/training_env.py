"""Venvs with the training libraries of the examples, made once per machine and kept outside the repository.

Each holds what one requirements file pins: `examples/requirements-training.txt`, or the example's own where its library
shares no pins with others. pip makes them, not uv: pip is what finds a build of torch that the machine's own pip.conf
points to. A folder is named by the file's hash and the Python, so that a changed pin makes a new one.
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


def requirements_of(example: Path) -> Path:
    """The file that pins what an example runs on: its own, else the one that most share."""
    own = example / "requirements.txt"
    return own if own.is_file() else REQUIREMENTS


def get(requirements: Path = REQUIREMENTS, *, name: str = "training", without: tuple[str, ...] = ()) -> TrainingEnv:
    """The venv of today's requirements; made when it is missing.

    Args:
        requirements: What is installed.
        name: How its folder begins.
        without: Packages that are taken out again.

    Raises:
        AssertionError: pip failed; its last lines are in the message.
    """
    wanted = requirements.read_bytes() + sys.version.encode() + "\0".join(without).encode()
    folder = cache.folder() / f"{name}-{hashlib.sha256(wanted).hexdigest()[:16]}"
    ready = folder / ".ready"
    with cache.only_one(name):
        if ready.is_file():
            return TrainingEnv(folder=folder, made_s=0.0)
        began = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        _call(sys.executable, "-I", "-m", "venv", str(folder))
        # Wheels only: no package's build script runs here.
        pip = (str(folder / "bin" / "python"), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input")
        _call(*pip, "install", "--quiet", "--only-binary", ":all:", "-r", str(requirements))
        if without:
            _call(*pip, "uninstall", "--quiet", "--yes", *without)
        ready.touch()
        return TrainingEnv(folder=folder, made_s=time.monotonic() - began)


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{(done.stdout + done.stderr)[-3000:]}"

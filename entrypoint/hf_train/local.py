"""Adapter: an embedded Hub for one run (`--local`, `demo`). A child process; the two meet over HTTP only."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hf_train.errors import UserError

READY_S = 30.0
STOP_S = 5.0


class LocalHubError(UserError):
    """The embedded Hub did not start."""


@contextlib.contextmanager
def local_hub(data: Path | None = None, executor: str = "process") -> Iterator[str]:
    """Run one, and give its address.

    Args:
        data: Folder that keeps its state; by default one that is removed at the end.
        executor: `process` or `docker`.

    Raises:
        LocalHubError: The extra is not installed, or the server did not get ready.
    """
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise LocalHubError(
            "Local Hub not installed",
            f"{' and '.join(missing)} are missing from {sys.executable}.",
            "Install the extra: pip install 'hf-train[local]'",
        )
    scratch = None if data else Path(tempfile.mkdtemp(prefix="hf-train-local-"))
    folder = data or scratch
    process = _start(folder or Path(), executor)
    try:
        yield _address(process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def _start(data: Path, executor: str) -> subprocess.Popen[str]:
    # -I keeps the checkout out of sys.path; the package is put there by its own place, installed or not.
    root = str(Path(__file__).resolve().parent.parent)
    words = ["--port", "0", "--data", str(data), "--executor", executor]
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from hf_train.local_hub.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-c", program, root, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # the terminal's Ctrl-C is ours to handle: cancel first, then stop the Hub
    )


def _address(process: subprocess.Popen[str]) -> str:
    if process.stdout is not None:
        for line in process.stdout:
            name, _, value = line.strip().partition("=")
            if name == "HF_ENDPOINT":
                return value
    raise LocalHubError("Local Hub did not start", "It ended before it was ready; its own words stand above.", "")

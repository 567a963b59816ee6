"""The command line of Docker as a process: with limits, without our tokens, its words as lines."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Timer

from hf_train.images.ports import Emit

KEPT_LINES = 400
ASK_S = 60
# What the command line needs of our environment; tokens and what a workflow sets for others is not in it.
_PASSED = frozenset(
    {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "XDG_RUNTIME_DIR",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "DOCKER_TLS_VERIFY",
        "DOCKER_CERT_PATH",
        "BUILDX_BUILDER",
        "BUILDX_CONFIG",
        "SSL_CERT_FILE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    }
)


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended.

    Attributes:
        code: Its exit code.
        out: What it printed on stdout.
        err: What it printed on stderr.
    """

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """The last line of its complaint."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self.code}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Docker:
    """`docker`, with an environment of its own.

    Attributes:
        environ: Further variables for it.
    """

    environ: Mapping[str, str]

    @staticmethod
    def installed() -> bool:
        """Whether there is such a command."""
        return shutil.which("docker") is not None

    def ask(self, *words: str, stdin: str = "", limit_s: float = ASK_S) -> Done:
        """Run a command that ends soon; one that does not has exit code 124."""
        try:
            done = subprocess.run(
                ["docker", *words],
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
                env=self._environ(),
            )
        except subprocess.TimeoutExpired:
            return Done(124, "", f"docker {words[0]} did not answer in {limit_s:.0f} s")
        except OSError as error:
            return Done(127, "", f"docker cannot be started: {error}")
        return Done(done.returncode, done.stdout, done.stderr)

    def follow(self, words: Sequence[str], emit: Emit, limit_s: float) -> tuple[int, list[str]]:
        """Run a command and hand its lines on as they come.

        Args:
            words: What follows `docker`.
            emit: Takes the lines.
            limit_s: Seconds after which it is killed (exit code 124).

        Returns:
            The exit code, and the last lines.
        """
        kept: deque[str] = deque(maxlen=KEPT_LINES)
        with self._running(words) as process:
            late = Timer(limit_s, _kill, (process,))
            late.start()
            try:
                for line in process.stdout or ():
                    text = line.rstrip("\n")
                    kept.append(text)
                    emit([text])
                code = process.wait()
            finally:
                expired = not late.is_alive()
                late.cancel()
        return (124 if expired and code else code), list(kept)

    @contextlib.contextmanager
    def _running(self, words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            ["docker", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self._environ(),
            start_new_session=True,  # a signal to us is ours to handle: we end it in the lines below
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                _kill(process)
            process.wait()
            if process.stdout:
                process.stdout.close()

    def _environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _PASSED}
        return {**kept, "DOCKER_CLI_HINTS": "false", "BUILDKIT_PROGRESS": "plain", **self.environ}


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

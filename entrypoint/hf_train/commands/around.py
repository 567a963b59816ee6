"""What stands around every command: the only handler of errors, signals, and the wired world."""

from __future__ import annotations

import os
import secrets
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TextIO

from hf_train import wiring
from hf_train.console import PlainConsole
from hf_train.errors import ExitCode, Interrupted, UserError
from hf_train.flow.prepare import Request
from hf_train.local import local_hub as run_local_hub
from hf_train.ports import Ports
from hf_train.text.untrusted import Redactor
from hf_train.values import Secret
from hf_train.wiring import Flags

_words: tuple[str, ...] = ()


def guarded(command: Callable[[], int], words: Sequence[str]) -> int:
    """Run a command: the only handler of errors.

    Args:
        command: What to do.
        words: The Job's command, from after `--`.
    """
    global _words  # noqa: PLW0603  (argv has one owner, and typer calls the command without it)
    _words = tuple(words)
    try:
        return command()
    except UserError as error:
        _console().error(error.title, "\n".join(p for p in (error.message, error.hint) if p))
        return int(error.exit_code)
    except Interrupted as stop:
        return int(stop.exit_code)
    except Exception as error:  # noqa: BLE001  (a bug of ours must be told from a failed training)
        console = _console()
        console.error("A bug in hf-train", f"{type(error).__name__}: {error}. Please report it.")
        console.info(traceback.format_exc().rstrip())  # it may quote what a Job said
        return int(ExitCode.BUG)


def _console() -> PlainConsole:
    return wiring.console_of(Redactor(wiring.environment_secrets(os.environ)), os.environ)


@contextmanager
def wired(
    flags: Flags, environ: Mapping[str, str], stream: TextIO | None = None
) -> Iterator[tuple[Request, Ports, Secret | None]]:
    """A request and the world for it, with an embedded Hub when one is asked for."""
    context = wiring.context_of(environ)
    inputs, problems = wiring.inputs_of(flags, environ, context, _words)
    with ExitStack() as stack:
        endpoint = environ.get("HF_ENDPOINT") or wiring.HUB
        if inputs.local and not problems:
            endpoint = stack.enter_context(run_local_hub())
        token = wiring.launch_token(inputs, environ)
        request = Request(
            inputs=inputs,
            context=context,
            environ=wiring.job_environment(inputs, environ),
            nonce=secrets.token_hex(16),
            problems=problems,
        )
        yield request, wiring.ports_of(stack, request, endpoint, token, stream), token


@contextmanager
def signals() -> Iterator[None]:
    """The first SIGINT, SIGTERM or SIGHUP raises `Interrupted`; later ones must not disturb the cancel."""
    seen = False

    def handler(signum: int, _frame: FrameType | None) -> None:
        nonlocal seen
        if not seen:
            seen = True
            raise Interrupted(signal.SIGTERM if signum == signal.SIGHUP else signum)

    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {signum: signal.signal(signum, handler) for signum in watched}
    try:
        yield
    finally:
        for signum, old in before.items():
            signal.signal(signum, old)

"""The commands: run the flow over a wired world, give an exit code."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, TextIO

import typer

from hf_train import pipeline, wiring
from hf_train.clock import SystemClock
from hf_train.collect.explain import explain as explain_text
from hf_train.collect.reader import LogReader
from hf_train.console import PlainConsole
from hf_train.errors import BadInput, ExitCode, Interrupted, JobGone, RefusedByHub, TransientHubError, UserError
from hf_train.files import read_state
from hf_train.hub import HuggingFaceHub
from hf_train.local import local_hub as run_local_hub
from hf_train.ports import Ports
from hf_train.prepare import Request, patiently, prepare
from hf_train.report import verdict_of
from hf_train.show import plan_json, show_plan
from hf_train.untrusted import Redactor
from hf_train.values import JobRef, Secret
from hf_train.watch import cancel as cancel_job
from hf_train.wiring import Flags

CANCEL_PATIENCE_S = 30.0
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
        wiring.console_of(Redactor(()), os.environ).error(
            error.title, "\n".join(p for p in (error.message, error.hint) if p)
        )
        return int(error.exit_code)
    except Interrupted as stop:
        return int(stop.exit_code)
    except Exception as error:  # noqa: BLE001  (a bug of ours must be told from a failed training)
        redact = Redactor(wiring.environment_secrets(os.environ))
        wiring.console_of(redact, os.environ).error(
            "A bug in hf-train", f"{type(error).__name__}: {error}. Please report it."
        )
        print(redact(traceback.format_exc()))
        return int(ExitCode.BUG)


def run(flags: Flags) -> int:
    """`hf-train run`."""
    with _signals():
        return _run(flags, os.environ)


def _run(flags: Flags, environ: Mapping[str, str]) -> int:
    with _wired(flags, environ) as (request, ports, token):
        if token is None and not request.problems:
            return _without_token(request, ports)
        return int(verdict_of(pipeline.run(request, ports)).code)


def _without_token(request: Request, ports: Ports) -> int:
    context = request.context
    fork = " (a fork's pull request gets no secrets)" if context.pull and context.pull.from_fork else ""
    why = f"There is no Hub token in this step{fork}, so nothing was launched."
    if request.inputs.required or not context.on_github:
        hint = "Give hf-token (or the variable HF_TOKEN), or run with --local."
        pipeline.refuse(request, ports, RefusedByHub("No token", why, hint))
    return int(verdict_of(pipeline.skip(request, ports, why)).code)


def plan(flags: Flags, output_format: str) -> int:
    """`hf-train plan`."""
    # Standard output is the JSON alone; the runner reads masks on standard error just as well.
    stream = sys.stderr if output_format == "json" else None
    with _wired(flags, os.environ, stream) as (request, ports, token):
        made = prepare(request, ports, offline=token is None).plan
        if output_format == "json":
            print(ports.console.redact(plan_json(made)))
        else:
            show_plan(made, ports.console)
    return 0


@contextmanager
def _wired(
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


def cancel(
    job: Annotated[
        list[str] | None, typer.Argument(help="Job ids, `ID` or `NAMESPACE/ID`.", metavar="[JOB]...")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Owner of the Jobs.")] = None,
    state_file: Annotated[str | None, typer.Option(help="State file of a run; a missing one is fine.")] = None,
) -> int:
    """`hf-train cancel`."""
    environ = os.environ
    token = wiring.given_token(environ)
    console = wiring.console_of(Redactor([token.reveal()] if token else ()), environ)
    if state_file is not None:
        return _cancel_leftover(Path(state_file), environ.get("HF_ENDPOINT") or wiring.HUB, token, console)
    if not job:
        raise BadInput(["JOB: name at least one Job, or give --state-file"])
    if token is None:
        raise RefusedByHub("No token", "Cancelling needs a Hub token.", "Set the variable HF_TOKEN.")
    hub = HuggingFaceHub(environ.get("HF_ENDPOINT") or wiring.HUB, token)
    clock = SystemClock()
    owner = namespace or patiently(clock, hub.whoami, limit_s=CANCEL_PATIENCE_S).name
    failed = 0
    for one in job:
        space, _, name = one.rpartition("/")
        ref = JobRef(id=name, namespace=space or owner, url="")
        try:
            state = patiently(clock, lambda ref=ref: hub.look(ref), limit_s=CANCEL_PATIENCE_S)  # type: ignore[misc]
        except JobGone:
            console.error("Not cancelled", f"The Hub has no Job {ref.namespace}/{ref.id}.")
            failed += 1
            continue
        if state.stage.is_terminal:
            console.info(f"{ref.namespace}/{ref.id} has ended already ({state.stage.value}).")
        elif cancel_job(hub, ref, clock):
            console.info(f"Cancelled {ref.namespace}/{ref.id}")
        else:
            console.error("Not cancelled", f"The Hub did not take the cancel of {ref.namespace}/{ref.id}.")
            failed += 1
    return int(ExitCode.REFUSED if failed else ExitCode.OK)


def _cancel_leftover(path: Path, endpoint: str, token: Secret | None, console: PlainConsole) -> int:
    """The second line behind the signal handler: what a killed run left. Never changes a verdict.

    The file lies where other steps can write, so it may not say whom the token is shown to, nor name a Job by its id.
    """
    state = read_state(path)
    nonce = state.get("nonce", "")
    if not nonce:
        console.info("Nothing is left to cancel.")
        return 0
    if token is None:
        console.warning("Cleanup", f"No Hub token here: cancel by hand what has the label hft-nonce={nonce}.")
        return 0
    if state.get("endpoint", "").rstrip("/") != endpoint.rstrip("/"):
        console.info("The run was on another Hub (an embedded one ends with its run); nothing is cancelled here.")
        return 0
    hub = HuggingFaceHub(endpoint, token)
    try:
        found = hub.find(state.get("namespace", ""), {"hft-nonce": nonce})
        left = [one for one in found if not one.stage.is_terminal]
    except (TransientHubError, RefusedByHub, JobGone) as error:
        console.warning("Cleanup", f"The Hub could not be asked ({error}); look for the label hft-nonce={nonce}.")
        return 0
    all_done = True
    for one in left:
        done = cancel_job(hub, one.ref, SystemClock())
        all_done = all_done and done
        console.warning("Cleanup", f"Job {one.ref.id} was left running; {'cancelled' if done else 'NOT cancelled'}.")
    if all_done:
        path.unlink(missing_ok=True)
    return 0


def explain(
    log: Annotated[str, typer.Argument(help="A log file, or `-` for standard input.", metavar="LOG")],
    output_format: Annotated[str, typer.Option("--format", help="`text` or `json`.", metavar="text|json")] = "text",
) -> int:
    """`hf-train explain`."""
    if output_format not in {"text", "json"}:
        raise BadInput([f"--format: {output_format!r} is neither text nor json"])
    reader = LogReader()
    try:
        stream = sys.stdin.buffer if log == "-" else Path(log).open("rb")  # noqa: SIM115
        with stream:
            while chunk := stream.read(1 << 20):
                reader.feed(chunk)
    except OSError as error:
        raise BadInput([f"LOG: {log}: {error.strerror}"]) from error
    reading = reader.close()
    if output_format == "json":
        print(json.dumps(reading.to_json(), indent=2, allow_nan=False))
    else:
        print(explain_text(reading))
    return 0


def local_hub(ctx: typer.Context) -> int:
    """`hf-train local-hub`: hands over to the embedded Hub's own command line."""
    try:
        from hf_train.local_hub.__main__ import main
    except ModuleNotFoundError as error:
        raise UserError(
            "Local Hub not installed", f"{error.name} is missing.", "pip install 'hf-train[local]'"
        ) from error
    return int(main(ctx.args))


def demo(
    report_dir: Annotated[str, typer.Option(help="Folder for the report.")] = "demo-report",
) -> int:
    """`hf-train demo`: the quickstart on the embedded Hub, and the comment that a pull request would get."""
    example = _example("quickstart")
    with tempfile.TemporaryDirectory(prefix="hf-train-demo-") as scratch, _signals():
        workspace = Path(scratch) / "quickstart"
        shutil.copytree(example, workspace)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "HF_TRAIN_"))}
        environ.pop("HF_ENDPOINT", None)
        environ |= {"HF_TRAIN_WORKSPACE": str(workspace), "HF_TRAIN_JOB_TOKEN": f"hf_local_{secrets.token_hex(8)}"}
        flags: Flags = {
            "local": "true",
            "command": "python train.py --push_to_hub --hub_model_id local-user/quickstart",
            "model-repo": "local-user/quickstart",
            "metrics-file": "metrics.json",
            "timeout": "5m",
            "report-dir": report_dir,
        }
        code = _run(flags, environ)
    comment = Path(report_dir) / "comment.md"
    print(f"\nThe comment that a pull request would get ({comment}):\n")
    print(comment.read_text(encoding="utf-8"))
    return code


def _example(name: str) -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / "examples" / name, here.parent.parent / "examples" / name):
        if folder.is_dir():
            return folder
    raise UserError("Example not found", f"examples/{name} is not beside this package.", "Run it from a checkout.")


@contextmanager
def _signals() -> Iterator[None]:
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

"""The commands: read the world, wire the adapters, run the flow, give an exit code."""

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
from typing import Annotated, Any, TextIO

import typer
import yaml

from hf_train import pipeline
from hf_train.clock import SystemClock
from hf_train.collect.explain import explain as explain_text
from hf_train.collect.reader import LogReader
from hf_train.console import GitHubConsole, PlainConsole
from hf_train.context import Context, read_context
from hf_train.errors import BadInput, ExitCode, Interrupted, JobGone, RefusedByHub, TransientHubError, UserError
from hf_train.files import RunFiles, read_state
from hf_train.hub import HuggingFaceHub, stored_token
from hf_train.hub_api import make_api
from hf_train.inputs import Inputs, Layers, parse
from hf_train.local import local_hub as run_local_hub
from hf_train.ports import Ports
from hf_train.prepare import Request, prepare
from hf_train.pulls import GitHubPulls
from hf_train.report import verdict_of
from hf_train.script import ScriptFetcher
from hf_train.show import plan_json, show_plan
from hf_train.snapshot import GitWorkspace
from hf_train.untrusted import Redactor
from hf_train.values import JobRef, Secret
from hf_train.watch import cancel as cancel_job

CONFIG_FILE = ".github/hf-train.yml"
HUB = "https://huggingface.co"
Flags = Mapping[str, str | tuple[str, ...]]
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
        _console(Redactor(()), os.environ).error(error.title, "\n".join(p for p in (error.message, error.hint) if p))
        return int(error.exit_code)
    except Interrupted as stop:
        return int(stop.exit_code)
    except Exception as error:  # noqa: BLE001  (a bug of ours must be told from a failed training)
        redact = Redactor(_environment_secrets(os.environ))
        _console(redact, os.environ).error("A bug in hf-train", f"{type(error).__name__}: {error}. Please report it.")
        print(redact(traceback.format_exc()))
        return int(ExitCode.BUG)


def run(flags: Flags) -> int:
    """`hf-train run`."""
    with _signals():
        return _run(flags, os.environ)


def _run(flags: Flags, environ: Mapping[str, str]) -> int:
    context = _context(environ)
    inputs = parse(_layers(flags, environ, context))
    with ExitStack() as stack:
        endpoint = environ.get("HF_ENDPOINT") or HUB
        if inputs.local:
            endpoint = stack.enter_context(run_local_hub())
        token = _launch_token(inputs, environ, local=inputs.local)
        request = Request(
            inputs=inputs, context=context, environ=_job_environment(inputs, environ), nonce=secrets.token_hex(16)
        )
        ports = _ports(stack, request, endpoint, token)
        if token is None:
            return _without_token(request, ports)
        return int(verdict_of(pipeline.run(request, ports)).code)


def _without_token(request: Request, ports: Ports) -> int:
    context = request.context
    fork = " (a fork's pull request gets no secrets)" if context.pull and context.pull.from_fork else ""
    why = f"There is no Hub token in this step{fork}, so nothing was launched."
    if request.inputs.required or not context.on_github:
        raise RefusedByHub("No token", why, "Give hf-token (or the variable HF_TOKEN), or run with --local.")
    return int(verdict_of(pipeline.skip(request, ports, why)).code)


def plan(flags: Flags, output_format: str) -> int:
    """`hf-train plan`."""
    environ = os.environ
    context = _context(environ)
    inputs = parse(_layers(flags, environ, context))
    with ExitStack() as stack:
        endpoint = environ.get("HF_ENDPOINT") or HUB
        if inputs.local:
            endpoint = stack.enter_context(run_local_hub())
        token = _launch_token(inputs, environ, local=inputs.local)
        request = Request(
            inputs=inputs, context=context, environ=_job_environment(inputs, environ), nonce=secrets.token_hex(16)
        )
        # Standard output is the JSON alone; the runner reads masks on standard error just as well.
        ports = _ports(stack, request, endpoint, token, sys.stderr if output_format == "json" else None)
        made = prepare(request, ports, offline=token is None).plan
        if output_format == "json":
            print(ports.console.redact(plan_json(made)))
        else:
            show_plan(made, ports.console)
    return 0


def cancel(
    job: Annotated[
        list[str] | None, typer.Argument(help="Job ids, `ID` or `NAMESPACE/ID`.", metavar="[JOB]...")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Owner of the Jobs.")] = None,
    state_file: Annotated[str | None, typer.Option(help="State file of a run; a missing one is fine.")] = None,
) -> int:
    """`hf-train cancel`."""
    environ = os.environ
    token = _hf_token(environ)
    console = _console(Redactor([token.reveal()] if token else ()), environ)
    if state_file is not None:
        return _cancel_leftover(Path(state_file), token, console)
    if not job:
        raise BadInput(["JOB: name at least one Job, or give --state-file"])
    if token is None:
        raise RefusedByHub("No token", "Cancelling needs a Hub token.", "Set the variable HF_TOKEN.")
    hub = HuggingFaceHub(environ.get("HF_ENDPOINT") or HUB, token)
    owner = namespace or hub.whoami().name
    failed = 0
    for one in job:
        space, _, name = one.rpartition("/")
        ref = JobRef(id=name, namespace=space or owner, url="")
        done = cancel_job(hub, ref, SystemClock())
        console.info(f"{'Cancelled' if done else 'NOT cancelled:'} {ref.namespace}/{ref.id}")
        failed += not done
    return int(ExitCode.REFUSED if failed else ExitCode.OK)


def _cancel_leftover(path: Path, token: Secret | None, console: PlainConsole) -> int:
    """The second line behind the signal handler: what a killed run left. Never changes a verdict."""
    state = read_state(path)
    nonce = state.get("nonce", "")
    if not nonce or token is None:
        console.info("Nothing is left to cancel.")
        return 0
    hub = HuggingFaceHub(state.get("endpoint") or HUB, token)
    try:
        # By its nonce, not by the id in the file: another step could have put a foreign id there.
        left = [one for one in hub.find(state["namespace"], {"hft-nonce": nonce}) if not one.stage.is_terminal]
    except (TransientHubError, RefusedByHub, JobGone) as error:
        console.warning("Cleanup", f"The Hub could not be asked ({error}); look for the label hft-nonce={nonce}.")
        return 0
    for one in left:
        done = cancel_job(hub, one.ref, SystemClock())
        console.warning("Cleanup", f"Job {one.ref.id} was left running; {'cancelled' if done else 'NOT cancelled'}.")
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


def _ports(
    stack: ExitStack, request: Request, endpoint: str, token: Secret | None, stream: TextIO | None = None
) -> Ports:
    inputs, context, environ = request.inputs, request.context, request.environ
    known = _known_secrets(inputs, environ, token)
    redact = Redactor(known)
    console = _console(redact, environ, stream)
    if isinstance(console, GitHubConsole):
        console.mask(known)
    job_token = inputs.job_token or (Secret(environ["HF_TOKEN"]) if _job_gets_token(inputs, environ) else None)
    workspace = GitWorkspace(
        Path(context.workspace),
        make_api(endpoint, token),
        committed=context.on_github,
        repository=context.repository,
        private=context.private if context.on_github else None,
    )
    stack.callback(workspace.close)
    files = RunFiles(
        output_file=context.output_file,
        summary_file=context.summary_file,
        report_dir=_report_dir(inputs, context),
        state_file=_state_file(environ),
        redact=redact,
    )
    stack.callback(files.close)
    pulls = None
    if inputs.github_token and context.repository:
        pulls = GitHubPulls(context.api_url, inputs.github_token, context.repository)
    return Ports(
        hub=HuggingFaceHub(endpoint, token, job_token),
        pulls=pulls,
        workspace=workspace,
        scripts=ScriptFetcher(endpoint),
        console=console,
        files=files,
        clock=SystemClock(),
    )


def _console(redact: Redactor, environ: Mapping[str, str], stream: TextIO | None = None) -> PlainConsole:
    return (GitHubConsole if environ.get("GITHUB_ACTIONS") == "true" else PlainConsole)(redact, stream)


def _context(environ: Mapping[str, str]) -> Context:
    path = environ.get("GITHUB_EVENT_PATH", "")
    event: dict[str, Any] = {}
    if path:
        try:
            loaded = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            loaded = None
        event = loaded if isinstance(loaded, dict) else {}
    return read_context(environ, event, workspace=environ.get("HF_TRAIN_WORKSPACE") or str(Path.cwd()))


def _layers(flags: Flags, environ: Mapping[str, str], context: Context) -> Layers:
    return Layers(file=_config_file(Path(context.workspace)), environ=environ, flags=flags, words=_words)


def _config_file(workspace: Path) -> Mapping[str, object]:
    path = workspace / CONFIG_FILE
    if not path.is_file():
        return {}
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        where = str(getattr(error, "problem_mark", "")).strip()
        raise BadInput([f"{CONFIG_FILE}: it is not YAML ({where or type(error).__name__})"]) from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise BadInput([f"{CONFIG_FILE}: it holds no `input: value` pairs"])
    return {str(key): value for key, value in loaded.items()}


def _launch_token(inputs: Inputs, environ: Mapping[str, str], *, local: bool) -> Secret | None:
    if local:
        return Secret(f"hf_local_{secrets.token_hex(8)}")
    if inputs.hf_token:
        return inputs.hf_token
    if value := environ.get("HF_TOKEN", "").strip():
        return Secret(value)
    return None if environ.get("GITHUB_ACTIONS") == "true" else stored_token()


def _hf_token(environ: Mapping[str, str]) -> Secret | None:
    value = (environ.get("HF_TRAIN_HF_TOKEN") or environ.get("HF_TOKEN") or "").strip()
    return Secret(value) if value else stored_token() if environ.get("GITHUB_ACTIONS") != "true" else None


def _job_environment(inputs: Inputs, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where secrets are read. On the embedded Hub any token is as good as another, so a missing one is made up."""
    if inputs.local and "HF_TOKEN" in inputs.secrets and not environ.get("HF_TOKEN"):
        return {**environ, "HF_TOKEN": f"hf_local_{secrets.token_hex(8)}"}
    return environ


def _job_gets_token(inputs: Inputs, environ: Mapping[str, str]) -> bool:
    return "HF_TOKEN" in inputs.secrets and bool(environ.get("HF_TOKEN"))


def _known_secrets(inputs: Inputs, environ: Mapping[str, str], token: Secret | None) -> list[str]:
    named = [environ.get(name, "") for name in inputs.secrets]
    tokens = [one.reveal() for one in (token, inputs.job_token, inputs.github_token) if one]
    return [value for value in dict.fromkeys([*tokens, *named, *_environment_secrets(environ)]) if value]


def _environment_secrets(environ: Mapping[str, str]) -> list[str]:
    names = ("HF_TOKEN", "HF_TRAIN_HF_TOKEN", "HF_TRAIN_JOB_TOKEN", "HF_TRAIN_GITHUB_TOKEN", "GITHUB_TOKEN")
    return [environ[name] for name in names if environ.get(name)]


def _report_dir(inputs: Inputs, context: Context) -> Path | None:
    if inputs.report_dir:
        return Path(inputs.report_dir)
    return Path(context.temp) / "hf-train-report" if context.temp else None


def _state_file(environ: Mapping[str, str]) -> Path | None:
    if path := environ.get("HF_TRAIN_STATE_FILE"):
        return Path(path)
    temp = environ.get("RUNNER_TEMP")
    return Path(temp) / "hf-train" / f"{secrets.token_hex(8)}.json" if temp else None


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

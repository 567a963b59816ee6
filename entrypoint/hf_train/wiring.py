"""Read the world and wire the adapters: the other half of the command line."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import yaml

from hf_train.clock import SystemClock
from hf_train.console import GitHubConsole, PlainConsole
from hf_train.context import Context, read_context
from hf_train.engine import DockerBuilder
from hf_train.errors import BadInput
from hf_train.files import RunFiles
from hf_train.flow.prepare import Request
from hf_train.github.people import GitHubPeople
from hf_train.github.pulls import GitHubPulls
from hf_train.github.releases import GitHubReleases
from hf_train.hub import HubAccess, HubCards, HubPublisher, HubTags, HubTrackers, HuggingFaceHub, Identity, stored_token
from hf_train.hub.reports import BucketReports
from hf_train.hub.spaces import SpaceBuilder
from hf_train.hub_api import make_api
from hf_train.images.pins import Pin, read_pins
from hf_train.images.ports import Images
from hf_train.inputs import Inputs, Layers, read, weak_secrets, with_words
from hf_train.ports import Ports
from hf_train.registry import OciRegistry
from hf_train.script import ScriptFetcher
from hf_train.slash import parse_command
from hf_train.snapshot import GitWorkspace
from hf_train.snapshot.context import GitContext
from hf_train.text.untrusted import Redactor
from hf_train.values import Secret

CONFIG_FILE = ".github/hf-train.yml"
MAX_CONFIG = 65_536
HUB = "https://huggingface.co"
Flags = Mapping[str, str | tuple[str, ...]]
_TOKENS = (
    *("HF_TOKEN", "HF_TRAIN_HF_TOKEN", "HF_TRAIN_JOB_TOKEN", "HF_TRAIN_BUILD_TOKEN"),
    *("GITHUB_TOKEN", "HF_TRAIN_GITHUB_TOKEN"),
)


def context_of(environ: Mapping[str, str]) -> Context:
    """Where this process runs."""
    path = environ.get("GITHUB_EVENT_PATH", "")
    event: dict[str, Any] = {}
    if path:
        try:
            loaded = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            loaded = None
        event = loaded if isinstance(loaded, dict) else {}
    return read_context(environ, event, workspace=environ.get("HF_TRAIN_WORKSPACE") or str(Path.cwd()))


def inputs_of(
    flags: Flags, environ: Mapping[str, str], context: Context, words: tuple[str, ...]
) -> tuple[Inputs, tuple[str, ...]]:
    """The inputs of the three layers, and what is wrong with them."""
    file: Mapping[str, object] = {}
    problems: tuple[str, ...] = ()
    try:
        file = _config_file(Path(context.workspace))
    except BadInput as error:
        problems = error.problems
    inputs, more = read(Layers(file=file, environ=environ, flags=flags, words=words))
    if context.comment is None:
        return inputs, (*problems, *more)
    try:
        command = parse_command(context.comment.body, inputs.train_keys)
    except ValueError as error:
        return inputs, (*problems, *more, str(error))
    if command is not None:
        inputs, more = read(Layers(file=file, environ=environ, flags={**flags, **command.values}, words=words))
        inputs, odd = with_words(inputs, command.words)
        more = (*more, *odd)
    return inputs, (*problems, *more)


def _config_file(workspace: Path) -> Mapping[str, object]:
    path = workspace / CONFIG_FILE
    if not path.is_file():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        if len(text) > MAX_CONFIG or any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise BadInput([f"{CONFIG_FILE}: at most {MAX_CONFIG} characters, and no aliases (`*name`)"])
        loaded = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        where = str(getattr(error, "problem_mark", "")).strip()
        raise BadInput([f"{CONFIG_FILE}: it is not YAML ({where or type(error).__name__})"]) from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise BadInput([f"{CONFIG_FILE}: it holds no `input: value` pairs"])
    return {str(key): value for key, value in loaded.items()}


def ports_of(
    stack: ExitStack, request: Request, endpoint: str, token: Secret | None, stream: TextIO | None = None
) -> Ports:
    """The world of a run; what must be tidied up goes on the stack."""
    inputs, context, environ = request.inputs, request.context, request.environ
    known = _known_secrets(inputs, environ, token)
    redact = Redactor(known)
    console = console_of(redact, environ, stream)
    if isinstance(console, GitHubConsole):
        console.mask(known)
    outputs = {"model-repo": inputs.model_repo or "", "namespace": inputs.namespace or ""}
    for weakness in weak_secrets(inputs, environ, outputs):
        console.warning("Secret", weakness)
    workspace = GitWorkspace(
        Path(context.workspace),
        make_api(endpoint, token),
        committed=context.on_github,
        repository=context.repository,
        private=context.private if context.on_github else None,
        known=known,
    )
    stack.callback(workspace.close)
    files = RunFiles(
        output_file=context.output_file,
        summary_file=context.summary_file,
        report_dir=_report_dir(inputs, context),
        state_file=_state_file(environ),
        redact=redact,
        tell=lambda text: console.warning("Report", text),
    )
    stack.callback(files.close)
    pulls = people = releases = None
    if inputs.github_token and context.repository:
        people = GitHubPeople(context.api_url, inputs.github_token, context.repository)
        releases = GitHubReleases(context.api_url, inputs.github_token, context.repository)
        pulls = GitHubPulls(context.api_url, inputs.github_token, context.repository, origin=context.origin)
    writer = HubPublisher(endpoint, _job_token(inputs, environ) or token, identity_of(environ))
    return Ports(
        hub=HuggingFaceHub(endpoint, token, _job_token(inputs, environ)),
        pulls=pulls,
        workspace=workspace,
        scripts=ScriptFetcher(endpoint),
        console=console,
        files=files,
        reports=BucketReports(make_api(endpoint, token)),
        clock=SystemClock(),
        access=HubAccess(endpoint, token, _job_token(inputs, environ)),
        people=people,
        images=images_of(stack, context, endpoint, token, known),
        publisher=HubPublisher(endpoint, token, identity_of(environ)),
        cards=HubCards(endpoint, writer),
        tags=HubTags(endpoint, writer),
        releases=releases,
        trackers=HubTrackers(endpoint, _job_token(inputs, environ)),
    )


def images_of(
    stack: ExitStack, context: Context, endpoint: str, token: Secret | None, secrets: Sequence[str] = ()
) -> Images:
    """Registries, the engine, and the names that we know. With a Hub on this machine only its own are asked."""
    local = is_loopback(endpoint)
    checkout = GitContext(Path(context.workspace), committed=context.on_github)
    stack.callback(checkout.close)
    return Images(
        registry=OciRegistry(loopback=local, elsewhere=not local),
        context=checkout,
        builder=DockerBuilder(secrets),
        spaces=SpaceBuilder(endpoint, token, poll_s=0.2 if local else 2.0),
        pins=known_images(),
    )


def is_loopback(endpoint: str) -> bool:
    """Whether the Hub is one on this machine."""
    return bool(re.fullmatch(r"localhost|127(\.\d{1,3}){3}|::1", urlsplit(endpoint).hostname or ""))


def pins_file() -> Path | None:
    """`images/pins.toml`: beside the package where it is installed, at the root of a checkout of ours."""
    here = Path(__file__).resolve().parent
    places = (here / "images" / "pins.toml", here.parent.parent / "images" / "pins.toml")
    return next((place for place in places if place.is_file()), None)


def known_images() -> tuple[Pin, ...]:
    """The names that `image:` knows."""
    place = pins_file()
    return read_pins(place.read_text(encoding="utf-8")) if place else ()


def identity_of(environ: Mapping[str, str]) -> Identity | None:
    """Where the runner says who this step is; None without `permissions: id-token: write`."""
    url, token = environ.get("ACTIONS_ID_TOKEN_REQUEST_URL", ""), environ.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")
    return Identity(url=url, token=Secret(token)) if url and token else None


def console_of(redact: Redactor, environ: Mapping[str, str], stream: TextIO | None = None) -> PlainConsole:
    """A runner's console on GitHub, a plain one elsewhere."""
    return (GitHubConsole if environ.get("GITHUB_ACTIONS") == "true" else PlainConsole)(redact, stream)


def launch_token(inputs: Inputs, environ: Mapping[str, str]) -> Secret | None:
    """The token that launches; made up for the embedded Hub, where any is as good as another."""
    if inputs.local:
        return Secret(f"hf_local_{secrets.token_hex(8)}")
    return inputs.hf_token or given_token(environ)


def given_token(environ: Mapping[str, str]) -> Secret | None:
    """The token of the environment; on a laptop that of `hf auth login` as well."""
    value = (environ.get("HF_TRAIN_HF_TOKEN") or environ.get("HF_TOKEN") or "").strip()
    if value:
        return Secret(value)
    return None if environ.get("GITHUB_ACTIONS") == "true" else stored_token()


def job_environment(inputs: Inputs, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where secrets are read. A missing token for the embedded Hub is made up."""
    if inputs.local and "HF_TOKEN" in inputs.secrets and not environ.get("HF_TOKEN"):
        return {**environ, "HF_TOKEN": f"hf_local_{secrets.token_hex(8)}"}
    return environ


def environment_secrets(environ: Mapping[str, str]) -> list[str]:
    """Values of the token variables that this step knows, and of the secrets that its variables name."""
    listed = "\n".join(environ.get(name, "") for name in ("HF_TRAIN_SECRETS", "HF_TRAIN_BUILD_SECRETS"))
    names = dict.fromkeys([*_TOKENS, *listed.replace(",", "\n").split()])
    return [environ[name] for name in names if environ.get(name)]


def _job_token(inputs: Inputs, environ: Mapping[str, str]) -> Secret | None:
    named = environ.get("HF_TOKEN", "") if "HF_TOKEN" in inputs.secrets else ""
    return inputs.job_token or (Secret(named) if named else None)


def _known_secrets(inputs: Inputs, environ: Mapping[str, str], token: Secret | None) -> list[str]:
    named = [environ.get(name, "") for name in (*inputs.secrets, *inputs.build_secrets)]
    tokens = [one.reveal() for one in (token, inputs.job_token, inputs.github_token, inputs.build_token) if one]
    return [value for value in dict.fromkeys([*tokens, *named, *environment_secrets(environ)]) if value]


def _report_dir(inputs: Inputs, context: Context) -> Path | None:
    if inputs.report_dir:
        return _no_link(Path(inputs.report_dir), Path(context.workspace))
    return Path(context.temp) / "hf-train-report" if context.temp else None


def _no_link(folder: Path, workspace: Path) -> Path:
    """The folder, when no part of it inside the checkout is a link: a commit can hold one that leads anywhere.

    Raises:
        BadInput: There is a link.
    """
    here = workspace.resolve()
    whole = Path(os.path.normpath(Path.cwd().resolve() / folder))
    for one in (whole, *whole.parents):
        if one != here and one.is_relative_to(here) and one.is_symlink():
            raise BadInput([f"report-dir: {one.relative_to(here)} is a link in the repository; name a real folder"])
    return folder


def _state_file(environ: Mapping[str, str]) -> Path | None:
    if path := environ.get("HF_TRAIN_STATE_FILE"):
        return Path(path)
    temp = environ.get("RUNNER_TEMP")
    return Path(temp) / "hf-train" / f"{secrets.token_hex(8)}.json" if temp else None

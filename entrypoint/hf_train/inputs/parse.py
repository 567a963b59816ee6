"""From three layers of raw values to one frozen `Inputs`, or to one message with every problem."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, cast

from hf_train.directions import Direction, marked
from hf_train.errors import BadInput
from hf_train.gate import Condition, contradictions, parse_condition
from hf_train.inputs import grammar
from hf_train.inputs.fields import BY_NAME, ENV_PREFIX, FIELDS, Field
from hf_train.inputs.mounts import in_bucket
from hf_train.inputs.smoke import Smoke, smoke
from hf_train.values import LocalVolume, Secret, Volume

T = TypeVar("T")
Raw = str | tuple[str, ...]

DEFAULT_TIMEOUT_S = 1800
DEFAULT_QUEUE_TIMEOUT_S = 1800
MIN_LEASE_S = 120
LEASE_MOUNT = "/hf-train-lease"
"""Where the Job sees the file of its lease."""
_BUILD_ONLY = ("build-context", "build-target", "build-args", "build-secrets", "build-repository")
SHELL_SIGNS = re.compile(r"[\n;&|<>$`*?~(){}#]")
"""A string command with one of these is run by `sh -ec`; without, it is split into words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """Where raw values come from; the later one wins.

    Attributes:
        file: The parsed `.github/hf-train.yml`, empty when there is none.
        environ: The process environment.
        flags: Values of `--flags` by input name.
        words: The command after `--`, word by word.
    """

    file: Mapping[str, object] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Raw] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """All inputs, parsed and checked on their own. Field names are the input names with `_` for `-`.

    Durations are whole seconds, costs are US dollars; `command` is the argv of the Job when a command was given;
    `directions` are those that `metrics` and `gate` mark (`NAME:higher`); `given` are the names that a layer sets.
    """

    script: str | None = None
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    config: str | None = None
    image: str | None = None
    dockerfile: str | None = None
    build_context: str = "."
    build_target: str | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
    build_secrets: tuple[str, ...] = ()
    build_repository: str | None = None
    build_user: str | None = None
    build_token: Secret | None = None
    flavor: str = "cpu-basic"
    timeout: int = DEFAULT_TIMEOUT_S
    namespace: str | None = None
    attempts: int | None = None
    queue_timeout: int = DEFAULT_QUEUE_TIMEOUT_S
    path: str = "."
    mount: str = "/code"
    exclude: tuple[str, ...] = ()
    volumes: tuple[Volume | LocalVolume, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    model_repo: str | None = None
    private: bool | None = None
    metrics_file: str | None = None
    metrics: tuple[str, ...] = ()
    directions: Mapping[str, Direction] = field(default_factory=dict)
    baseline: str | None = None
    gate: tuple[Condition, ...] = ()
    publish: str | None = None
    require_model: bool = False
    mode: Literal["wait", "detach"] = "wait"
    on_cancel: Literal["cancel", "keep"] = "cancel"
    reuse: Literal["auto", "never"] = "auto"
    supersede: Literal["cancel", "keep", "queue"] | None = None
    lease: int | None = None
    max_cost: float | None = None
    max_cost_per_pr: float | None = None
    max_cost_per_day: float | None = None
    allow_unknown_price: bool = False
    retry: int = 0
    smoke: Smoke | None = None
    watch_timeout: int | None = None
    on_watch_timeout: Literal["fail", "detach", "cancel"] | None = None
    comment: Literal["always", "on-change", "on-failure", "never"] = "always"
    comment_key: str | None = None
    check: bool = False
    report_dir: str | None = None
    hf_token: Secret | None = None
    job_token: Secret | None = None
    github_token: Secret | None = None
    approve_label: str = "train"
    train_keys: tuple[str, ...] = ()
    required: bool = False
    local: bool = False
    given: tuple[str, ...] = field(default=(), compare=False)


def parse(layers: Layers) -> Inputs:
    """Parse and check.

    Raises:
        BadInput: With every problem that was found.
    """
    inputs, problems = read(layers)
    if problems:
        raise BadInput(problems)
    return inputs


def read(layers: Layers) -> tuple[Inputs, tuple[str, ...]]:
    """Parse and check, and give the problems back, so that those of the workspace can be told in the same message.

    Returns:
        The inputs, with defaults where a value could not be read, and a sentence per problem.
    """
    reader = _Reader(layers)
    inputs = _read(reader)
    reader.problems.extend(_across(inputs, reader))
    return inputs, tuple(reader.problems)


def with_words(inputs: Inputs, words: tuple[str, ...]) -> tuple[Inputs, tuple[str, ...]]:
    """Add words to the end of what is run.

    Returns:
        The inputs, and a sentence per problem.
    """
    if not words or inputs.script:
        return replace(inputs, args=(*inputs.args, *words)), ()
    if inputs.command[:2] == ("sh", "-ec"):
        return inputs, (f"{words[0]}: it cannot be added to a command with shell signs; give script, or plain words",)
    return replace(inputs, command=(*inputs.command, *words)), ()


class _Reader:
    """Looks a field up in the layers and gathers problems instead of stopping at the first."""

    def __init__(self, layers: Layers) -> None:
        self.problems: list[str] = []
        self.given: dict[str, Raw] = {}
        self.listed_command: tuple[str, ...] | None = None
        self._from_file(layers.file)
        self._from_environ(layers.environ)
        for name, value in layers.flags.items():
            self.given[name] = value
        self.words = layers.words
        if layers.words and "command" in layers.flags:
            self.problems.append("command: given both as --command and after '--'; keep one")

    def _from_file(self, file: Mapping[str, object]) -> None:
        for key, value in file.items():
            name = str(key)  # YAML has keys that are no text: `on: push` is True
            where = f".github/hf-train.yml: {name}"
            if name not in BY_NAME:
                self.problems.append(f"{where}: not an input{_suggest(name)}")
            elif not BY_NAME[name].from_file:
                self.problems.append(
                    f"{where}: not read from this file, because a pull request can edit it; set it in the workflow"
                )
            elif name == "command" and _is_flat_list(value):
                self.listed_command = tuple(_scalar(word) for word in cast("list[object]", value))
            elif (raw := _from_yaml(BY_NAME[name], value)) is None:
                self.problems.append(f"{where}: {value!r} is not what this input takes")
            elif raw:
                self.given[name] = raw

    def _from_environ(self, environ: Mapping[str, str]) -> None:
        for one in FIELDS:
            if value := environ.get(one.variable, ""):
                self.given[one.name] = value
                if one.name == "command":
                    self.listed_command = None
        known = {one.variable for one in FIELDS}
        for name in environ:
            if name.startswith(ENV_PREFIX) and name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.9)
                if close:
                    self.problems.append(f"{name}: not an input; did you mean {close[0]}?")

    def text(self, name: str) -> str | None:
        """The value of an input that takes one value; None when it is not given."""
        raw = self.given.get(name)
        if raw is None:
            return None
        text = raw if isinstance(raw, str) else "\n".join(raw)
        return text.strip() or None

    def one(self, name: str, read: Callable[[str], T], default: T) -> T:
        """One value through its grammar."""
        text = self.text(name)
        if text is None:
            return default
        try:
            return read(text)
        except ValueError as error:
            self.problems.append(f"{name}: {error}")
            return default

    def many(self, name: str, read: Callable[[str], T]) -> tuple[T, ...]:
        """Each line through its grammar. Blank lines and lines that start with `#` are left out."""
        raw = self.given.get(name, ())
        if isinstance(raw, str):
            lines = _lines(raw)
        else:
            # A flag or a list's item of `env` is one value, which may have several lines itself.
            lines = list(raw) if name == "env" else [line for item in raw for line in _lines(item)]
        values: list[T] = []
        for line in lines:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                values.append(read(line if name == "env" else line.strip()))
            except ValueError as error:
                self.problems.append(f"{name}: {error}")
        return tuple(values)

    def secret(self, name: str) -> Secret | None:
        """A token; white space around it (a pasted newline) is dropped."""
        text = self.text(name)
        return Secret(text) if text else None


def _from_yaml(one: Field, value: object) -> Raw | None:
    """A YAML value in the form that a variable would have; None when it has no such form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if not one.many:
        return None
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return tuple(_scalar(item) for item in value)
    if isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values()):
        joint = {"env": "=", "smoke": ": "}.get(one.name)
        return tuple(f"{key}{joint}{_scalar(item)}" for key, item in value.items()) if joint else None
    return None


def _is_flat_list(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)


def _scalar(value: object) -> str:
    """A value of a YAML mapping as Actions would hand it over."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _lines(text: str) -> list[str]:
    """Lines, cut at line feeds only: `str.splitlines()` cuts at U+2028 and at form feeds too, which values may hold."""
    return text.replace("\r\n", "\n").split("\n")


def _suggest(name: str) -> str:
    close = difflib.get_close_matches(name, list(BY_NAME), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _read(reader: _Reader) -> Inputs:
    shown = reader.many("metrics", marked)
    gate = tuple(dict.fromkeys(reader.many("gate", parse_condition)))

    def word(name: str, allowed: tuple[str, ...], default: str) -> Any:
        return reader.one(name, lambda text: grammar.choice(text, allowed), default)

    return Inputs(
        script=reader.one("script", _script, None),
        args=reader.one("args", _words, ()),
        command=_command(reader),
        config=reader.text("config"),
        image=reader.one("image", grammar.image, cast("str | None", None)),
        dockerfile=reader.text("dockerfile"),
        build_context=reader.text("build-context") or ".",
        build_target=reader.text("build-target"),
        build_args=dict(reader.many("build-args", lambda line: grammar.assignment(line, "build-secrets"))),
        build_secrets=tuple(dict.fromkeys(reader.many("build-secrets", grammar.variable))),
        build_repository=reader.text("build-repository"),
        build_user=reader.text("build-user"),
        build_token=reader.secret("build-token"),
        flavor=reader.one("flavor", grammar.flavor, "cpu-basic"),
        timeout=reader.one("timeout", grammar.duration, DEFAULT_TIMEOUT_S),
        namespace=reader.one("namespace", grammar.namespace, cast("str | None", None)),
        attempts=reader.one("attempts", grammar.positive_int, cast("int | None", None)),
        queue_timeout=reader.one("queue-timeout", grammar.duration, DEFAULT_QUEUE_TIMEOUT_S),
        path=reader.text("path") or ".",
        mount=reader.one("mount", grammar.mount, "/code"),
        exclude=reader.many("exclude", str),
        volumes=reader.many("volumes", grammar.volume),
        env=dict(reader.many("env", grammar.assignment)),
        secrets=tuple(dict.fromkeys(reader.many("secrets", grammar.variable))),
        model_repo=reader.one("model-repo", grammar.repo, cast("str | None", None)),
        private=reader.one("private", grammar.boolean, cast("bool | None", None)),
        metrics_file=reader.text("metrics-file"),
        metrics=tuple(name for name, _ in shown),
        directions=_directions(reader, [*shown, *((one.metric, one.way) for one in gate)]),
        baseline=reader.one("baseline", grammar.baseline, cast("str | None", None)),
        gate=gate,
        publish=reader.one("publish", grammar.mount, None),
        require_model=reader.one("require-model", grammar.boolean, reader.text("model-repo") is not None),
        mode=word("mode", ("wait", "detach"), "wait"),
        on_cancel=word("on-cancel", ("cancel", "keep"), "cancel"),
        reuse=word("reuse", ("auto", "never"), "auto"),
        supersede=reader.one("supersede", _supersede, cast("Any", None)),
        lease=reader.one("lease", grammar.duration, cast("int | None", None)),
        max_cost=reader.one("max-cost", grammar.money, cast("float | None", None)),
        max_cost_per_pr=reader.one("max-cost-per-pr", grammar.money, cast("float | None", None)),
        max_cost_per_day=reader.one("max-cost-per-day", grammar.money, cast("float | None", None)),
        allow_unknown_price=reader.one("allow-unknown-price", grammar.boolean, False),
        retry=reader.one("retry", grammar.retries, 0),
        smoke=_smoke(reader),
        watch_timeout=reader.one("watch-timeout", grammar.duration, cast("int | None", None)),
        on_watch_timeout=reader.one("on-watch-timeout", _after_watch, cast("Any", None)),
        comment=word("comment", ("always", "on-change", "on-failure", "never"), "always"),
        comment_key=reader.text("comment-key"),
        check=reader.one("check", grammar.boolean, False),
        report_dir=reader.text("report-dir"),
        hf_token=reader.secret("hf-token"),
        job_token=reader.secret("job-token"),
        github_token=reader.secret("github-token"),
        approve_label=reader.text("approve-label") or "train",
        train_keys=reader.many("train-keys", grammar.option_name),
        required=reader.one("required", grammar.boolean, False),
        local=reader.one("local", grammar.boolean, False),
        given=tuple(sorted(name for name, raw in reader.given.items() if raw)),
    )


def _directions(reader: _Reader, marks: Sequence[tuple[str, Direction | None]]) -> Mapping[str, Direction]:
    found: dict[str, Direction] = {}
    for name, way in marks:
        if way and found.setdefault(name, way) != way:
            reader.problems.append(f"metrics and gate: {name} is marked both higher and lower; keep one")
    return found


def _smoke(reader: _Reader) -> Smoke | None:
    lines = reader.many("smoke", str)
    try:
        return smoke(lines) if lines else None
    except ValueError as error:
        reader.problems.append(f"smoke: {error}")
        return None


def _supersede(text: str) -> Any:
    return grammar.choice(text, ("cancel", "keep", "queue"))


def _after_watch(text: str) -> Any:
    return grammar.choice(text, ("fail", "detach", "cancel"))


def _script(text: str) -> str:
    if text.startswith("-"):
        message = f"{text!r} starts with '-'; name a file or an https URL"
        raise ValueError(message)
    return text


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        message = f"{text!r} cannot be split into words ({error}); check its quotes"
        raise ValueError(message) from None


def _command(reader: _Reader) -> tuple[str, ...]:
    """The command's argv: words after `--` as they are, a list as it is, a string as a shell would read it."""
    if reader.words:
        return reader.words
    if reader.listed_command is not None and "command" not in reader.given:
        return reader.listed_command
    text = reader.text("command")
    if text is None:
        return ()
    if SHELL_SIGNS.search(text):
        return ("sh", "-ec", text)
    return reader.one("command", _words, ())


def _across(inputs: Inputs, reader: _Reader) -> Sequence[str]:
    """Problems that only show when inputs are seen side by side."""
    problems: list[str] = []
    has_command = bool(reader.words or reader.listed_command is not None or "command" in reader.given)
    if inputs.script and has_command:
        problems.append("script and command: both are given; keep one")
    if inputs.command and not inputs.command[0].strip():
        problems.append("command: its first word is empty")
    if not inputs.script and not inputs.command and not any(p.startswith("command") for p in reader.problems):
        given_but_empty = has_command or "command" in reader.given
        problems.append(
            "command: it is empty"
            if given_but_empty
            else "nothing to run: give script, or command, or words after '--'"
        )
    if inputs.dockerfile and inputs.image:
        problems.append("image and dockerfile: both are given; keep one")
    if not inputs.dockerfile:
        problems.extend(f"{name}: it needs dockerfile" for name in _BUILD_ONLY if reader.text(name))
    if inputs.args and not inputs.script:
        problems.append("args: they belong to script; put them into command")
    if inputs.smoke and inputs.smoke.args and inputs.command[:2] == ("sh", "-ec"):
        problems.append("smoke: args cannot be added to a command that a shell runs; give script, or a plain command")
    problems.extend(_mounts(inputs))
    problems.extend(_publish(inputs))
    problems.extend(_lease(inputs))
    problems.extend(f"gate: {problem}" for problem in contradictions(inputs.gate, inputs.directions))
    if inputs.job_token and "HF_TOKEN" in inputs.secrets:
        problems.append("job-token and secrets: both set HF_TOKEN in the Job; keep one")
    problems.extend(
        f"{name}: it is under both env and secrets; keep one" for name in inputs.secrets if name in inputs.env
    )
    if inputs.path == "none" and inputs.script and not inputs.script.startswith(("http://", "https://")):
        problems.append("path: none sends no code, but script is a file of the repository")
    return problems


def _lease(inputs: Inputs) -> Sequence[str]:
    """A lease ends the Job when this step is gone, so nothing may ask for the opposite."""
    if inputs.lease is None:
        return []
    problems = []
    if inputs.lease < MIN_LEASE_S:
        problems.append(f"lease: {inputs.lease} s is too short; one lost request would end the Job; take 5m or more")
    if inputs.path == "none":
        problems.append("lease: it is kept by the script that comes with the code, and path is none")
    against = [
        ("mode: detach", inputs.mode == "detach"),
        ("on-cancel: keep", inputs.on_cancel == "keep"),
        ("on-watch-timeout: detach", inputs.on_watch_timeout == "detach"),
    ]
    words = "lease: it ends the Job when this step is gone, and {} leaves it; keep one"
    problems += [words.format(name) for name, on in against if on]
    return problems


def _publish(inputs: Inputs) -> Sequence[str]:
    """What is published must be in a bucket when the Job is gone, and must have somewhere to go."""
    if inputs.publish is None:
        return []
    problems = [] if inputs.model_repo else ["publish: give model-repo, where it is pushed"]
    if in_bucket(inputs.publish, inputs.volumes) is None:
        problems.append(
            f"publish: {inputs.publish} is in no bucket that the Job writes to; add one to volumes, for instance "
            "hf://buckets/OWNER/NAME:/out:rw"
        )
    return problems


def _mounts(inputs: Inputs) -> Sequence[str]:
    taken: dict[str, str] = {} if inputs.path == "none" else {inputs.mount: "the code"}
    taken |= {LEASE_MOUNT: "the lease"} if inputs.lease else {}
    problems = []
    for volume in inputs.volumes:
        if volume.mount in taken:
            problems.append(f"volumes: {volume.mount} is mounted twice (by {taken[volume.mount]} too)")
        taken[volume.mount] = volume.folder if isinstance(volume, LocalVolume) else volume.source
    return problems

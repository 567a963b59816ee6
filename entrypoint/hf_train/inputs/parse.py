"""From three layers of raw values to one frozen `Inputs`, or to one message with every problem."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from hf_train.errors import BadInput
from hf_train.inputs import grammar
from hf_train.inputs.across import across
from hf_train.inputs.model import DEFAULT_QUEUE_TIMEOUT_S, DEFAULT_TIMEOUT_S, Inputs, Layers
from hf_train.inputs.reader import Reader
from hf_train.inputs.smoke import Smoke, smoke
from hf_train.judge.directions import Direction, marked
from hf_train.judge.gate import parse_condition
from hf_train.recipes import Recipe, recipe_of

SHELL_SIGNS = re.compile(r"[\n;&|<>$`*?~(){}#]")
"""A string command with one of these is run by `sh -ec`; without, it is split into words."""


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
    reader = Reader(layers)
    inputs = _read(reader)
    reader.problems.extend(across(inputs, reader))
    return inputs, tuple(reader.problems)


def with_words(inputs: Inputs, words: tuple[str, ...]) -> tuple[Inputs, tuple[str, ...]]:
    """Add words to the end of what is run.

    Returns:
        The inputs, and a sentence per problem.
    """
    if not words or inputs.script or inputs.recipe:
        return replace(inputs, args=(*inputs.args, *words)), ()
    if inputs.command[:2] == ("sh", "-ec"):
        return inputs, (f"{words[0]}: it cannot be added to a command with shell signs; give script, or plain words",)
    return replace(inputs, command=(*inputs.command, *words)), ()


def _read(reader: Reader) -> Inputs:
    shown = reader.many("metrics", marked)
    gate = tuple(dict.fromkeys(reader.many("gate", parse_condition)))

    def word(name: str, allowed: tuple[str, ...], default: str) -> Any:
        return reader.one(name, lambda text: grammar.choice(text, allowed), default)

    return Inputs(
        script=reader.one("script", _script, None),
        recipe=reader.one("recipe", recipe_of, cast("Recipe | None", None)),
        args=reader.one("args", _words, ()),
        command=_command(reader),
        config=reader.text("config"),
        image=reader.one("image", grammar.image, cast("str | None", None)),
        dockerfile=reader.text("dockerfile"),
        build_context=reader.text("build-context") or ".",
        build_target=reader.text("build-target"),
        build_args=dict(reader.many("build-args", lambda line: grammar.assignment(line, "build-secrets"))),
        build_secrets=tuple(dict.fromkeys(reader.many("build-secrets", grammar.secret_name))),
        build_repository=reader.text("build-repository"),
        build_user=reader.text("build-user"),
        build_token=reader.secret("build-token"),
        flavor=reader.one("flavor", grammar.flavor, "cpu-basic"),
        timeout=reader.one("timeout", grammar.duration, DEFAULT_TIMEOUT_S),
        namespace=reader.one("namespace", grammar.namespace, cast("str | None", None)),
        attempts=reader.one("attempts", grammar.positive_int, cast("int | None", None)),
        queue_timeout=reader.one("queue-timeout", grammar.duration, DEFAULT_QUEUE_TIMEOUT_S),
        nodes=reader.one("nodes", grammar.nodes, 1),
        path=reader.text("path") or ".",
        mount=reader.one("mount", grammar.mount, "/code"),
        jobside=reader.one("jobside", _on, True),
        exclude=reader.many("exclude", str),
        volumes=reader.many("volumes", grammar.volume),
        env=dict(reader.many("env", grammar.assignment)),
        secrets=tuple(dict.fromkeys(reader.many("secrets", grammar.secret_name))),
        model_repo=reader.one("model-repo", grammar.repo, cast("str | None", None)),
        private=reader.one("private", grammar.boolean, cast("bool | None", None)),
        metrics_file=reader.text("metrics-file"),
        metrics=tuple(name for name, _ in shown),
        directions=_directions(reader, [*shown, *((one.metric, one.way) for one in gate)]),
        baseline=reader.one("baseline", grammar.baseline, cast("str | None", None)),
        gate=gate,
        output=reader.one("output", _output, cast("Any", None)),
        publish=reader.one("publish", grammar.mount, None),
        require_model=reader.one("require-model", grammar.boolean, reader.text("model-repo") is not None),
        lineage=reader.one("lineage", grammar.boolean, False),
        release=reader.one("release", grammar.boolean, False),
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


def _directions(reader: Reader, marks: Sequence[tuple[str, Direction | None]]) -> Mapping[str, Direction]:
    found: dict[str, Direction] = {}
    for name, way in marks:
        if way and found.setdefault(name, way) != way:
            reader.problems.append(f"metrics and gate: {name} is marked both higher and lower; keep one")
    return found


def _smoke(reader: Reader) -> Smoke | None:
    lines = reader.many("smoke", str)
    try:
        return smoke(lines) if lines else None
    except ValueError as error:
        reader.problems.append(f"smoke: {error}")
        return None


def _supersede(text: str) -> Any:
    return grammar.choice(text, ("cancel", "keep", "queue"))


def _output(text: str) -> Any:
    return grammar.choice(text, ("bucket",))


def _after_watch(text: str) -> Any:
    return grammar.choice(text, ("fail", "detach", "cancel"))


def _on(text: str) -> bool:
    """In the config file `on` and `off` are the booleans of YAML 1.1."""
    return grammar.choice(text, ("on", "off", "true", "false")) in ("on", "true")


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


def _command(reader: Reader) -> tuple[str, ...]:
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

"""From the table of inputs to the options of a command: declared once, in `inputs.fields`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from hf_train.inputs import FIELDS, Field


def with_inputs(
    command: Callable[..., int], *, plans: bool = False, more: Sequence[inspect.Parameter] = ()
) -> Callable[..., int]:
    """A typer command whose options are the inputs; the command gets them as one mapping.

    Args:
        command: Called with `flags`; one that plans, with `output_format` and `check` too.
        plans: Add `--format text|json` and `--check`.
        more: Options of the command's own, made by `keyword`; it gets their values by name.
    """

    def wrapped(**values: Any) -> int:
        # A plan writes no check run, so `--check` is its own there.
        output_format, check = values.pop("output_format", None), plans and bool(values.pop("check"))
        own = {parameter.name: values.get(parameter.name) for parameter in more}
        flags = {field.name: raw for field in FIELDS if (raw := _raw(values.get(field.key))) is not None}
        return command(flags, output_format, check) if plans else command(flags, **own)

    parameters = [
        *more,
        *(_parameter(field) for field in FIELDS if field.flag and not (plans and field.name == "check")),
    ]
    if plans:
        annotation = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print the plan.")]
        parameters.append(keyword("output_format", annotation, "text"))
        help_text = "Ask the Hub all that a launch asks (tokens, repos, sizes), and fail when something is against it."
        parameters.append(keyword("check", Annotated[bool, typer.Option("--check", help=help_text)], False))
    wrapped.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapped.__name__ = command.__name__
    return wrapped


def _raw(value: object) -> str | tuple[str, ...] | None:
    if value is None or value == []:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return tuple(str(item) for item in value) if isinstance(value, list) else str(value)


def _parameter(field: Field) -> inspect.Parameter:
    help_text = f"{field.help} Default: {field.default}." if field.default else field.help
    settings: Mapping[str, Any] = {"help": help_text, "rich_help_panel": field.group.value, "show_default": False}
    if field.switch:
        option = typer.Option(f"--{field.name}/--no-{field.name}", **settings)
        return keyword(field.key, Annotated[bool | None, option], None)
    option = typer.Option(f"--{field.name}", metavar=field.metavar, **settings)
    kind: Any = list[str] | None if field.many else str | None
    return keyword(field.key, Annotated[kind, option], None)


def keyword(name: str, annotation: Any, default: object) -> inspect.Parameter:
    """A parameter that typer reads as an option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

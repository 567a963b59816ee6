"""The command line: the only reader of argv and the environment, the only place that exits."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import typer

from hf_train import __version__, commands
from hf_train.options import with_inputs

app = typer.Typer(
    name="hf-train",
    help="Train models from a pull request on Hugging Face Jobs, and report what came out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"hf-train {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Train models from a pull request on Hugging Face Jobs, and report what came out."""


def _exits(command: Callable[..., int]) -> Callable[..., NoReturn]:
    """The command with its exit code raised: click drops what a command returns and exits with 0."""

    @functools.wraps(command)
    def wrapped(*args: Any, **values: Any) -> NoReturn:
        raise typer.Exit(command(*args, **values))

    return wrapped


app.command("run", help="Launch a training, follow it, report it. The command may stand after `--`.")(
    _exits(with_inputs(commands.run))
)
app.command("plan", help="Show what `run` would submit; nothing is sent and nothing is spent.")(
    _exits(with_inputs(commands.plan, plans=True))
)
app.command("cancel", help="Cancel Jobs: by id, or what the state file of a dead run names.")(_exits(commands.cancel))
app.command("collect", help="Finish the reports of detached Jobs: by id, by label, or all of this repository.")(
    _exits(commands.collect)
)
app.command("merge", help="Put the reports of several runs (legs of a matrix) into one table and one comment.")(
    _exits(commands.merge_reports)
)
app.command("sweep", help="Find the Jobs whose workflow run is over; `--apply` cancels them. Touches nothing else.")(
    _exits(commands.sweep)
)
app.command("comment", help="Read the `/train ...` comment that started this workflow: who asks, and which commit.")(
    _exits(with_inputs(commands.comment))
)
image_app = typer.Typer(help="The images that Jobs run in.", no_args_is_help=True, rich_markup_mode="markdown")
image_app.command("pin", help="Print images by digest; `--update` renews the file of known names.")(
    _exits(commands.image.pin)
)
image_app.command("list", help="Show the names that `image:` knows.")(_exits(commands.image.list_images))
image_app.command("build", help="Build a Dockerfile and push it, unless what is built has not changed.")(
    _exits(commands.image.build)
)
image_app.command("verify", help="Run an image in this machine's engine: could a training start in it?")(
    _exits(commands.image.verify)
)
app.add_typer(image_app, name="image")
schedule_app = typer.Typer(
    help="Trainings that the Hub starts by itself.", no_args_is_help=True, rich_markup_mode="markdown"
)
schedule_app.command("set", help="Create a scheduled Job from the spec of a run, or replace it when it differs.")(
    _exits(with_inputs(commands.schedule.set_schedule, more=commands.schedule.OPTIONS))
)
schedule_app.command("list", help="Show the schedules that hf-train set.")(_exits(commands.schedule.list_schedules))
schedule_app.command("remove", help="Remove a schedule, by name or id; its Jobs run on.")(
    _exits(commands.schedule.remove_schedule)
)
app.add_typer(schedule_app, name="schedule")
app.command("explain", help="Read a training log (a file, or `-`) offline and say what it says.")(
    _exits(commands.explain)
)
app.command(
    "local-hub",
    help="Run the embedded Hub; prints HF_ENDPOINT=... when it is ready.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(_exits(commands.local_hub))
app.command("demo", help="Train the quickstart example on the embedded Hub: no account, no Docker, no cost.")(
    _exits(commands.demo)
)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script and of `python -m hf_train`.

    Args:
        argv: Words after the program's name; `sys.argv[1:]` by default.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    head, tail = words, []
    if "--" in words and (words[:1] in (["run"], ["plan"]) or words[:2] == ["schedule", "set"]):
        cut = words.index("--")
        head, tail = words[:cut], words[cut + 1 :]
    for stream in (sys.stdout, sys.stderr):
        # -I ignores PYTHONUTF8 and PYTHONUNBUFFERED; a log line may hold anything.
        stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)  # type: ignore[union-attr]
    return commands.guarded(lambda: _dispatch(head), tail)


def _dispatch(words: list[str]) -> int:
    try:
        app(args=words, prog_name="hf-train", standalone_mode=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    return 0

"""`hf-train merge`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.console import PlainConsole
from hf_train.context import Context
from hf_train.errors import BadInput, ExitCode
from hf_train.files import RunFiles
from hf_train.flow.reporter import MAX_PAUSE_S, marker
from hf_train.github.people import GitHubPeople
from hf_train.github.pulls import GitHubPulls
from hf_train.report.merge import MAX_LEGS, Places, merge, parse_report
from hf_train.text.untrusted import Redactor
from hf_train.values import Secret

NAME = "report.json"
MAX_BYTES = 8 << 20
"""A report has at most 500 points a curve, and a few thousand metrics; larger files are not ours."""
MAX_SEEN = 20_000


def merge_reports(
    reports: Annotated[
        list[Path] | None,
        typer.Argument(
            help=f"Report files, or folders to search for `{NAME}`; the lines of HF_TRAIN_REPORTS by default.",
            metavar="[REPORT.json|DIR]...",
        ),
    ] = None,
    comment_key: Annotated[
        str | None, typer.Option(help="Key of the comment; workflow and job by default.", envvar="HF_TRAIN_COMMENT_KEY")
    ] = None,
    legs: Annotated[
        int, typer.Option(help="How many legs there should be.", min=0, max=MAX_LEGS, envvar="HF_TRAIN_LEGS")
    ] = 0,
) -> int:
    """`hf-train merge`: one table of several runs. A leg that failed is no failure of this command."""
    environ = os.environ
    lines = environ.get("HF_TRAIN_REPORTS", "").splitlines()
    reports = reports or [Path(line.strip()) for line in lines if line.strip()]
    if not reports:
        raise BadInput([f"REPORT.json|DIR: name at least one report, or a folder that holds a {NAME}"])
    context = wiring.context_of(environ)
    redact = Redactor(wiring.environment_secrets(environ))
    console = wiring.console_of(redact, environ)
    good, bad = _read(reports)
    for name, why in bad:
        console.warning("No report", f"{name}: {why}")
    hub = (environ.get("HF_ENDPOINT") or wiring.HUB).rstrip("/")
    places = Places(hub=hub, github=context.server_url, public=context.private is False)
    text = redact(merge(good, bad, legs, places))
    with console.untrusted():
        print(text)
    files = RunFiles(output_file="", summary_file=context.summary_file, report_dir=None, state_file=None, redact=redact)
    files.summary(text)
    _comment(context, comment_key or context.comment_key, text, console)
    return int(ExitCode.OK if good else ExitCode.BAD_INPUT)


def _comment(context: Context, key: str, text: str, console: PlainConsole) -> None:
    given = os.environ.get("HF_TRAIN_GITHUB_TOKEN") or os.environ.get("GITHUB_TOKEN")
    if not (given and context.repository):
        return
    token = Secret(given)
    number = context.pull.number if context.pull else _followed(context, token, console)
    if number is None:
        return
    first = marker(key)
    pulls = GitHubPulls(context.api_url, token, context.repository)
    url, problem = pulls.upsert_comment(number, first, f"{first}\n{text}\n")
    if problem and 0 < (pause := pulls.pause_s()) <= MAX_PAUSE_S:
        console.info(f"GitHub asks for {pause:.0f} s of quiet; the comment waits for it.")
        SystemClock().sleep(pause)
        url, problem = pulls.upsert_comment(number, first, f"{first}\n{text}\n")
    if problem:
        console.warning("Report", f"The comment could not be written: {problem}.")
    else:
        console.info(url)


def _followed(context: Context, token: Secret, console: PlainConsole) -> int | None:
    """The pull request of the workflow run that this one follows (a fork's run may not comment itself).

    Nothing that the followed run made says which one it is: the event names the commit, and GitHub the pull request
    whose head that is.
    """
    if not context.followed_sha:
        return None
    number, problem = GitHubPeople(context.api_url, token, context.repository).pull_of(context.followed_sha)
    if number is None:
        console.warning("Report", f"There is no pull request to comment on: {problem}.")
    return number


def _read(paths: Sequence[Path]) -> tuple[list[Mapping[str, Any]], list[tuple[str, str]]]:
    """The reports, and what is none, with the reason."""
    good: list[Mapping[str, Any]] = []
    bad: list[tuple[str, str]] = []
    for path in paths:
        found = sorted(_inside(path)) if path.is_dir() and not path.is_symlink() else [path]
        if not found:
            bad.append((str(path), f"there is no {NAME}"))
        for file in found:
            if len(good) + len(bad) >= MAX_LEGS:
                raise BadInput([f"REPORT.json|DIR: there are more than {MAX_LEGS} reports"])
            try:
                good.append(parse_report(_text(file)))
            except (OSError, ValueError) as error:
                bad.append((str(file), error.strerror or "" if isinstance(error, OSError) else str(error)))
    return good, bad


def _inside(folder: Path) -> Iterator[Path]:
    """The reports below a folder; links are not followed, for the files come from somebody else's artifact."""
    seen = 0
    for where, _, names in os.walk(folder):
        seen += 1 + len(names)
        if seen > MAX_SEEN:
            raise BadInput([f"REPORT.json|DIR: {folder} holds more than {MAX_SEEN} files"])
        if NAME in names:
            yield Path(where) / NAME


def _text(path: Path) -> str:
    """Content of a plain file of bearable size.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no such file.
    """
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        message = "it is no plain file"
        raise ValueError(message)
    if about.st_size > MAX_BYTES:
        message = f"it is larger than {MAX_BYTES >> 20} MB"
        raise ValueError(message)
    return path.read_text(encoding="utf-8", errors="replace")

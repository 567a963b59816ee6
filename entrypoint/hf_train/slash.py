"""`/train key=value ...` in a comment of a pull request: a strict grammar, and few keys. Pure.

The first line of the comment is the command; what follows is for people. A value is one word; quotes keep blanks
together, as in a shell, but nothing is ever expanded. Who may write such a comment is asked from GitHub
(`approval.py`), not read here.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KEYS = ("flavor", "timeout", "attempts", "args", "config", "metrics", "gate", "baseline")
"""Inputs that a comment may set: what a person with write access tries out. Never tokens, secrets, images, volumes,
namespaces or limits of cost."""
MAX_LINE = 1000
_SHA = re.compile(r"[0-9a-f]{40}")
_KEY = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainCommand:
    """One `/train` command.

    Attributes:
        sha: The commit that it names, 40 hex digits; empty when it names none.
        values: Inputs that it sets, by name.
        words: What it adds to the arguments of the script, word by word.
    """

    sha: str = ""
    values: Mapping[str, str]
    words: tuple[str, ...] = ()


def parse_command(body: str, extra_keys: Sequence[str] = ()) -> TrainCommand | None:
    """Read a comment.

    Args:
        body: The whole comment, as GitHub gives it.
        extra_keys: Keys beside the inputs (`train-keys`); each becomes `--key=value` of the script.

    Returns:
        The command; None when the comment is not one.

    Raises:
        ValueError: It is one, but not a good one; every problem in one message.
    """
    line = body.replace("\r\n", "\n").split("\n", 1)[0]
    if line.split(" ", 1)[0] != "/train":
        return None
    if len(line) > MAX_LINE or not line.isprintable():
        raise ValueError(f"/train: one line of at most {MAX_LINE} printable characters")
    try:
        words = shlex.split(line)[1:]
    except ValueError as error:
        raise ValueError(f"/train: {error}") from error
    values: dict[str, str] = {}
    problems: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if problem := _problem(key, equals, value, values, extra_keys):
            problems.append(problem)
        else:
            values[key] = value
    if problems:
        raise ValueError("; ".join(problems))
    sha = values.pop("sha", "")
    # One word, so that a value which starts with a dash stays a value.
    own = tuple(f"--{key}={values.pop(key)}" for key in extra_keys if key in values)
    return TrainCommand(sha=sha, values=values, words=own)


def _problem(key: str, equals: str, value: str, seen: Mapping[str, str], extra_keys: Sequence[str]) -> str:
    if not (equals and value and _KEY.fullmatch(key)):
        return f"/train: {_shown(key + equals)} is not key=value"
    if key in seen:
        return f"/train: {key} is given twice"
    if key == "sha":
        return "" if _SHA.fullmatch(value) else "/train: sha takes all 40 hex digits of the commit"
    allowed = (*KEYS, *extra_keys)
    if key not in allowed:
        close = difflib.get_close_matches(key, allowed, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"/train: a comment may not set {_shown(key)}{hint}; it may set {', '.join((*allowed, 'sha'))}"
    return ""


def _shown(text: str) -> str:
    """A stranger's word in a message of ours."""
    return repr(text[:40])

"""`.dockerignore`: which files of a folder are no part of the build context. Pure.

Rules: Docker's documentation of `.dockerignore` and moby `patternmatcher`: Go's `filepath.Match` plus `**`, a pattern
matches what lies below it too, `!` takes back, and the last line that matches wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import PurePosixPath


def read_ignore(text: str) -> tuple[str, ...]:
    """The patterns of a `.dockerignore`, without comments and blank lines."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return tuple(pattern for line in lines if (pattern := _plain(line)))


def ignorer(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A test for paths below the context.

    Args:
        patterns: As `read_ignore` gives them.
    """
    rules = [(not pattern.startswith("!"), glob(pattern.removeprefix("!"))) for pattern in patterns]

    def ignored(path: str) -> bool:
        verdict = False
        for drops, rule in rules:
            if verdict != drops and rule(path):
                verdict = drops
        return verdict

    return ignored


@cache
def glob(pattern: str) -> Callable[[str], bool]:
    """Whether a path, or a folder above it, matches a pattern of Go's `filepath.Match` with `**`."""
    expression = re.compile(_expression(pattern))

    def matches(path: str) -> bool:
        return bool(expression.fullmatch(path))

    return matches


def _plain(line: str) -> str:
    """Cleaned as moby does: `./a//b/../c/` is `a/c`, a leading slash counts for nothing."""
    text = line.strip()
    if not text or line.startswith("#"):
        return ""
    sign = "!" if text.startswith("!") else ""
    parts: list[str] = []
    for part in PurePosixPath("/", text.removeprefix("!").strip()).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return f"{sign}{'/'.join(parts)}" if parts else ""


def _expression(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if pattern.startswith("**", at):
            at += 2
            if pattern.startswith("/", at):
                at += 1
                out.append("(?:.*/)?")
            else:
                out.append(".*")
            continue
        at += 1
        if sign == "*":
            out.append("[^/]*")
        elif sign == "?":
            out.append("[^/]")
        elif sign == "[" and (end := pattern.find("]", at + 1)) > 0:
            inner = pattern[at:end].replace("\\", "\\\\")
            out.append(f"[{inner}]")
            at = end + 1
        elif sign == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(sign))
    return f"{''.join(out)}(?:/.*)?"

"""What a Dockerfile builds on and which files of the context it can see. Pure.

Grammar: Docker's Dockerfile reference. Nothing is executed; where a name cannot be known without executing (a variable
set by a base image), the answer is the careful one: everything is seen.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

EVERYTHING = "."
_WORD = re.compile(r"\$(?:\{(\w+)(?:(:?[-+])([^}]*))?\}|(\w+))")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_]\w*)\1")
_DIRECTIVE = re.compile(r"#\s*([A-Za-z]+)\s*=\s*(.+?)\s*")
_REMOTE = re.compile(r"(?:https?|git|ssh)://|git@", re.IGNORECASE)
_BIND = re.compile(r"--mount=(\S+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        line: Number of its first line, from 1.
        last: Number of its last line.
        name: In capitals.
        text: What follows the name, continuation lines joined.
        heredocs: Whether here-documents stand behind it.
    """

    line: int
    last: int
    name: str
    text: str
    heredocs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """One image that the build starts from or copies from.

    Attributes:
        line: Number of the line, from 1, of its `FROM`; 0 for a `COPY --from`.
        image: The reference, variables replaced.
    """

    line: int
    image: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a Dockerfile says.

    Attributes:
        stages: Names of its stages, `str(number)` for those without.
        bases: External images, in order, each once.
        sources: Patterns of context files that `COPY`, `ADD` and bind mounts name; `.` for everything.
        problems: What is wrong with it, in words.
    """

    stages: tuple[str, ...]
    bases: tuple[Base, ...]
    sources: tuple[str, ...]
    problems: tuple[str, ...] = ()


def read_dockerfile(text: str, args: Mapping[str, str]) -> Reading:
    """Read a Dockerfile.

    Args:
        text: Its text.
        args: Build arguments; they win over the defaults of `ARG`.
    """
    known: dict[str, str] = {}
    stages: list[str] = []
    bases: dict[str, Base] = {}
    sources: dict[str, None] = {}
    problems: list[str] = []
    for one in instructions(text):
        if one.name == "ARG" and not stages:
            known |= _defaults(one.text, known, args)
        elif one.name == "FROM":
            image, name = _from(one.text)
            image = expand(image, known) or ""
            if not image:
                problems.append(f"line {one.line}: FROM names no image; give its variable as a build argument")
            elif image != "scratch" and image not in stages:
                bases.setdefault(image, Base(line=one.line, image=image))
            stages.append(name or str(len(stages)))
        elif not stages and one.name:
            problems.append(f"line {one.line}: {one.name} stands before the first FROM")
        elif one.name in ("COPY", "ADD", "RUN"):
            _copied(one, stages, bases, sources)
    if not stages:
        problems.append("it has no FROM")
    return Reading(stages=tuple(stages), bases=tuple(bases.values()), sources=tuple(sources), problems=tuple(problems))


def pin_bases(text: str, args: Mapping[str, str], pinned: Mapping[str, str]) -> str:
    """The same Dockerfile on exactly these bytes: `FROM` and `--from` name the digests that were looked up.

    Args:
        text: The Dockerfile.
        args: Build arguments.
        pinned: Image as written (variables replaced) to the image to take instead.
    """
    lines = text.split("\n")
    known: dict[str, str] = {}
    seen = False
    for one in instructions(text):
        if one.name == "ARG" and not seen:
            known |= _defaults(one.text, known, args)
        if one.name in ("COPY", "RUN"):
            for image, wanted in pinned.items():
                copied = re.compile(rf"from={re.escape(image)}(?=[\s,]|$)")
                for at in range(one.line - 1, one.last):
                    lines[at] = copied.sub(f"from={wanted}", lines[at])
        if one.name != "FROM":
            continue
        seen = True
        image, name = _from(one.text)
        if start := pinned.get(expand(image, known) or ""):
            options = "".join(f"{word} " for word in one.text.split() if word.startswith("--"))
            lines[one.line - 1] = f"FROM {options}{start}" + (f" AS {name}" if name else "")
            lines[one.line : one.last] = [""] * (one.last - one.line)
    return "\n".join(lines)


def instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, without comments, here-documents passed over."""
    lines = text.replace("\r\n", "\n").split("\n")
    escape = _escape(lines)
    found: list[Instruction] = []
    at = 0
    while at < len(lines):
        start = at
        parts: list[str] = []
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                continue
            stripped = line.rstrip()
            if stripped.endswith(escape):
                parts.append(stripped[:-1])
                continue
            parts.append(line)
            break
        whole = "".join(parts).strip()
        name, _, rest = whole.partition(" ") if " " in whole else whole.partition("\t")
        ends = [match[2] for match in _HEREDOC.finditer(rest)] if name.upper() in ("RUN", "COPY", "ADD") else []
        for end in ends:
            while at < len(lines) and lines[at].strip("\t ") != end:
                at += 1
            at += 1
        if name:
            first = next(n for n in range(start, at) if lines[n].strip() and not lines[n].lstrip().startswith("#"))
            last = min(at, len(lines))
            found.append(
                Instruction(line=first + 1, last=last, name=name.upper(), text=rest.strip(), heredocs=bool(ends))
            )
    return found


def expand(text: str, known: Mapping[str, str]) -> str | None:
    """A word with its variables replaced; None when one of them is not known."""
    lost = False

    def value(match: re.Match[str]) -> str:
        nonlocal lost
        name, sign, other = match[1] or match[4], match[2] or "", match[3] or ""
        current = known.get(name)
        empty = current is None or (sign.startswith(":") and not current)
        if sign.endswith("-"):
            return other if empty else str(current)
        if sign.endswith("+"):
            return "" if empty else other
        if current is None:
            lost = True
        return current or ""

    whole = _WORD.sub(value, text)
    return None if lost or "$" in whole else whole


def _escape(lines: Sequence[str]) -> str:
    for line in lines:
        match = _DIRECTIVE.fullmatch(line.strip())
        if match is None:
            return "\\"
        if match[1].lower() == "escape":
            return match[2]
    return "\\"


def _defaults(text: str, known: Mapping[str, str], args: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in _split(text):
        name, equals, default = word.partition("=")
        value = args.get(name)
        if value is None and equals:
            value = expand(default, {**known, **found})
        if value is not None:
            found[name] = value
    return found


def _from(text: str) -> tuple[str, str]:
    words = [word for word in text.split() if not word.startswith("--")]
    image = words[0] if words else ""
    name = words[2].lower() if len(words) == 3 and words[1].upper() == "AS" else ""
    return image, name


def _copied(one: Instruction, stages: Sequence[str], bases: dict[str, Base], sources: dict[str, None]) -> None:
    if one.name == "RUN":
        for mount in _BIND.findall(one.text):
            options = dict(part.partition("=")[::2] for part in mount.split(","))
            if options.get("type", "bind") != "bind":
                continue
            if "from" in options:
                _external(options["from"], stages, bases)
            else:
                sources[_source(options.get("source") or options.get("src") or EVERYTHING)] = None
        return
    words = _words(one.text)
    origin = next((word.partition("=")[2] for word in words if word.startswith("--from=")), "")
    plain = [word for word in words if not word.startswith("--")]
    if origin:
        _external(origin, stages, bases)
        return
    for word in plain[:-1]:
        if word.startswith("<<") or _REMOTE.match(word):
            continue
        sources[_source(word)] = None


def _external(origin: str, stages: Sequence[str], bases: dict[str, Base]) -> None:
    """An image that is only copied from; a stage by its name or number is none, and a variable is not allowed there."""
    if "$" not in origin and origin.lower() not in stages and not origin.isdigit():
        bases.setdefault(origin, Base(line=0, image=origin))


def _source(word: str) -> str:
    """A source as a pattern below the context. It cannot climb out of it: builders cut `..` off."""
    if "$" in word:
        return EVERYTHING
    parts: list[str] = []
    for part in PurePosixPath("/", word).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or EVERYTHING


def _words(text: str) -> list[str]:
    flags = re.match(r"(?:--\S+\s+)*", text)
    head, tail = (text[: flags.end()], text[flags.end() :]) if flags else ("", text)
    if tail.lstrip().startswith("["):
        try:
            listed = json.loads(tail)
        except ValueError:
            listed = None
        if isinstance(listed, list):
            return [*head.split(), *(str(word) for word in listed)]
    return [*head.split(), *_split(tail)]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()

"""What GitHub's runner does with a step's output: an oracle of its own parsing rules.

Written from the runner's sources (actions/runner `ActionCommand.cs`, `ActionCommandManager.cs`, `OutputManager.cs`),
not from act, which obeys less: lines end where .NET's `StreamReader.ReadLine` ends them; `::command::` counts at the
start of a line after `TrimStart()`; `##[command]` counts anywhere in a line; names are compared without case. .NET's
`StartsWith(string)` and `IndexOf(string)` compare by culture, so characters that a collation ignores (zero width, soft
hyphen) may stand between: this oracle is as generous as it can be and looks without them too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

REGISTERED = frozenset(
    {"set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher", "debug", "warning",
     "error", "notice", "group", "endgroup", "echo", "stop-commands", "internal-set-repo-path"}
)  # fmt: skip
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
# Char.IsWhiteSpace
_WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_IGNORED = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


class Obeyed(NamedTuple):
    """A command that the runner obeyed: its name in lower case, its properties as they stand, its data."""

    name: str
    properties: str
    data: str


@dataclass
class Runner:
    """Reads what a step prints on one stream.

    Attributes:
        obeyed: What it obeyed, in order; `resume` stands for the end of a window.
        shown: Lines that it only showed.
    """

    obeyed: list[Obeyed] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    _token: str = ""

    @property
    def stopped(self) -> bool:
        """Whether it obeys nothing but the token of the open window."""
        return bool(self._token)

    def read(self, output: str) -> Runner:
        """Take all that was printed."""
        lines = _LINE_ENDS.split(output)
        for line in lines if lines[-1] else lines[:-1]:
            command = self._command(line)
            if command is None:
                self.shown.append(line)
            elif self._token:
                if command.name == self._token:
                    self._token = ""
                    self.obeyed.append(Obeyed("resume", "", ""))
                else:
                    self.shown.append(line)
            else:
                if command.name == "stop-commands":
                    self._token = command.data.lower()
                self.obeyed.append(command)
        return self

    def _command(self, line: str) -> Obeyed | None:
        known = REGISTERED | ({self._token} if self._token else set())
        for text in (line, _IGNORED.sub("", line)):
            for parse in (_double_colon, _hashes):
                found = parse(text)
                if found and found.name in known:
                    return found
        return None


def _double_colon(line: str) -> Obeyed | None:
    text = line.lstrip(_WHITE)
    end = text.find("::", 2)
    if not text.startswith("::") or end < 0:
        return None
    name, _, properties = text[2:end].partition(" ")
    return Obeyed(name.lower(), properties, _unescaped(text[end + 2 :]))


def _hashes(line: str) -> Obeyed | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, properties = line[start + 3 : end].partition(" ")
    return Obeyed(name.lower(), properties, line[end + 1 :])


def _unescaped(data: str) -> str:
    return data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def outputs_of(text: str) -> dict[str, str]:
    """Values that the runner reads from `GITHUB_OUTPUT` (`FileCommandManager.cs`, `EnvFileKeyValuePairs`).

    Raises:
        ValueError: As the runner fails the step: no such syntax, or a delimiter that never comes.
    """
    values: dict[str, str] = {}
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, _, value = line.partition("=")
        elif heredoc >= 0:
            name, _, delimiter = line.partition("<<")
            if not name or not delimiter:
                raise ValueError(f"invalid format {line!r}")
            taken: list[str] = []
            while True:
                if at >= len(lines):
                    raise ValueError(f"matching delimiter not found {delimiter!r}")
                if lines[at] == delimiter:
                    at += 1
                    break
                taken.append(lines[at])
                at += 1
            value = "\n".join(taken)
        else:
            raise ValueError(f"invalid format {line!r}")
        values[name] = value
    return values

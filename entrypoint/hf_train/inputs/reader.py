"""Looks raw values up in the layers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from hf_train.inputs.fields import BY_NAME, ENV_PREFIX, FIELDS, Field
from hf_train.inputs.model import Layers, Raw
from hf_train.values import Secret

T = TypeVar("T")


class Reader:
    """Looks a field up in the layers and gathers problems instead of stopping at the first."""

    def __init__(self, layers: Layers) -> None:
        self.problems: list[str] = []
        self.given: dict[str, Raw] = {}
        self.listed_command: tuple[str, ...] | None = None
        self._from_file(layers.file, on_runner=layers.environ.get("GITHUB_ACTIONS") == "true")
        self._from_environ(layers.environ)
        for name, value in layers.flags.items():
            self.given[name] = value
        self.words = layers.words
        if layers.words and "command" in layers.flags:
            self.problems.append("command: given both as --command and after '--'; keep one")

    def _from_file(self, file: Mapping[str, object], *, on_runner: bool) -> None:
        for key, value in file.items():
            name = str(key)  # YAML has keys that are no text: `on: push` is True
            where = f".github/hf-train.yml: {name}"
            if name not in BY_NAME:
                self.problems.append(f"{where}: not an input{suggest(name)}")
            elif not BY_NAME[name].from_file or (on_runner and not BY_NAME[name].from_file_on_runner):
                self.problems.append(
                    f"{where}: not read from this file, because a pull request can edit it; set it in the workflow"
                )
            elif name == "command" and is_flat_list(value):
                self.listed_command = tuple(scalar(word) for word in cast("list[object]", value))
            elif (raw := _from_yaml(BY_NAME[name], value)) is None:
                self.problems.append(f"{where}: a {type(value).__name__} is not what this input takes")
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
            lines = lines_of(raw)
        else:
            # A flag or a list's item of `env` is one value, which may have several lines itself.
            lines = list(raw) if name == "env" else [line for item in raw for line in lines_of(item)]
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
        return tuple(scalar(item) for item in value)
    if isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values()):
        joint = {"env": "=", "smoke": ": "}.get(one.name)
        return tuple(f"{key}{joint}{scalar(item)}" for key, item in value.items()) if joint else None
    return None


def is_flat_list(value: object) -> bool:
    """Whether a YAML value is a list of plain values: a command, word by word."""
    return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)


def scalar(value: object) -> str:
    """A value of a YAML mapping as Actions would hand it over."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def lines_of(text: str) -> list[str]:
    """Lines, cut at line feeds only: `str.splitlines()` cuts at U+2028 and at form feeds too, which values may hold."""
    return text.replace("\r\n", "\n").split("\n")


def suggest(name: str) -> str:
    """`; did you mean NAME?` for a name that is close to an input's, else nothing."""
    close = difflib.get_close_matches(name, list(BY_NAME), n=1)
    return f"; did you mean {close[0]}?" if close else ""

"""Repos that a command and a library's configuration name: what is loaded, and where it is pushed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import yaml

Source = tuple[str, str]
"""Kind (`model` or `dataset`) and `owner/name`."""
_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_URI = re.compile(r"hf://(?:(models|datasets)/)?([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)")
_PUSHED = frozenset({"hub_model_id", "output_repo", "push_to_hub_model_id", "hub_repo_id", "hub_path"})
_MODEL = re.compile(r"(?:^|_)(?:model|base_model|checkpoint)(?:_|$)|pretrained")
_DATASET = re.compile(r"(?:^|_)datasets?(?:_|$)")
MAX_DEPTH = 6
MAX_SOURCES = 6


def options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`--name value` and `--name=value` of a command, names with `_`; a bare `--name` has the value ``."""
    for at, word in enumerate(words):
        if not word.startswith("--") or len(word) < 3:
            continue
        name, equals, value = word[2:].partition("=")
        if not equals and at + 1 < len(words) and not words[at + 1].startswith("--"):
            value = words[at + 1]
        yield name.lower().replace("-", "_"), value


def pushes(words: Sequence[str], config: str | None) -> bool:
    """Whether the training is told to push to the Hub."""
    given = [*options(words), *configured(config)]
    return any(
        (name == "push_to_hub" and value.strip().lower() not in {"false", "0", "no"}) or (name in _PUSHED and value)
        for name, value in given
    )


def target(words: Sequence[str], config: str | None) -> str:
    """The repo that the training is told to push to; empty when none is named with its owner."""
    named = [value for name, value in (*options(words), *configured(config)) if name in _PUSHED]
    return next((value for value in named if _REPO.fullmatch(value)), "")


def loaded(words: Sequence[str], config: str | None) -> tuple[Source, ...]:
    """Models and data sets that the training loads, at most `MAX_SOURCES`."""
    found: list[Source] = []
    for name, value in (*options(words), *configured(config)):
        kind = _kind(name)
        if kind and _REPO.fullmatch(value):
            found.append((kind, value))
    for text in (*words, config or ""):
        found += [("dataset" if kind == "datasets" else "model", repo) for kind, repo in _URI.findall(text)]
    return tuple(dict.fromkeys(found))[:MAX_SOURCES]


def _kind(name: str) -> str:
    if name in _PUSHED or "output" in name or "adapter" in name:
        return ""
    return "dataset" if _DATASET.search(name) else "model" if _MODEL.search(name) else ""


def configured(config: str | None) -> list[tuple[str, str]]:
    """Names and words of a YAML configuration; `datasets: [{path: X}]` is `datasets` and X."""
    try:
        loaded = yaml.safe_load(config) if config else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    return list(_walk("", loaded, 0))


def _walk(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, one in value.items():
            own = str(key).lower().replace("-", "_")
            yield from _walk(name if own in {"path", "name", "id"} and name else own, one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(name, one, depth + 1)
    elif isinstance(value, str | bool | int | float):
        yield name, str(value).lower() if isinstance(value, bool) else str(value)

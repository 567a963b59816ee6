"""Which repo the model may have gone to: from arguments, configuration and log. Reference §2.4 (a) to (c).

Nothing here is proof: a commit by this run, looked up on the Hub, is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from hf_train.collect.links import REPO
from hf_train.collect.reading import LogReading
from hf_train.collect.values import nesting, word_set

_ID_FLAGS = word_set(
    """
    hub-model-id push-to-hub-model-id output-repo hub-repo hub-repo-id repo-id hf-repo hf-repo-id push-repo
    target-repo model-repo merged-repo gguf-repo hub-path
    """
)
_ID_KEYS = frozenset(flag.replace("-", "_") for flag in _ID_FLAGS)
_REPO_ID = re.compile(rf"(?:{REPO}/)?{REPO}")
_SHELL = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_FALSE = frozenset({"false", "0", "no", "off", "none", ""})


@dataclass(frozen=True)
class Candidate:
    """A repo that may hold the result.

    Attributes:
        repo_type: ``model``, ``dataset`` or ``space``.
        repo_id: ``owner/name``.
        why: Where the name comes from, for people.
    """

    repo_type: str
    repo_id: str
    why: str


def model_candidates(
    command: Sequence[str], config_text: str | None, reading: LogReading, owner: str | None
) -> tuple[Candidate, ...]:
    """Candidates in order of trust: explicit id, name of the output directory, printed lines.

    Args:
        command: The Job's argv (a shell line inside, as in ``bash -c "..."``, is split too).
        config_text: A library's YAML that was sent with it, or None.
        reading: The reading of the log.
        owner: Account of the token that was given to the Job: a name without namespace belongs to it. None leaves
            such names out.

    Returns:
        Without repetition.
    """
    found: dict[tuple[str, str], Candidate] = {}
    options = tuple(_options(tuple(_words(command))))
    settings = _settings(config_text)
    named = (
        *((value, f"argument --{flag}") for flag, value in options if flag in _ID_FLAGS and value),
        *((value, f"{key} in the configuration") for key, value in settings if key in _ID_KEYS),
        *((repo_id, "configuration printed in the log") for repo_id in reading.configured_repos),
        *_output_names(options, settings),
    )
    for name, why in named:
        repo_id = _full(name, owner)
        if repo_id is not None:
            found.setdefault(("model", repo_id), Candidate("model", repo_id, why))
    for push in sorted(reading.pushes, key=lambda push: -push.strength):
        if push.strength > 1:
            key = (push.repo_type, push.repo_id)
            found.setdefault(key, Candidate(push.repo_type, push.repo_id, f"log: {push.why}"))
    return tuple(found.values())


def _output_names(
    options: Sequence[tuple[str, str | None]], settings: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The names that `push_to_hub` without an id falls back to: the last part of the output directory."""
    asked = [value or "true" for flag, value in options if flag == "push-to-hub"]
    asked += [value for key, value in settings if key == "push_to_hub"]
    if all(value.lower() in _FALSE for value in asked):
        return
    for flag, value in options:
        if flag == "output-dir" and value:
            yield _last(value), "name of --output_dir (push_to_hub without an id)"
    for key, value in settings:
        if key == "output_dir":
            yield _last(value), "name of output_dir in the configuration"


def _words(command: Sequence[str]) -> Iterator[str]:
    """The words of the command; a shell line in one word is split at blanks outside of quotes."""
    for word in command:
        if "--" in word and any(space in word for space in " \n\t"):
            for quoted, single, plain in _SHELL.findall(word):
                yield quoted or single or plain
        else:
            yield word


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """``--hub_model_id x``, ``--hub-model-id=x`` and ``hub_model_id=x``, the name with dashes."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            following = words[index + 1] if index + 1 < len(words) else None
            argument = value if equals else following if following and not following.startswith("-") else None
            yield name[2:].replace("_", "-"), argument
        elif equals and name.isidentifier():
            yield name.replace("_", "-"), value.strip("'\"")


def _settings(config_text: str | None) -> list[tuple[str, str]]:
    """The scalars of a YAML file, at any depth up to 6, as ``(key, text)``."""
    if not config_text or len(config_text) > 256 * 1024 or nesting(config_text) > 64:
        return []
    try:
        config = yaml.safe_load(config_text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return []
    found: list[tuple[str, str]] = []
    _walk(config, 0, found)
    return found


def _walk(node: object, depth: int, found: list[tuple[str, str]]) -> None:
    if not isinstance(node, dict) or depth > 6:
        return
    for key, value in node.items():
        if len(found) > 2000:
            return
        if isinstance(value, dict):
            _walk(value, depth + 1, found)
        elif isinstance(value, str | bool | int) and isinstance(key, str):
            found.append((key, str(value)))


def _last(path: str) -> str:
    parts = [part for part in re.split(r"[/\\]", path) if part not in {"", "."}]
    return parts[-1] if parts else ""


def _full(name: str, owner: str | None) -> str | None:
    name = name.strip().strip("'\"")
    address = re.match(r"https?://[^/]+/(.+)", name)
    if address:
        name = address[1].rstrip("/")
    if not _REPO_ID.fullmatch(name) or name.lower() in {"none", "null", "true", "false"} or name.endswith((".", "-")):
        return None
    if "/" in name:
        return name
    return f"{owner}/{name}" if owner else None

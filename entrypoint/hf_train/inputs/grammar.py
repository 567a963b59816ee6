"""Grammars of single values. Each reader returns the value or raises `ValueError` with a sentence for the user."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from hf_train.inputs.nodes import MAX_NODES
from hf_train.values import LocalVolume, Volume, VolumeKind

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smhd])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
# As `validate_repo_id` of huggingface_hub 2.4.0 (`utils/_validators.py`), with an owner.
_PART_OF_REPO = r"(?=[^/]{1,96}(?:/|$))[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
_REPO = re.compile(rf"(?!.*(?:--|\.\.|\.git$)){_PART_OF_REPO}/{_PART_OF_REPO}")
_KINDS: dict[str, VolumeKind] = {
    "models": "model",
    "datasets": "dataset",
    "spaces": "space",
    "buckets": "bucket",
}
_LOOKS_SECRET = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|PRIVATE_KEY)$")
MAX_TIMEOUT_S = 30 * 86400
MAX_DURATION = 40
"""Characters of a duration; what is longer is not one."""
MAX_USD = 1_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def duration(text: str) -> int:
    """Seconds of `90`, `90s`, `45m`, `1.5h`, `1h30m`, `2d`.

    A bare number is seconds, as `hf jobs run --timeout` takes it (huggingface_hub 2.4.0 `_create_job_spec`).
    """
    word = text.strip().lower()
    if re.fullmatch(r"[0-9]+", word):
        seconds = float(word)
    else:
        # Blanks stand between a number and its unit, or between parts, never in a number: "1 30m" is not 130 minutes.
        parts = _PART.findall(word[: MAX_DURATION + 1])
        units = [unit for _, unit in parts]
        if not parts or len(word) > MAX_DURATION or _PART.sub("", word) or len(set(units)) != len(units):
            message = f"{text!r} is not a duration; write 45m, 1.5h, 1h30m, 2d or a number of seconds"
            raise ValueError(message)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 1 <= seconds <= MAX_TIMEOUT_S:
        message = f"{text!r} is not between one second and 30 days"
        raise ValueError(message)
    return int(seconds)


def choice(text: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words, in lower case."""
    word = text.strip().lower()
    if word not in allowed:
        message = f"{text!r} is not one of {', '.join(allowed)}"
        raise ValueError(message)
    return word


def boolean(text: str) -> bool:
    """`true` or `false`, and nothing that only looks like one."""
    word = text.strip().lower()
    if word not in {"true", "false"}:
        message = f"{text!r} is neither true nor false"
        raise ValueError(message)
    return word == "true"


def positive_int(text: str) -> int:
    """A whole number from 1 to 100."""
    if not re.fullmatch(r"[0-9]{1,3}", text.strip()) or not 1 <= int(text) <= 100:
        message = f"{text!r} is not a whole number from 1 to 100"
        raise ValueError(message)
    return int(text)


def retries(text: str) -> int:
    """A whole number from 0 to 10."""
    if not re.fullmatch(r"[0-9]{1,2}", text.strip()) or int(text) > 10:
        message = f"{text!r} is not a whole number from 0 to 10"
        raise ValueError(message)
    return int(text)


def nodes(text: str) -> int:
    """A whole number of nodes."""
    if not re.fullmatch(r"[0-9]{1,2}", text.strip()) or not 1 <= int(text) <= MAX_NODES:
        message = f"{text!r} is not a whole number from 1 to {MAX_NODES}"
        raise ValueError(message)
    return int(text)


def money(text: str) -> float:
    """US dollars, `5` or `2.50`."""
    word = text.strip()
    # A number with 400 digits is infinite as a float, and an infinite limit is none.
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) or float(word) > MAX_USD:
        message = f"{text!r} is not an amount in US dollars; write 5 or 2.50"
        raise ValueError(message)
    return float(word)


def image(text: str) -> str:
    """An image reference. A word that starts with `-` is a lost option, not an image."""
    if not _IMAGE.fullmatch(text):
        message = f"{text!r} is not an image reference"
        raise ValueError(message)
    return text


def flavor(text: str) -> str:
    """A flavor name; whether it exists is the Hub's to say."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,63}", text):
        message = f"{text!r} is not a flavor name; `hf jobs hardware` lists them"
        raise ValueError(message)
    return text


def namespace(text: str) -> str:
    """A user or organisation."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}", text):
        message = f"{text!r} is not the name of a user or organisation"
        raise ValueError(message)
    return text


def repo(text: str) -> str:
    """`owner/name` of a repo."""
    if not _REPO.fullmatch(text):
        message = f"{text!r} is not a repo id; write OWNER/NAME"
        raise ValueError(message)
    return text


_BASELINES = {
    "run": re.compile(r"[0-9]{1,18}"),
    "job": re.compile(r"[0-9a-f]{24}"),
    "commit": re.compile(r"[0-9a-f]{7,40}"),
    "branch": re.compile(r"[^\s~^:?*\[\\]{1,200}"),
    "tag": re.compile(r"[^\s~^:?*\[\\]{1,200}"),
    "file": re.compile(r"\S.*"),
}


def baseline(text: str) -> str:
    """What to compare with, as `kind:name`; a bare name of a JSON file is `file:name`.

    Raises:
        ValueError: It is none of the kinds, and the message lists them.
    """
    kind, colon, name = text.partition(":")
    if text in {"none", "release"} or (colon and kind in _BASELINES and _BASELINES[kind].fullmatch(name)):
        return text
    if kind == "model":
        repo_id, at, revision = name.partition("@")
        if _REPO.fullmatch(repo_id) and (not at or _BASELINES["branch"].fullmatch(revision)):
            return text
    if not colon and text.endswith(".json"):
        return f"file:{text}"
    message = (
        f"{text!r} is no baseline; write run:ID (of a workflow run), job:ID, branch:NAME, commit:SHA, tag:NAME, "
        "model:OWNER/NAME[@REVISION], release (the last one), a JSON file of the repository (file:PATH), or none"
    )
    raise ValueError(message)


def variable(text: str) -> str:
    """The name of an environment variable."""
    if not _NAME.fullmatch(text):
        message = f"{text!r} is not a name: letters, digits and _ only (values come from the step's environment)"
        raise ValueError(message)
    return text


def assignment(text: str, instead: str = "secrets") -> tuple[str, str]:
    """`KEY=VALUE`. Everything after the first `=` is the value, byte for byte.

    Args:
        text: The line.
        instead: The input where the name of a secret belongs.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals:
        message = f"{text!r} has no '='; write KEY=VALUE"
        raise ValueError(message)
    if not _NAME.fullmatch(key):
        message = f"{key!r} is not the name of an environment variable"
        raise ValueError(message)
    if _LOOKS_SECRET.search(key.upper()):
        message = f"{key} looks like a secret; put its name under {instead} and its value in the step's environment"
        raise ValueError(message)
    return key, value


def mount(text: str) -> str:
    """An absolute path in the Job, not its root."""
    path = PurePosixPath(text)
    outside = not path.is_absolute() or ".." in path.parts or not path.parts[1:]
    if outside or ":" in text or _CONTROL.search(text):
        message = f"{text!r} is not a mount path; write an absolute path such as /data"
        raise ValueError(message)
    return "/" + str(path).lstrip("/")


def volume(text: str) -> Volume | LocalVolume:
    """A volume in the grammar of `hf jobs run -v`.

    Source of the grammar: huggingface_hub 2.4.0 `cli/jobs.py` and `utils/_hf_uris.py`: plural type prefix, models by
    default, a revision for repos only, local folders read-only by default.
    """
    body, mode = text, None
    for suffix, read_only in ((":ro", True), (":rw", False)):
        if text.endswith(suffix):
            body, mode = text[: -len(suffix)], read_only
    source, colon, target = body.rpartition(":")
    # The last colon of a bare `hf://...` is the one of its scheme.
    if not colon or not source or target.startswith("//"):
        message = f"{text!r} has no mount path; write SOURCE:/MOUNT[:ro|:rw]"
        raise ValueError(message)
    where = mount(target)
    if not source.startswith("hf://"):
        return LocalVolume(folder=source, mount=where, read_only=mode is not False)
    return _hub_volume(text, source.removeprefix("hf://"), where, read_only=mode)


def _hub_volume(text: str, source: str, where: str, *, read_only: bool | None) -> Volume:
    head, _, rest = source.strip("/").partition("/")
    kind = _KINDS.get(head)
    if head in {"kernels", "kernel"}:
        message = f"{text!r}: a kernel cannot be mounted"
        raise ValueError(message)
    if f"{head}s" in _KINDS:
        message = f"{text!r}: write {head}s/, in the plural"
        raise ValueError(message)
    owner, _, tail = (rest if kind else source.strip("/")).partition("/")
    name_and_revision, _, path = tail.partition("/")
    name, at, revision = name_and_revision.partition("@")
    if revision == "refs" and (special := re.match(r"convert/[\w.-]+|pr/\d+", path)):
        revision, path = f"refs/{special.group()}", path[special.end() :]
    if at and not revision:
        message = f"{text!r} has an empty revision after '@'"
        raise ValueError(message)
    if not _REPO.fullmatch(f"{owner}/{name}"):
        message = f"{text!r} does not name OWNER/NAME after hf://"
        raise ValueError(message)
    if kind == "bucket" and at:
        message = f"{text!r}: a bucket has no revisions"
        raise ValueError(message)
    if kind != "bucket" and read_only is False:
        message = f"{text!r}: only a bucket can be mounted :rw"
        raise ValueError(message)
    return Volume(
        kind=kind or "model",
        source=f"{owner}/{name}",
        mount=where,
        read_only=read_only,
        path=path.strip("/"),
        revision=unquote(revision) or None,
    )


def option_name(text: str) -> str:
    """The name of a script's option, without its dashes: `lr`, `warmup_steps`.

    Raises:
        ValueError: It is none.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text):
        message = f"{text!r} is not the name of an option; write it without dashes, for instance: lr"
        raise ValueError(message)
    return text


def secret_name(text: str) -> str:
    """The name of a secret that a Job (or a build) gets.

    Raises:
        ValueError: It is no name, or that of a credential of this step or its runner.
    """
    name = variable(text)
    if name.upper().startswith(("HF_TRAIN_", "ACTIONS_", "GITHUB_", "RUNNER_")):
        message = f"{name} belongs to this step or its runner, and never leaves it"
        raise ValueError(message)
    return name

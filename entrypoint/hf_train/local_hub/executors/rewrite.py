"""The fallback where no private mount is allowed: volumes in the Job's folder, their mount paths rewritten as text."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from hf_train.local_hub.executors.base import Task

NOTICE = (
    "hf-train local Hub: this system allows no private mounts; volumes lie in the Job's folder and their mount paths "
    "were rewritten in command and environment. Use --executor docker for mounts at their own paths.\n"
)


def rewritten(task: Task, env: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Put the volumes under the Job's folder, and name them there in command and environment.

    A read-only volume is a copy without write bits (its owner could still set them), a read-write one a link to the
    bucket.

    Args:
        task: The Job.
        env: Its whole environment; only variables that the Job itself brought are rewritten.
    """
    places: dict[str, str] = {}
    for number, mount in enumerate(sorted(task.mounts, key=lambda one: one.target)):
        place = task.folder / "mnt" / str(number)
        place.parent.mkdir(exist_ok=True)
        if mount.read_only:
            shutil.copytree(mount.source, place)
            _without_write_bits(place)
        else:
            place.symlink_to(mount.source.resolve())
        places[mount.target] = str(place)
    kept = {name: replaced(value, places) if name in task.env else value for name, value in env.items()}
    return tuple(replaced(word, places) for word in task.command), kept


def replaced(text: str, places: Mapping[str, str]) -> str:
    """A text with each mount path that stands as a path of its own replaced: in `/code/x`, not in `/x/code`."""
    if not places:
        return text
    longest_first = sorted(places, key=len, reverse=True)
    pattern = rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])"
    return re.sub(pattern, lambda match: places[match[1]], text)


def _without_write_bits(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555)


def make_removable(folder: Path) -> None:
    """Give the write bits back, so that the Job's folder can be removed."""
    for path in [folder, *folder.rglob("*")] if folder.is_dir() else []:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)

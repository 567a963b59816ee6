"""Where a path of the Job lies once the Job is gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from hf_train.values import LocalVolume, Volume


def in_bucket(path: str, volumes: Sequence[Volume | LocalVolume]) -> tuple[str, str] | None:
    """The bucket that a path is written to, and the folder in it; None when it is in no bucket that the Job writes to.

    Args:
        path: Absolute path in the Job.
        volumes: What is mounted; the innermost mount counts.
    """
    where = PurePosixPath(path)
    around = [one for one in volumes if where.is_relative_to(one.mount)]
    inner = max(around, key=lambda one: len(PurePosixPath(one.mount).parts), default=None)
    if not isinstance(inner, Volume) or inner.kind != "bucket" or inner.read_only:
        return None
    folder = PurePosixPath(inner.path or ".", where.relative_to(inner.mount))
    return inner.source, "" if str(folder) == "." else str(folder)

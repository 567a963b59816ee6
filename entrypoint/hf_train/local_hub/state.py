"""The data folder: where everything lies, atomic writes, and no path that climbs out."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any


class PathEscapesError(ValueError):
    """A path from a request would leave the folder it belongs to."""


def safe_join(root: Path, relative: str) -> Path:
    """Join a path from a request to `root`.

    Args:
        root: A folder of the local Hub.
        relative: A POSIX path from a client; may be empty.

    Raises:
        PathEscapesError: The path is absolute, has `..`, a NUL or a backslash, or a link leads it out of `root`.
    """
    pure = PurePosixPath(relative)
    if pure.is_absolute() or ".." in pure.parts or "\0" in relative or "\\" in relative:
        message = f"path {relative!r} leaves its folder"
        raise PathEscapesError(message)
    joined = root / pure
    if not joined.resolve().is_relative_to(root.resolve()):
        message = f"path {relative!r} leaves its folder"
        raise PathEscapesError(message)
    return joined


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file so that a reader or a crash sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """`write_atomic` of a JSON document."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True).encode())


def read_json(path: Path) -> Any:
    """The JSON document at `path`, or None when there is no such file."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None

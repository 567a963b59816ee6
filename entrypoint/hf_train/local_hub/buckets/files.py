"""The live folder of a bucket: walked and opened so that no link leads out of it.

A Job may write anything into its mounted folder, links and pipes included, while requests read it. So a file is
judged after it is open, by what the descriptor really names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

_PIECE_BYTES = 1 << 20


class Stamp(NamedTuple):
    """What changes when a file's content may have changed. The change time cannot be set back by a program."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> Stamp:
        """The stamp of a stat result."""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


class FileEntry(NamedTuple):
    """A file of a bucket: its path in the bucket, and its stamp."""

    path: str
    stamp: Stamp


def open_inside(root: Path, relative: str) -> BinaryIO | None:
    """Open a regular file below `root` for reading; None when there is none, or when a link leads out."""
    try:
        # Not blocking: a Job may have made a pipe here.
        handle = os.open(root / relative, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(os.fstat(handle).st_mode) and _named(handle, root / relative).is_relative_to(root.resolve()):
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def _named(handle: int, path: Path) -> Path:
    """The path that a descriptor really names (Linux), else the path resolved."""
    try:
        return Path(f"/proc/self/fd/{handle}").readlink()
    except OSError:
        return path.resolve()


def walk(root: Path, below: str = "") -> Iterator[FileEntry]:
    """All files below a folder of the bucket, in no order.

    Linked folders are left out, linked files inside are followed.
    """
    try:
        found = list(os.scandir(root / below))
    except OSError:
        return
    for item in found:
        relative = f"{below}/{item.name}" if below else item.name
        try:
            if item.is_dir(follow_symlinks=False):
                yield from walk(root, relative)
            elif item.is_symlink():
                if (info := stat_inside(root, relative)) is not None:
                    yield FileEntry(relative, info)
            elif item.is_file(follow_symlinks=False):
                yield FileEntry(relative, Stamp.of(item.stat(follow_symlinks=False)))
        except OSError:  # gone meanwhile: a Job is at work
            continue


def stat_inside(root: Path, relative: str) -> Stamp | None:
    """The stamp of a regular file below `root`, or None."""
    stream = open_inside(root, relative)
    if stream is None:
        return None
    with stream:
        return Stamp.of(os.fstat(stream.fileno()))


@dataclass(frozen=True, slots=True)
class BucketContent:
    """The content of a bucket's file, as it is on disk now."""

    root: Path
    path: str
    size: int

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces; nothing when the file is gone."""
        stream = open_inside(self.root, self.path)
        if stream is None:
            return
        with stream:
            stream.seek(start)
            left = end - start
            while left > 0 and (piece := stream.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece

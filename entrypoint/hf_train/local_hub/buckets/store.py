"""Buckets on disk.

`buckets/NAMESPACE/NAME/files/` holds the files of a bucket as plain files. Executors bind-mount that folder (or one
in it) into Jobs, so that what a Job writes is in the bucket at once. Beside it lie `meta.json` and `incoming/`, where
a file is put together before it moves into its place. What only the Hub knows of a file (xet hash, when it was
uploaded) stands in one table for all buckets and counts only as long as the file's stamp is the one the hash was
computed for.

The time of a file is its time on disk: an upload sets it to what the client says, a Job's write to now. `hf buckets
sync` compares by it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hf_train.local_hub.buckets.files import FileEntry, Stamp, stat_inside, walk
from hf_train.local_hub.database import Database
from hf_train.local_hub.http import iso, now, object_id
from hf_train.local_hub.state import read_json, safe_join, write_json
from hf_train.local_hub.xet.content import FileContent
from hf_train.local_hub.xet.store import XetStore, hash_files

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    bucket TEXT NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL, uploaded TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    PRIMARY KEY (bucket, path)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_hash ON files (hash);
"""


class BucketFile(NamedTuple):
    """A file of a bucket with its xet hash."""

    path: str
    size: int
    hash: str
    mtime: datetime
    uploaded: str


@dataclass(kw_only=True, slots=True)
class Bucket:
    """One bucket.

    Attributes:
        id: `NAMESPACE/NAME`; the folder is named after it, so a move changes both.
        key: Unchanging id of 24 hex digits, under which the table of files knows it.
        folder: Where it lies.
        private: Visible to its namespace only.
        created: When it was made, as the Hub writes dates.
        region: Storage region asked for at creation, or None.
    """

    id: str
    key: str
    folder: Path
    private: bool
    created: str
    region: str | None = None

    @property
    def files(self) -> Path:
        """The live folder."""
        return self.folder / "files"

    def save(self) -> None:
        """Write `meta.json`."""
        meta = {"key": self.key, "private": self.private, "created": self.created, "region": self.region}
        write_json(self.folder / "meta.json", meta)


class BucketStore:
    """All buckets.

    Args:
        root: Folder of the buckets.
        xet: Where uploaded content comes from.
    """

    def __init__(self, root: Path, xet: XetStore) -> None:
        self.root, self.xet = root, xet
        root.mkdir(parents=True, exist_ok=True)
        self._table = Database(root / "files.sqlite", _SCHEMA)
        self._lock = threading.RLock()
        self._mounted: set[Path] = set()  # folders given to executors: never pruned when empty

    def get(self, bucket_id: str) -> Bucket | None:
        """The bucket `NAMESPACE/NAME`, or None."""
        folder = safe_join(self.root, bucket_id)
        meta = read_json(folder / "meta.json") if bucket_id.count("/") == 1 else None
        if meta is None:
            return None
        return Bucket(
            id=bucket_id,
            folder=folder,
            key=meta["key"],
            private=meta["private"],
            created=meta["created"],
            region=meta.get("region"),
        )

    def in_namespace(self, namespace: str) -> list[Bucket]:
        """The buckets of a namespace, newest first."""
        folders = safe_join(self.root, namespace).glob("*/meta.json")
        found = [bucket for file in folders if (bucket := self.get(f"{namespace}/{file.parent.name}"))]
        return sorted(found, key=lambda bucket: bucket.created, reverse=True)

    def create(self, bucket_id: str, *, private: bool, region: str | None = None) -> Bucket | None:
        """Make a bucket; None when there is one."""
        with self._lock:
            if self.get(bucket_id) is not None:
                return None
            folder = safe_join(self.root, bucket_id)
            bucket = Bucket(
                id=bucket_id, key=object_id(), folder=folder, private=private, created=iso(now()), region=region
            )
            bucket.files.mkdir(parents=True, exist_ok=True)
            bucket.save()
            return bucket

    def delete(self, bucket: Bucket) -> None:
        """Remove a bucket with its files."""
        with self._lock:
            (bucket.folder / "meta.json").unlink(missing_ok=True)
            shutil.rmtree(bucket.folder, ignore_errors=True)
            self._table.write("DELETE FROM files WHERE bucket = ?", [(bucket.key,)])

    def move(self, bucket: Bucket, new_id: str) -> bool:
        """Give a bucket another name; False when the name is taken."""
        with self._lock:
            if self.get(new_id) is not None:
                return False
            target = safe_join(self.root, new_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            bucket.folder.rename(target)
            return True

    def entries(self, bucket: Bucket, below: str = "") -> list[FileEntry]:
        """The files below a folder, sorted by path, without hashes."""
        return sorted(walk(bucket.files, below))

    def entry(self, bucket: Bucket, path: str) -> FileEntry | None:
        """One file, without its hash."""
        safe_join(bucket.files, path)
        stamp = stat_inside(bucket.files, path)
        return None if stamp is None else FileEntry(path, stamp)

    def describe(self, bucket: Bucket, entries: Iterable[FileEntry]) -> list[BucketFile]:
        """The files with their hashes.

        Hashes that the table does not know yet are computed, all at once. Files gone are left out.
        """
        wanted = list(entries)
        known = self._known(bucket, wanted)
        fresh = [entry for entry in wanted if entry.path not in known]
        rows = []
        for entry, found in zip(fresh, _hashes([bucket.files / entry.path for entry in fresh]), strict=True):
            if found is None:
                continue
            # Look again: the file may have changed while it was hashed, then the hash is for this answer only.
            if stat_inside(bucket.files, entry.path) == entry.stamp:
                rows.append((bucket.key, entry.path, found, iso(now()), *entry.stamp))
            known[entry.path] = (found, iso(now()))
        self._table.write("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return [
            BucketFile(entry.path, entry.stamp.size, known[entry.path][0], _moment(entry.stamp), known[entry.path][1])
            for entry in wanted
            if entry.path in known
        ]

    def _known(self, bucket: Bucket, entries: list[FileEntry]) -> dict[str, tuple[str, str]]:
        """Hash and upload time of the files whose stamp is as the table says."""
        if len(entries) == 1:
            where, values = "bucket = ? AND path = ?", [bucket.key, entries[0].path]
        else:
            where, values = "bucket = ?", [bucket.key]
        columns = "path, hash, uploaded, size, mtime_ns, ctime_ns, inode"
        rows = self._table.read(f"SELECT {columns} FROM files WHERE {where}", values)  # noqa: S608 - constants
        table = {row[0]: row for row in rows}
        return {
            entry.path: (row[1], row[2])
            for entry in entries
            if (row := table.get(entry.path)) is not None and tuple(row[3:]) == tuple(entry.stamp)
        }

    def adopt(self, hash_: str) -> FileContent | None:
        """Bring a file that a Job wrote into the xet store, found by its hash; None when no bucket has it now."""
        rows = self._table.read("SELECT bucket, path FROM files WHERE hash = ?", [hash_])
        if not rows:
            return None
        by_key = {bucket.key: bucket for bucket in self._all()}
        for key, path in rows:
            bucket = by_key.get(key)
            if bucket is None or stat_inside(bucket.files, path) is None:
                continue
            if self.xet.put_plain(bucket.files / path, copy=True) == hash_:
                return self.xet.content(hash_)
        return None

    def _all(self) -> list[Bucket]:
        namespaces = [folder.name for folder in self.root.iterdir() if folder.is_dir()]
        return [bucket for namespace in namespaces for bucket in self.in_namespace(namespace)]

    def put(self, bucket: Bucket, path: str, hash_: str, mtime: datetime) -> None:
        """Put a file of the xet store into a bucket.

        Raises:
            KeyError: The store does not have it.
            OSError: The path cannot be a file here (a folder has its name, or a file has the name of its folder).
            state.PathEscapesError: The path leads out of the bucket.
        """
        target = safe_join(bucket.files, path)
        incoming = bucket.folder / "incoming"
        incoming.mkdir(exist_ok=True)
        temporary = incoming / object_id()
        try:
            if not self.xet.write_to(hash_, temporary):
                if self.adopt(hash_) is None:
                    raise KeyError(hash_)
                self.xet.write_to(hash_, temporary)
            stamp_ns = int(mtime.timestamp() * 1000) * 1_000_000
            os.utime(temporary, ns=(stamp_ns, stamp_ns))
            with self._lock:
                target.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        stamp = Stamp.of(target.stat())
        row = (bucket.key, path, hash_, iso(now()), *stamp)
        self._table.write("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])

    def remove(self, bucket: Bucket, path: str) -> bool:
        """Remove a file and the folders that it leaves empty; False when there is none.

        Raises:
            state.PathEscapesError: The path leads out of the bucket.
        """
        target = safe_join(bucket.files, path)
        with self._lock:
            try:
                target.unlink()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
                return False
            self._table.write("DELETE FROM files WHERE bucket = ? AND path = ?", [(bucket.key, path)])
            folder = target.parent
            while folder != bucket.files and folder not in self._mounted:
                with suppress(OSError):
                    folder.rmdir()
                    folder = folder.parent
                    continue
                break
        return True

    def mount(self, bucket: Bucket, path: str) -> Path:
        """The live folder below `path`, made when missing, for an executor.

        Raises:
            state.PathEscapesError: The path leads out of the bucket.
        """
        with self._lock:
            folder = safe_join(bucket.files, path.strip("/"))
            folder.mkdir(parents=True, exist_ok=True)
            self._mounted.add(folder)
            return folder


def _hashes(paths: list[Path]) -> list[str | None]:
    """The xet hash of each file; None for one that went away meanwhile."""
    try:
        return [found for found, _size in hash_files(paths)]
    except (OSError, RuntimeError, ValueError):
        return _hashes(paths[: len(paths) // 2]) + _hashes(paths[len(paths) // 2 :]) if len(paths) > 1 else [None]


def _moment(stamp: Stamp) -> datetime:
    return datetime.fromtimestamp(stamp.mtime_ns // 1_000_000 / 1000, UTC)

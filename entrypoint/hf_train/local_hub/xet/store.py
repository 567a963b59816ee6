"""The xet store on disk: xorbs as they came, and a table of files.

Xorbs are kept for good: hf_xet remembers per store URL which ones it has sent and never sends them again, so that
losing one would break later uploads.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import hf_xet  # type: ignore[import-untyped]

from hf_train.local_hub.database import Database
from hf_train.local_hub.state import write_atomic
from hf_train.local_hub.xet import xorb as xorbs
from hf_train.local_hub.xet.content import FileContent, PackedContent, PlainContent
from hf_train.local_hub.xet.shard import ShardError, ShardFile, Term, parse_shard

EMPTY_HASH = "0" * 64  # hf_xet's hash of the empty file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS packed (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, terms TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plain (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, path TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sha256 (sha TEXT PRIMARY KEY, hash TEXT NOT NULL);
"""


def hash_files(paths: Sequence[Path]) -> list[tuple[str, int]]:
    """The xet hash and the length of each file, by hf_xet itself (about 1 GB/s)."""
    if not paths:
        return []
    return [(info.hash, info.file_size) for info in hf_xet.hash_files([str(path) for path in paths])]


class XetStore:
    """Files by their xet hash.

    Args:
        root: Folder of the store.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._table = Database(root / "cas.sqlite", _SCHEMA)
        (root / "plain").mkdir(parents=True, exist_ok=True)
        self.chunks = functools.lru_cache(maxsize=256)(self._scan)

    def xorb_path(self, xorb: str) -> Path:
        """Where the bytes of a xorb lie."""
        return self.root / "xorbs" / xorb[:2] / xorb

    def put_xorb(self, xorb: str, data: bytes) -> bool:
        """Keep a xorb. False when it was there.

        Raises:
            xorb.XorbError: The bytes are no xorb.
        """
        path = self.xorb_path(xorb)
        if path.exists():
            return False
        if not list(xorbs.scan(data)):
            message = "a xorb has at least one chunk"
            raise xorbs.XorbError(message)
        write_atomic(path, data)
        return True

    def _scan(self, xorb: str) -> list[xorbs.Chunk]:
        path = self.xorb_path(xorb)
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return list(xorbs.scan(view))

    def put_shard(self, data: bytes) -> int:
        """Keep the files of a shard; how many.

        Raises:
            ShardError: The bytes are no shard, or a term names chunks that are not here.
        """
        files = parse_shard(data)
        for file in files:
            self._check(file)
        rows = [(file.hash, file.size, json.dumps(file.terms)) for file in files]
        self._table.write("INSERT OR REPLACE INTO packed VALUES (?, ?, ?)", rows)
        shas = [(file.sha256, file.hash) for file in files if file.sha256]
        self._table.write("INSERT OR REPLACE INTO sha256 VALUES (?, ?)", shas)
        return len(files)

    def _check(self, file: ShardFile) -> None:
        for term in file.terms:
            try:
                chunks = self.chunks(term.xorb)[term.start : term.end]
            except FileNotFoundError as problem:
                message = f"file {file.hash} needs xorb {term.xorb}, which is not here"
                raise ShardError(message) from problem
            if term.end <= term.start or sum(chunk.size for chunk in chunks) != term.size:
                message = f"file {file.hash} has a term over {term.xorb} whose length is wrong"
                raise ShardError(message)

    def put_plain(self, path: Path, *, copy: bool) -> str:
        """Know a file on disk by its hash, which is returned.

        Args:
            path: The file. Without `copy` it must stay as it is (an object of the LFS store).
            copy: Keep a copy, for a file that may change.
        """
        if copy:
            handle, name = tempfile.mkstemp(dir=self.root / "plain", prefix=".tmp-")
            os.close(handle)
            temporary = Path(name)
            shutil.copyfile(path, temporary)
            path = temporary
        ((found, size),) = hash_files([path])
        if copy:
            path = path.replace(self.root / "plain" / found)
        relative = os.path.relpath(path, self.root)
        self._table.write("INSERT OR REPLACE INTO plain VALUES (?, ?, ?)", [(found, size, relative)])
        return found

    def hash_of_sha256(self, sha: str) -> str | None:
        """The xet hash of the file with this SHA-256, when a client or `link_sha256` has told."""
        rows = self._table.read("SELECT hash FROM sha256 WHERE sha = ?", [sha])
        return str(rows[0][0]) if rows else None

    def link_sha256(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember pairs of SHA-256 and xet hash."""
        self._table.write("INSERT OR REPLACE INTO sha256 VALUES (?, ?)", pairs)

    def content(self, hash_: str) -> FileContent | None:
        """The file with this xet hash, or None."""
        for size, terms in self._table.read("SELECT size, terms FROM packed WHERE hash = ?", [hash_]):
            return PackedContent(tuple(Term(*term) for term in json.loads(terms)), size, self)
        for size, relative in self._table.read("SELECT size, path FROM plain WHERE hash = ?", [hash_]):
            path = self.root / relative
            if path.is_file():
                return PlainContent(path, size, hash_)
        return PackedContent((), 0, self) if hash_ == EMPTY_HASH else None

    def write_to(self, hash_: str, target: Path) -> bool:
        """Write the file with this hash to `target`; False when the store has no such file."""
        content = self.content(hash_)
        if content is None:
            return False
        with target.open("wb") as stream:
            for piece in content.read(0, content.size):
                stream.write(piece)
        return True

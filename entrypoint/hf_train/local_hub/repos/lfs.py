"""Large files, by SHA-256, for all repos."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

from starlette.concurrency import run_in_threadpool

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.xet.content import FileOnDisk
from hf_train.local_hub.xet.store import XetStore


class LfsStore:
    """The objects.

    Args:
        root: Their folder.
        xet: Knows large files that were uploaded by xet, and lends every object to xet downloads.
    """

    def __init__(self, root: Path, xet: XetStore) -> None:
        self.root, self.xet = root, xet
        root.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """Where an object lies, or would."""
        return self.root / sha256[:2] / sha256[2:4] / sha256

    def has(self, sha256: str) -> bool:
        """Whether the content is here, as an object or in the xet store."""
        return self.path(sha256).exists() or self.xet.hash_of_sha256(sha256) is not None

    def ensure(self, sha256: str) -> FileOnDisk | None:
        """The object, taken from the xet store when it came that way; None when nobody has uploaded it.

        Raises:
            HubError: 400 when what was uploaded by xet has another SHA-256 than the client says.
        """
        path = self.path(sha256)
        if not path.exists():
            hash_ = self.xet.hash_of_sha256(sha256)
            if hash_ is None or not self._from_xet(hash_, sha256):
                return None
        elif self.xet.hash_of_sha256(sha256) is None:
            self.xet.link_sha256([(sha256, self.xet.put_plain(path, copy=False))])
        return FileOnDisk(path, path.stat().st_size)

    def _from_xet(self, hash_: str, sha256: str) -> bool:
        content = self.xet.content(hash_)
        if content is None:
            return False
        digest = hashlib.sha256()
        with _Incoming(self.root) as incoming:
            for piece in content.read(0, content.size):
                digest.update(piece)
                incoming.stream.write(piece)
            if digest.hexdigest() != sha256:
                raise HubError(400, f"The file uploaded by xet is not the one with SHA-256 {sha256}")
            incoming.keep(self.path(sha256))
        return True

    def content(self, sha256: str) -> FileOnDisk:
        """An object of a commit.

        Raises:
            HubError: 404 when it is gone.
        """
        found = self.ensure(sha256)
        if found is None:
            raise HubError(404, f"The LFS object {sha256} is not on this Hub", "EntryNotFound")
        return found

    async def put(self, sha256: str, size: int, body: AsyncIterator[bytes]) -> None:
        """Keep an object as its bytes come.

        Raises:
            HubError: 400 when its length or SHA-256 is another.
        """
        digest, length = hashlib.sha256(), 0
        with _Incoming(self.root) as incoming:
            async for piece in body:
                length += len(piece)
                digest.update(piece)
                await run_in_threadpool(incoming.stream.write, piece)
            if length != size or digest.hexdigest() != sha256:
                raise HubError(400, f"The uploaded bytes are not the object {sha256} of {size} bytes")
            incoming.keep(self.path(sha256))

    def part_path(self, sha256: str, number: int) -> Path:
        """Where a part of a multipart upload lies."""
        return self.root / "parts" / sha256 / f"{number:05d}"

    async def put_part(self, sha256: str, number: int, body: AsyncIterator[bytes]) -> str:
        """Keep a part of a multipart upload; its entity tag."""
        digest = hashlib.sha256()
        with _Incoming(self.root) as incoming:
            async for piece in body:
                digest.update(piece)
                await run_in_threadpool(incoming.stream.write, piece)
            incoming.keep(self.part_path(sha256, number))
        return digest.hexdigest()[:32]

    def join_parts(self, sha256: str, numbers: list[int]) -> None:
        """Make an object of its parts.

        Raises:
            HubError: 400 when a part is missing or the SHA-256 is another.
        """
        digest = hashlib.sha256()
        with _Incoming(self.root) as incoming:
            for number in numbers:
                path = self.part_path(sha256, number)
                if not path.exists():
                    raise HubError(400, f"Part {number} of {sha256} was not uploaded")
                for piece in FileOnDisk(path, path.stat().st_size).read(0, path.stat().st_size):
                    digest.update(piece)
                    incoming.stream.write(piece)
            if digest.hexdigest() != sha256:
                raise HubError(400, f"The parts together are not the object {sha256}")
            incoming.keep(self.path(sha256))
        for number in numbers:
            self.part_path(sha256, number).unlink(missing_ok=True)


class _Incoming:
    """A file that is kept when it is whole, and removed otherwise."""

    def __init__(self, root: Path) -> None:
        handle, name = tempfile.mkstemp(dir=root, prefix=".tmp-")
        self.path = Path(name)
        self.stream = os.fdopen(handle, "wb")

    def __enter__(self) -> Self:
        return self

    def keep(self, target: Path) -> None:
        self.stream.close()
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path.replace(target)

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.path.unlink(missing_ok=True)

"""The bytes of a file in the xet store, and how a client is told to fetch them.

A file is either *packed* (uploaded by hf_xet: terms over xorbs) or *plain* (bytes on disk: a file that a Job wrote
into a bucket, or a large file that came over LFS). A plain file is shown to clients as xorbs that exist only while
they are sent: chunks of 64 KiB, scheme none, 512 to a xorb. That is sound because a downloading client takes chunk
ranges as the reconstruction names them and checks lengths, not hashes (xet-core `remote_client.rs`,
`get_file_term_data`).
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from hf_train.local_hub.xet import xorb as xorbs
from hf_train.local_hub.xet.shard import Term

PLAIN_CHUNK_BYTES = 64 * 1024
PLAIN_XORB_CHUNKS = 512
_PIECE_BYTES = 1 << 20


class Segment(NamedTuple):
    """Chunks of one xorb that follow each other in a file.

    Attributes:
        xorb: Hash of the xorb.
        route: Path below the xet store's URL where the xorb's bytes are.
        first: Index of the first chunk in the xorb.
        sizes: Unpacked length of each chunk, bytes.
        offsets: Byte offset in the xorb of each chunk, and behind the last.
    """

    xorb: str
    route: str
    first: int
    sizes: Sequence[int]
    offsets: Sequence[int]


class FileContent(Protocol):
    """A file of the xet store."""

    @property
    def size(self) -> int:
        """Length, bytes."""
        ...

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces."""
        ...

    def segments(self) -> Iterator[Segment]:
        """What a client must fetch, in order."""
        ...


@dataclass(frozen=True, slots=True)
class FileOnDisk:
    """The content of a file that stays as it is."""

    path: Path
    size: int

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces."""
        with self.path.open("rb") as stream:
            stream.seek(start)
            left = end - start
            while left > 0 and (piece := stream.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece


@dataclass(frozen=True, slots=True)
class PlainContent(FileOnDisk):
    """A file whose bytes lie on disk as they are, under its hash."""

    hash: str

    def segments(self) -> Iterator[Segment]:
        """Xorbs of 32 MiB, named after the file's hash."""
        span = PLAIN_CHUNK_BYTES * PLAIN_XORB_CHUNKS
        for index, start in enumerate(range(0, self.size, span)):
            length = min(span, self.size - start)
            sizes = [min(PLAIN_CHUNK_BYTES, length - place) for place in range(0, length, PLAIN_CHUNK_BYTES)]
            stride = PLAIN_CHUNK_BYTES + xorbs.HEADER_BYTES
            offsets = [*(stride * chunk for chunk in range(len(sizes))), length + xorbs.HEADER_BYTES * len(sizes)]
            name = hashlib.blake2b(f"{self.hash} {index}".encode(), digest_size=32).hexdigest()
            yield Segment(name, f"plain/{self.hash}/{index}", 0, sizes, offsets)

    def xorb(self, index: int) -> bytes:
        """The bytes of the xorb that `segments` names at `index`."""
        span = PLAIN_CHUNK_BYTES * PLAIN_XORB_CHUNKS
        data = b"".join(self.read(index * span, min(self.size, (index + 1) * span)))
        return b"".join(
            xorbs.pack_chunk(data[place : place + PLAIN_CHUNK_BYTES])
            for place in range(0, len(data), PLAIN_CHUNK_BYTES)
        )


class XorbSource(Protocol):
    """Where xorbs are read from."""

    def xorb_path(self, xorb: str) -> Path:
        """Where the bytes of a xorb lie."""
        ...

    def chunks(self, xorb: str) -> list[xorbs.Chunk]:
        """The chunks of a xorb."""
        ...


@dataclass(frozen=True, slots=True)
class PackedContent:
    """A file made of chunks of xorbs."""

    terms: tuple[Term, ...]
    size: int
    source: XorbSource

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces of a chunk."""
        place = 0
        for term in self.terms:
            if place < end and place + term.size > start:
                yield from self._read_term(term, start - place, end - place)
            place += term.size

    def _read_term(self, term: Term, start: int, end: int) -> Iterator[bytes]:
        place = 0
        with (
            self.source.xorb_path(term.xorb).open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view,
        ):
            for chunk in self.source.chunks(term.xorb)[term.start : term.end]:
                if place < end and place + chunk.size > start:
                    data = xorbs.unpack(view, chunk)
                    yield data[max(0, start - place) : max(0, end - place)]
                place += chunk.size

    def segments(self) -> Iterator[Segment]:
        """One segment a term."""
        for term in self.terms:
            chunks = self.source.chunks(term.xorb)[term.start : term.end]
            offsets = [*(chunk.offset for chunk in chunks), chunks[-1].end]
            yield Segment(term.xorb, f"xorbs/{term.xorb}", term.start, [chunk.size for chunk in chunks], offsets)

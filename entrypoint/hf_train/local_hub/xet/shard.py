"""The shard format: which files are made of which chunks of which xorbs.

A 48-byte header, then the files, then the xorbs; each list ends with a 48-byte entry whose hash is all ones. A file
has a 48-byte header (hash, flags, number of terms), its terms (xorb, flags, unpacked length, first chunk, chunk
behind the last), with flag bit 31 a verification entry per term and with flag bit 30 its SHA-256. A hash is printed
as four little-endian 64-bit numbers in hex. Source: xet-core `metadata_shard/file_structs.rs`, `xorb_structs.rs`,
`shard_format.rs`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

ENTRY_BYTES = 48
TAG = b"HFRepoMetaData\0" + bytes([85, 105, 103, 69, 106, 123, 129, 87, 131, 165, 189, 217, 92, 205, 209, 74, 169])
_BOOKEND = b"\xff" * 32
_VERIFIED, _METADATA = 1 << 31, 1 << 30


class ShardError(ValueError):
    """The bytes are no shard."""


class Term(NamedTuple):
    """Chunks `start` to before `end` of a xorb: the next `size` bytes of a file."""

    xorb: str
    size: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A file: its hash, terms in order, and SHA-256 (None when the client left it out)."""

    hash: str
    terms: tuple[Term, ...]
    sha256: str | None = None

    @property
    def size(self) -> int:
        """Length of the file, bytes."""
        return sum(term.size for term in self.terms)


def hash_text(raw: bytes) -> str:
    """A 32-byte hash as 64 hex digits."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", raw))


def hash_bytes(text: str) -> bytes:
    """The 32 bytes of a hash of 64 hex digits."""
    return struct.pack("<4Q", *(int(text[place : place + 16], 16) for place in range(0, 64, 16)))


def parse_shard(data: bytes) -> list[ShardFile]:
    """The files that a shard describes.

    Raises:
        ShardError: The bytes are no shard or end too early.
    """
    try:
        return _parse(data)
    except struct.error as problem:
        message = f"shard ends too early: {problem}"
        raise ShardError(message) from problem


def _parse(data: bytes) -> list[ShardFile]:
    if data[:32] != TAG:
        message = "not a shard: its tag is another"
        raise ShardError(message)
    files: list[ShardFile] = []
    place = ENTRY_BYTES
    while True:
        raw, flags, count = struct.unpack_from("<32sII", data, place)
        place += ENTRY_BYTES
        if raw == _BOOKEND:
            return files
        terms = []
        for _ in range(count):
            xorb, _flags, size, start, end = struct.unpack_from("<32sIIII", data, place)
            terms.append(Term(hash_text(xorb), size, start, end))
            place += ENTRY_BYTES
        if flags & _VERIFIED:
            place += ENTRY_BYTES * count
        sha256 = None
        if flags & _METADATA:
            (raw_sha,) = struct.unpack_from("<32s", data, place)
            sha256 = hash_text(raw_sha)
            place += ENTRY_BYTES
        files.append(ShardFile(hash_text(raw), tuple(terms), sha256))


def write_shard(files: list[ShardFile]) -> bytes:
    """A shard that describes these files and no xorbs (for tests of a client's point of view)."""
    out = [TAG, struct.pack("<QQ", 2, 0)]
    for file in files:
        flags = _METADATA if file.sha256 else 0
        out.append(struct.pack("<32sIIQ", hash_bytes(file.hash), flags, len(file.terms), 0))
        out += [struct.pack("<32sIIII", hash_bytes(xorb), 0, size, start, end) for xorb, size, start, end in file.terms]
        if file.sha256:
            out.append(struct.pack("<32s16x", hash_bytes(file.sha256)))
    bookend = _BOOKEND + bytes(ENTRY_BYTES - len(_BOOKEND))
    return b"".join([*out, bookend, bookend])

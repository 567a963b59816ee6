"""The xorb format: a row of chunks, each with an 8-byte header.

Header of a chunk: version (0), packed length (24 bit), scheme (8 bit), unpacked length (24 bit), all little-endian.
Schemes: 0 as it is, 1 an LZ4 frame, 2 an LZ4 frame of the bytes regrouped by their position modulo 4. Older clients
append a footer that starts with `XETBLOB`. Source: xet-core `xorb_chunk_format.rs`, `compression_scheme.rs`,
`byte_grouping/bg4.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import lz4.frame

HEADER_BYTES = 8
MAX_CHUNK_BYTES = 128 * 1024  # 64 KiB target times MAXIMUM_CHUNK_MULTIPLIER (xet-core, xorb_object/constants.rs)
NONE, LZ4, GROUPED_LZ4 = 0, 1, 2
_FOOTER = b"XETBLOB"
_GROUPS = 4


class XorbError(ValueError):
    """The bytes are no xorb."""


class Chunk(NamedTuple):
    """Where a chunk lies in a xorb.

    Attributes:
        offset: Byte offset of its header.
        packed: Length of its data as stored, bytes, without the header.
        scheme: 0, 1 or 2.
        size: Length of its data unpacked, bytes.
    """

    offset: int
    packed: int
    scheme: int
    size: int

    @property
    def end(self) -> int:
        """Byte offset behind the chunk."""
        return self.offset + HEADER_BYTES + self.packed


class Buffer(Protocol):
    """`bytes`, `memoryview` or `mmap`."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: slice, /) -> bytes | memoryview: ...


def pack_chunk(data: bytes, scheme: int = NONE) -> bytes:
    """A chunk with its header.

    Raises:
        XorbError: The data is too long for a chunk, or the scheme is unknown.
    """
    if len(data) > MAX_CHUNK_BYTES:
        message = f"chunk of {len(data)} bytes is longer than {MAX_CHUNK_BYTES}"
        raise XorbError(message)
    if scheme == NONE:
        packed = data
    elif scheme == LZ4:
        packed = lz4.frame.compress(data)
    elif scheme == GROUPED_LZ4:
        packed = lz4.frame.compress(b"".join(data[group::_GROUPS] for group in range(_GROUPS)))
    else:
        message = f"unknown scheme {scheme}"
        raise XorbError(message)
    return header(len(packed), scheme, len(data)) + packed


def header(packed: int, scheme: int, size: int) -> bytes:
    """The 8 bytes before a chunk's data."""
    return b"\0" + packed.to_bytes(3, "little") + bytes([scheme]) + size.to_bytes(3, "little")


def scan(xorb: Buffer) -> Iterator[Chunk]:
    """The chunks of a xorb, in order, without unpacking them.

    Raises:
        XorbError: A header is cut, of another version, or leads behind the end.
    """
    offset = 0
    while offset < len(xorb):
        head = bytes(xorb[offset : offset + HEADER_BYTES])
        if head.startswith(_FOOTER):
            return
        chunk = Chunk(
            offset,
            int.from_bytes(head[1:4], "little"),
            head[4] if len(head) > 4 else 0,
            int.from_bytes(head[5:8], "little"),
        )
        if len(head) < HEADER_BYTES or head[0] != 0 or chunk.scheme > GROUPED_LZ4:
            message = f"no chunk header at byte {offset}"
            raise XorbError(message)
        if chunk.end > len(xorb) or chunk.size > MAX_CHUNK_BYTES:
            message = f"chunk at byte {offset} does not fit"
            raise XorbError(message)
        yield chunk
        offset = chunk.end


def unpack(xorb: Buffer, chunk: Chunk) -> bytes:
    """The data of a chunk.

    Raises:
        XorbError: It does not unpack to the length its header says.
    """
    body = bytes(xorb[chunk.offset + HEADER_BYTES : chunk.end])
    try:
        data: bytes = body if chunk.scheme == NONE else lz4.frame.decompress(body)
    except (RuntimeError, EOFError) as problem:
        message = f"chunk at byte {chunk.offset} does not unpack: {problem}"
        raise XorbError(message) from problem
    if len(data) != chunk.size:
        message = f"chunk at byte {chunk.offset} has {len(data)} bytes, not {chunk.size}"
        raise XorbError(message)
    return _ungroup(data) if chunk.scheme == GROUPED_LZ4 else data


def _ungroup(grouped: bytes) -> bytes:
    """Undo the regrouping: first all bytes at positions 0, 4, 8, …, then those at 1, 5, 9, …, and so on."""
    data = bytearray(len(grouped))
    start = 0
    for group in range(_GROUPS):
        length = (len(grouped) - group + _GROUPS - 1) // _GROUPS
        data[group::_GROUPS] = grouped[start : start + length]
        start += length
    return bytes(data)

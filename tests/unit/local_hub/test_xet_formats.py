"""Xorbs, shards, reconstructions and ranges, for any content."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.ranges import parse_range
from hf_train.local_hub.xet import content as contents
from hf_train.local_hub.xet import xorb as xorbs
from hf_train.local_hub.xet.routes import merged, trim
from hf_train.local_hub.xet.shard import (
    ENTRY_BYTES,
    ShardError,
    ShardFile,
    Term,
    hash_bytes,
    hash_text,
    parse_shard,
    write_shard,
)

SCHEMES = (xorbs.NONE, xorbs.LZ4, xorbs.GROUPED_LZ4)
hashes = st.binary(min_size=32, max_size=32).filter(lambda raw: raw != b"\xff" * 32).map(hash_text)
chunk_lists = st.lists(st.tuples(st.binary(max_size=2000), st.sampled_from(SCHEMES)), min_size=1, max_size=12)
terms = st.builds(Term, hashes, *[st.integers(0, 2**32 - 1)] * 3)
files = st.builds(ShardFile, hashes, st.lists(terms, max_size=5).map(tuple), st.none() | hashes)


@given(chunk_lists)
def test_a_xorb_gives_back_its_chunks(chunks: list[tuple[bytes, int]]) -> None:
    xorb = b"".join(xorbs.pack_chunk(data, scheme) for data, scheme in chunks)
    found = list(xorbs.scan(xorb))
    assert [xorbs.unpack(xorb, chunk) for chunk in found] == [data for data, _ in chunks]
    assert [chunk.scheme for chunk in found] == [scheme for _, scheme in chunks]
    assert found[-1].end == len(xorb)
    assert list(xorbs.scan(xorb + b"XETBLOB and the rest of a footer")) == found


def test_the_grouping_of_bytes_is_the_one_of_the_format() -> None:
    """From xet-core `bg4.rs`: all bytes at 0, 4, 8, …, then all at 1, 5, 9, …"""
    packed = xorbs.pack_chunk(bytes(range(10)), xorbs.GROUPED_LZ4)
    as_lz4 = packed[:4] + bytes([xorbs.LZ4]) + packed[5:]
    (chunk,) = xorbs.scan(as_lz4)
    assert xorbs.unpack(as_lz4, chunk) == bytes([0, 4, 8, 1, 5, 9, 2, 6, 3, 7])


@given(chunk_lists, st.data())
def test_a_cut_xorb_is_refused(chunks: list[tuple[bytes, int]], data: st.DataObject) -> None:
    packed = [xorbs.pack_chunk(one, scheme) for one, scheme in chunks]
    xorb = b"".join(packed)
    ends = {0, *itertools.accumulate(len(one) for one in packed)}
    cut = data.draw(st.integers(0, len(xorb)).filter(lambda place: place not in ends))
    with pytest.raises(xorbs.XorbError):
        list(xorbs.scan(xorb[:cut]))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_xorb_or_an_error(noise: bytes) -> None:
    try:
        for chunk in xorbs.scan(noise):
            xorbs.unpack(noise, chunk)
    except xorbs.XorbError:
        pass


@pytest.mark.parametrize("body", [b"no frame", b"", b"\x04\x22\x4d\x18"])
def test_a_chunk_that_does_not_unpack_is_refused(body: bytes) -> None:
    xorb = xorbs.header(len(body), xorbs.LZ4, 10) + body
    (chunk,) = xorbs.scan(xorb)
    with pytest.raises(xorbs.XorbError):
        xorbs.unpack(xorb, chunk)


def test_a_chunk_that_is_too_long_is_refused() -> None:
    with pytest.raises(xorbs.XorbError):
        xorbs.pack_chunk(bytes(xorbs.MAX_CHUNK_BYTES + 1))
    with pytest.raises(xorbs.XorbError):
        list(xorbs.scan(xorbs.header(0, xorbs.NONE, xorbs.MAX_CHUNK_BYTES + 1)))


@given(hashes)
def test_a_hash_is_text_and_bytes(text: str) -> None:
    assert hash_text(hash_bytes(text)) == text


def test_the_text_of_a_hash_is_little_endian_numbers() -> None:
    assert hash_text(bytes(range(32))) == "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918"


@given(st.lists(files, max_size=4))
def test_a_shard_gives_back_its_files(shard: list[ShardFile]) -> None:
    assert parse_shard(write_shard(shard)) == shard


@given(st.lists(files, min_size=1, max_size=3), st.data())
def test_a_cut_shard_is_refused(shard: list[ShardFile], data: st.DataObject) -> None:
    whole = write_shard(shard)
    end_of_files = len(whole) - 2 * ENTRY_BYTES + 40  # behind this the list of files is whole
    with pytest.raises(ShardError):
        parse_shard(whole[: data.draw(st.integers(0, end_of_files - 1))])


@given(st.binary(max_size=300))
def test_any_bytes_are_a_shard_or_an_error(noise: bytes) -> None:
    with pytest.raises(ShardError):
        parse_shard(noise)


class _Xorbs:
    """Xorbs in a folder, cut into chunks."""

    def __init__(self, folder: Path, parts: dict[str, list[bytes]]) -> None:
        self.folder = folder
        for name, chunks in parts.items():
            (folder / name).write_bytes(b"".join(xorbs.pack_chunk(chunk, xorbs.LZ4) for chunk in chunks))

    def xorb_path(self, xorb: str) -> Path:
        return self.folder / xorb

    def chunks(self, xorb: str) -> list[xorbs.Chunk]:
        return list(xorbs.scan(self.xorb_path(xorb).read_bytes()))


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6), min_size=1
    ),
    st.data(),
)
def test_a_reconstruction_is_enough_for_its_range(
    tmp_path_factory: pytest.TempPathFactory, parts: dict[str, list[bytes]], data: st.DataObject
) -> None:
    """What a client does: fetch byte ranges of xorbs, unpack, take the chunks of each term, cut the edges."""
    source = _Xorbs(tmp_path_factory.mktemp("xorbs"), parts)
    chosen = []
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(sorted(parts)))
        first = data.draw(st.integers(0, len(parts[name]) - 1))
        last = data.draw(st.integers(first + 1, len(parts[name])))
        chosen.append(Term(name, sum(map(len, parts[name][first:last])), first, last))
    whole = b"".join(b"".join(parts[term.xorb][term.start : term.end]) for term in chosen)
    packed = contents.PackedContent(tuple(chosen), len(whole), source)
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start + 1, len(whole)))

    assert b"".join(packed.read(start, end)) == whole[start:end]
    segments, skip = trim(packed.segments(), start, end)
    fetched: dict[tuple[str, int], bytes] = {}
    for name, row in merged(segments).items():
        for first, last, begin, behind, _route in row:
            raw = source.xorb_path(name).read_bytes()[begin:behind]
            unpacked = [xorbs.unpack(raw, chunk) for chunk in xorbs.scan(raw)]
            assert len(unpacked) == last - first
            fetched |= {(name, first + place): chunk for place, chunk in enumerate(unpacked)}
    rebuilt = b"".join(
        fetched[segment.xorb, segment.first + place] for segment in segments for place in range(len(segment.sizes))
    )
    assert rebuilt[skip : skip + end - start] == whole[start:end]


@pytest.mark.parametrize("size", [1, 65536, 65537, 32 * 1024 * 1024, 32 * 1024 * 1024 + 1])
def test_a_plain_file_is_shown_as_xorbs(tmp_path: Path, size: int) -> None:
    path = tmp_path / "plain"
    path.write_bytes(bytes(range(251)) * (size // 251 + 1))
    with path.open("r+b") as stream:
        stream.truncate(size)
    plain = contents.PlainContent(path, size, "f" * 64)
    rebuilt = []
    for index, segment in enumerate(plain.segments()):
        raw = plain.xorb(index)
        assert len(raw) == segment.offsets[-1]
        chunks = list(xorbs.scan(raw))
        assert [chunk.offset for chunk in chunks] == list(segment.offsets[:-1])
        assert [chunk.size for chunk in chunks] == list(segment.sizes)
        rebuilt += [xorbs.unpack(raw, chunk) for chunk in chunks]
    assert b"".join(rebuilt) == path.read_bytes()


@given(st.integers(1, 1000), st.integers(0, 1200), st.integers(0, 1200))
def test_a_range_lies_in_its_content(size: int, start: int, end: int) -> None:
    header = f"bytes={start}-{end}"
    if start >= size or end < start:
        with pytest.raises(HubError) as caught:
            parse_range(header, size)
        assert caught.value.status == 416
    else:
        assert parse_range(header, size) == (start, min(end + 1, size))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=-3", (7, 10)),
        ("bytes=-30", (0, 10)),
        ("bytes=4-", (4, 10)),
        ("lines=1-2", None),
        ("bytes=1-2,4-5", None),
    ],
)
def test_other_ranges(header: str | None, expected: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == expected

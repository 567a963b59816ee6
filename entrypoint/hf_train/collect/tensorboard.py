"""Scalars of a TensorBoard event file, without TensorBoard: a TFRecord walk and the few protobuf fields needed.

Format: each record is ``uint64 length, uint32 crc, data, uint32 crc`` (little-endian); data is an ``Event`` with
``step`` (2, varint) and ``summary`` (5), whose ``value`` (1) has ``tag`` (1), ``simple_value`` (2, float) or ``tensor``
(8: ``float_val`` 5, ``double_val`` 6, ``tensor_content`` 4). Checksums are not looked at: a damaged file gives what
can be read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from hf_train.collect.curve import Curves

MAX_TAGS = 400
_MAX_RECORD = 64 * 1024 * 1024


@dataclass(frozen=True)
class EventFile:
    """The scalars of one event file.

    Attributes:
        metrics: Last value of each tag.
        curve: Tag to ``(step, value)``, at most 500 points each.
        problems: What was wrong with the content.
    """

    metrics: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    curve: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[str, ...] = ()


def read_tensorboard_events(data: bytes) -> EventFile:
    """Read the scalars of an ``events.out.tfevents.*`` file.

    Args:
        data: Content of the file; it may end in the middle of a record.

    Returns:
        Last values and curves; never raises.
    """
    values: dict[str, float | None] = {}
    curves = Curves()
    problems: list[str] = []
    records = 0
    for record in _records(data, problems):
        records += 1
        try:
            _event(record, values, curves)
        except (ValueError, IndexError, struct.error):
            problems.append(f"record {records} is damaged")
            if len(problems) > 8:
                break
    if not records and not problems:
        problems.append("empty")
    return EventFile(MappingProxyType(values), MappingProxyType(dict(curves.finish(None))), tuple(problems))


def _records(data: bytes, problems: list[str]) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if length > _MAX_RECORD:
            problems.append("not an event file")
            return
        if at + 12 + length + 4 > len(data):
            problems.append("the last record is cut")
            return
        yield data[at + 12 : at + 12 + length]
        at += 16 + length
    if at < len(data):
        problems.append("the last record is cut" if at else "not an event file")


def _event(record: bytes, values: dict[str, float | None], curves: Curves) -> None:
    step = 0
    scalars: list[tuple[str, float]] = []
    for number, value in _fields(record):
        if number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            for inner, part in _fields(value):
                if inner == 1 and isinstance(part, bytes):
                    scalars += _scalar(part)
    for tag, scalar in scalars:
        if tag in values or len(values) < MAX_TAGS:
            values[tag] = scalar
            curves.add(tag, float(step), scalar)


def _scalar(part: bytes) -> Iterator[tuple[str, float]]:
    tag: str | None = None
    value: float | None = None
    for number, content in _fields(part):
        if number == 1 and isinstance(content, bytes):
            tag = content[:100].decode("utf-8", "replace")
        elif number == 2 and isinstance(content, float):
            value = content
        elif number == 8 and isinstance(content, bytes):
            value = _tensor(content)
    if tag is not None and value is not None:
        # A float of four bytes: seven significant digits are what was written.
        yield tag, float(f"{value:.7g}")


def _tensor(content: bytes) -> float | None:
    kind = 0
    for number, value in _fields(content):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number in {5, 6}:
            if isinstance(value, float):
                return value
            if isinstance(value, bytes) and len(value) == (4 if number == 5 else 8):
                return float(struct.unpack("<f" if number == 5 else "<d", value)[0])
        elif number == 4 and isinstance(value, bytes):
            if kind == 1 and len(value) == 4:
                return float(struct.unpack("<f", value)[0])
            if kind == 2 and len(value) == 8:
                return float(struct.unpack("<d", value)[0])
    return None


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of one protobuf message: number and value."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind == 1:
            yield key >> 3, float(struct.unpack_from("<d", data, at)[0])
            at += 8
        elif kind == 5:
            yield key >> 3, float(struct.unpack_from("<f", data, at)[0])
            at += 4
        elif kind == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                msg = "a field is longer than its message"
                raise ValueError(msg)
            yield key >> 3, data[at : at + length]
            at += length
        else:
            msg = "not a protobuf field"
            raise ValueError(msg)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
        if shift > 63:
            msg = "a number is too long"
            raise ValueError(msg)

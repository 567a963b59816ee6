"""Frozen values as JSON and back, by their type hints. What was written by an older or newer release is still read.

Reading is strict about types and lenient about fields: an unknown one is left out, a missing one gets its default. A
`Secret` is never written.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hf_train.values import Secret


def to_json(value: object) -> Any:
    """A value as what `json.dumps` takes."""
    if isinstance(value, Secret):
        return None
    if is_dataclass(value):
        return {one.name: to_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePosixPath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    return [to_json(one) for one in value] if isinstance(value, tuple | list) else value


def from_json(kind: Any, raw: Any) -> Any:
    """The value of a type that was written by `to_json`.

    Args:
        kind: The type: a dataclass, a scalar, `tuple[...]`, `Mapping[str, ...]`, a `Literal`, an enum, or a union.
        raw: What `json.loads` gave.

    Raises:
        ValueError: It is not one.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inside, raw)
    if origin is Literal:
        return _checked(raw, raw in inside)
    if origin is tuple:
        return _tuple(inside, raw)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _checked(raw, isinstance(raw, dict))
        return {str(name): from_json(inside[1], one) for name, one in raw.items()}
    if is_dataclass(kind):
        return _dataclass(kind, raw)
    return _scalar(kind, raw)


def _scalar(kind: Any, raw: Any) -> Any:
    if kind in (None, type(None), Secret):
        return _checked(None, raw is None)
    if kind is float:
        return float(_checked(raw, isinstance(raw, int | float) and not isinstance(raw, bool)))
    if kind in (str, int, bool):
        return _checked(raw, type(raw) is kind)
    _checked(raw, isinstance(raw, str | int))
    return datetime.fromisoformat(str(raw)) if kind is datetime else kind(raw)


def _one_of(kinds: tuple[Any, ...], raw: Any) -> Any:
    for kind in kinds:
        try:
            return from_json(kind, raw)
        except ValueError:
            continue
    return _checked(raw, False)


def _tuple(inside: tuple[Any, ...], raw: Any) -> tuple[Any, ...]:
    _checked(raw, isinstance(raw, list))
    if len(inside) == 2 and inside[1] is Ellipsis:
        return tuple(from_json(inside[0], one) for one in raw)
    _checked(raw, len(raw) == len(inside))
    return tuple(from_json(one, part) for one, part in zip(inside, raw, strict=True))


def _dataclass(kind: Any, raw: Any) -> Any:
    _checked(raw, isinstance(raw, dict))
    hints = _hints(kind)
    given = {}
    for one in fields(kind):
        if one.name in raw:
            given[one.name] = from_json(hints[one.name], raw[one.name])
        else:
            _checked(raw, one.default is not MISSING or one.default_factory is not MISSING)
    return kind(**given)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _checked(raw: Any, good: bool) -> Any:
    if not good:
        message = f"{str(raw)[:60]!r} is not what was expected here"
        raise ValueError(message)
    return raw

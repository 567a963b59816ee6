"""The fallback without mounts: what is a path in a text."""

from __future__ import annotations

import pytest

from hf_train.local_hub.executors.rewrite import replaced

PLACES = {"/code": "/j/0", "/data": "/j/1", "/data/sub": "/j/2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cp -r /code /tmp/p", "cp -r /j/0 /tmp/p"),
        ("/code/train.py", "/j/0/train.py"),
        ("--data=/data/sub/x:/code", "--data=/j/2/x:/j/0"),
        ("'/data'", "'/j/1'"),
        ("/code2 /x/code ./code /code.bak /data-old", "/code2 /x/code ./code /code.bak /data-old"),
        ("hf://buckets/a/data", "hf://buckets/a/data"),
        ("", ""),
    ],
)
def test_paths(text: str, expected: str) -> None:
    assert replaced(text, PLACES) == expected


def test_no_volumes() -> None:
    assert replaced("/code", {}) == "/code"

"""Byte ranges (RFC 9110, section 14) and answers that send a part of some content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hf_train.local_hub.calls import HubError


class Content(Protocol):
    """Some bytes that can be read in parts."""

    @property
    def size(self) -> int:
        """Length, bytes."""
        ...

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces."""
        ...


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """One byte range as `(start, end)`, end exclusive.

    Args:
        header: A `Range` header. None, another unit or several ranges give None: the whole content is the right
            answer then.
        size: Length of the content, bytes.

    Raises:
        HubError: 416 when the range lies behind the end.
    """
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", (header or "").replace(" ", ""))
    if found is None or found[1] == found[2] == "":
        return None
    if found[1] == "":
        start, end = max(0, size - int(found[2])), size
    else:
        start, end = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
    if start >= size or start >= end:
        raise HubError(416, "Requested range not satisfiable")
    return start, end


def content_answer(
    request: Request, content: Content, headers: Mapping[str, str], media_type: str = "application/octet-stream"
) -> Response:
    """A 200 or 206 answer with the content, or with its headers only for HEAD."""
    part = parse_range(request.headers.get("range"), content.size) if request.method == "GET" else None
    start, end = part or (0, content.size)
    all_headers = {**headers, "Accept-Ranges": "bytes", "Content-Length": str(end - start)}
    if part is not None:
        all_headers["Content-Range"] = f"bytes {start}-{end - 1}/{content.size}"
    if request.method == "HEAD":
        return Response(None, 200, headers=all_headers, media_type=media_type)
    return StreamingResponse(content.read(start, end), 206 if part else 200, headers=all_headers, media_type=media_type)

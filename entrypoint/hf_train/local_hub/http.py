"""Answers as the Hub words them: JSON bodies, error headers, dates and ids.

Source of the facts: huggingface_hub 2.4.0 `utils/_http.py` (it reads `X-Error-Code`, `X-Error-Message`,
`X-Request-Id` and the body's `error`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.responses import JSONResponse, Response


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """`2026-05-19T14:58:23.645Z`: milliseconds and `Z`, as the Hub writes dates."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def object_id() -> str:
    """A fresh id of 24 hex digits, as Jobs and accounts have."""
    return secrets.token_hex(12)


def error(
    status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None, **body: object
) -> Response:
    """An error answer.

    Args:
        status: HTTP status.
        message: Text for `error` in the body and for `X-Error-Message`.
        code: `RepoNotFound`, `RevisionNotFound`, `EntryNotFound`, `GatedRepo`, or None.
        headers: More headers.
        body: More keys of the JSON body (a 409 carries `url`).
    """
    # A header takes printable ASCII only; other characters would break the whole answer.
    ascii_message = re.sub(r"[^\x20-\x7e]", "?", re.sub(r"\s", " ", message))
    all_headers = {"X-Error-Message": ascii_message, "X-Request-Id": f"local-{object_id()}", **(headers or {})}
    if code:
        all_headers["X-Error-Code"] = code
    return JSONResponse({"error": message, **body}, status_code=status, headers=all_headers)

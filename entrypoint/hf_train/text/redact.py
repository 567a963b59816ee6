"""Known secrets, taken out of text in the coats that they come in. Pure."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, quote_plus

MINIMUM_SECRET = 6
"""Shorter values are left alone: they would blank half of the text (Buildkite's agent draws the line there too)."""
WRAPS = (64, 76)
"""Columns at which `openssl base64` and `base64` wrap."""


_SHAPES = re.compile(
    r"hf_(?:jwt_[\w.-]{20,}|[A-Za-z0-9]{34,})|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,}"
    r"|eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{0,1000}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,20000}?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)",
    re.DOTALL,
)
"""Tokens that nobody told us (minted in the Job, or of somebody else), by what nothing else looks like."""


class Redactor:
    """Takes known secrets out of text, and what looks like a token of the Hub or of GitHub, a JWT or a private key.

    Args:
        secrets: The values, each with its white space around; those shorter than six characters are left alone.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {coat for secret in secrets for coat in coats(secret)}
        self._coats = sorted(known, key=len, reverse=True)

    @property
    def coats(self) -> Sequence[str]:
        """Everything that is taken out, the longest first."""
        return self._coats

    def __call__(self, text: str) -> str:
        """The text with `***` where a secret stood; where two overlap, one for both."""
        if "hf_" in text or "gh" in text or "eyJ" in text or "github_" in text or "PRIVATE KEY" in text:
            text = _SHAPES.sub("***", text)
        found = [coat for coat in self._coats if coat in text]
        if not found:
            return text
        spans = sorted(span for coat in found for span in spans_of(coat, text))
        kept: list[str] = []
        end = 0
        for start, stop in spans:
            if start >= end:
                kept += [text[end:start], "***"]
            end = max(end, stop)
        return "".join([*kept, text[end:]])


def spans_of(coat: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text stands in another; the places may overlap."""
    at = text.find(coat)
    while at >= 0:
        yield at, at + len(coat)
        at = text.find(coat, at + 1)


def coats(secret: str) -> tuple[str, ...]:
    """The secret, its lines, the texts in it when it is JSON, and their usual encodings, of six characters and more."""
    whole = secret.strip()
    parts = dict.fromkeys([whole, *_lines(whole), *(line for text in _texts(whole) for line in (text, *_lines(text)))])
    found = dict.fromkeys(parts)
    for part in parts:
        if len(part) >= MINIMUM_SECRET:
            found |= dict.fromkeys(layer for one in _escaped(part) for layer in (one, *_escaped(one)))
    if len(whole) >= MINIMUM_SECRET:
        found |= dict.fromkeys(_encoded(whole))
    return tuple(coat for coat in found if len(coat) >= MINIMUM_SECRET)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def _texts(secret: str) -> list[str]:
    """Every string value of a secret that is JSON (a service account, for instance)."""
    if not secret.startswith(("{", "[")):
        return []
    try:
        left = [json.loads(secret)]
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one.strip())
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found


def _escaped(text: str) -> tuple[str, ...]:
    """As it stands in a string of JSON, Python or HTML; a log that quotes a log escapes it twice."""
    in_json = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return (*in_json, repr(text)[1:-1], html.escape(text), html.escape(text, quote=False))


def _encoded(secret: str) -> Iterator[str]:
    raw = _bytes(secret)
    for url in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield url
        yield "".join(f"%{part[:2].lower()}{part[2:]}" if i else part for i, part in enumerate(url.split("%")))
    yield raw.hex()
    yield raw.hex().upper()
    yield secret[::-1]
    yield from _escaped(secret[::-1])
    for shift in range(3):  # base64 at each alignment, without the characters that its neighbours share
        padded = base64.b64encode(b"\0" * shift + raw)[(0, 2, 3)[shift] :].rstrip(b"=")
        inner = padded[: -1 if (shift + len(raw)) % 3 else None].decode()
        yield inner
        yield inner.replace("+", "-").replace("/", "_")
    plain = base64.b64encode(raw).decode()
    for width in WRAPS:
        if len(plain) > width:
            yield from (plain[at : at + width].rstrip("=") for at in range(0, len(plain), width))


def _bytes(secret: str) -> bytes:
    """The bytes of an environment variable, which need not be UTF-8."""
    try:
        return secret.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return secret.encode("utf-8", "surrogatepass")

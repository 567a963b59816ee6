"""Numbers, times, money and foreign text, for people and for GitHub's Markdown."""

from __future__ import annotations

import math
import re

# Besides control characters: what is not seen, turns the reading direction, or carries hidden text (tags, selectors).
_UNSEEN = (
    r"\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
_CONTROL = re.compile(rf"[\x00-\x1f{_UNSEEN}]")
_CONTROL_IN_BLOCK = re.compile(rf"[\x00-\x08\x0b-\x1f{_UNSEEN}]")
_URL = re.compile(r"https?://[A-Za-z0-9.\[\]:_~-]+(?:/[A-Za-z0-9._~:/?#@!$&'*+,;=%-]*)?")


MAX_UNITS = 60_000
"""GitHub refuses a comment of more than 65,536 characters; counted here in UTF-16 units, with room to spare."""
DASH = "\u2013"
"""Stands for what is not known."""


def fits(text: str) -> bool:
    """Whether GitHub takes a comment of this length."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 < MAX_UNITS


def duration(seconds: float | None) -> str:
    """`41 s`, `12 min 4 s`, `3 h 07 min`; a dash when it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def money(amount: float | None) -> str:
    """US dollars; cents below a cent are shown with four digits; a dash when it is not known."""
    if amount is None or not math.isfinite(amount):
        return DASH
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:,.2f}"


def number(value: float) -> str:
    """Four significant digits, whole numbers whole, tiny and huge ones with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}" if abs(value) < 1e9 else f"{value:.3e}"
    return f"{value:.4g}"


def one_line(text: str, limit: int = 300) -> str:
    """A foreign text on one line, without control characters, cut."""
    flat = _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()
    return flat if len(flat) <= limit else f"{flat[:limit]}…"


def code(text: str, limit: int = 300) -> str:
    """A foreign text as a code span: inert for mentions, links and HTML.

    The fence is longer than any run of backticks inside (CommonMark 0.31, 6.1).
    """
    flat = one_line(text, limit)
    if not flat:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if flat.startswith("`") or flat.endswith("`") or longest else ""
    return f"{fence}{padding}{flat}{padding}{fence}"


def cell(text: str, limit: int = 300) -> str:
    """A foreign text as a code span in a table, where `|` is escaped even in code (GFM 4.10)."""
    return code(text, limit).replace("|", "\\|")


def block(text: str, language: str = "") -> str:
    """A foreign text as a fenced block that it cannot close; blanks and tabs stay, so that a command can be copied."""
    body = _CONTROL_IN_BLOCK.sub(" ", text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8"))
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def link(text: str, url: str) -> str:
    """A link whose text is a code span; only the text when the address is not a plain http(s) one."""
    return anchor(code(text), url)


def anchor(markdown: str, url: str) -> str:
    """A link whose text is Markdown of ours; only the text when the address is not a plain http(s) one."""
    plain = _URL.fullmatch(url) and "(" not in url and ")" not in url
    # `&lt;` in an address would be read as an entity, and the link would lead elsewhere.
    return f"[{markdown}]({url.replace('&', '&amp;')})" if plain else markdown

"""A section of ours in somebody's Markdown: between two marks, replaced by the next one, never there twice. Pure."""

from __future__ import annotations

import re


def marks(name: str) -> tuple[str, str]:
    """The hidden lines before and after the section of this name."""
    return f"<!-- hf-train:{name}:begin -->", f"<!-- hf-train:{name}:end -->"


def section(name: str, body: str) -> str:
    """The section, with its marks. Nothing in the body can end it: no comment opens there."""
    begin, end = marks(name)
    return f"{begin}\n{body.replace('<!--', '&lt;!--').strip()}\n{end}"


def without(text: str, name: str) -> str:
    """The text without any section of this name.

    What stands around it is somebody else's, who can write our marks too: only what lies between a begin and the next
    end goes, and a mark that stands alone goes without what follows it.
    """
    begin, end = marks(name)
    kept: list[str] = []
    held: list[str] | None = None
    for piece in re.split(f"({re.escape(begin)}|{re.escape(end)})", text):
        if piece == begin:
            kept += held or ()
            held = []
        elif piece == end:
            held = None
        elif held is not None:
            held.append(piece)
        else:
            kept.append(piece)
    return "".join([*kept, *(held or ())])


def at_end(text: str, name: str, body: str) -> str:
    """The text with the section at its end, instead of any that it had."""
    rest = without(text, name).rstrip()
    return f"{rest}\n\n{section(name, body)}\n" if rest else f"{section(name, body)}\n"

"""A comment as the tree that a GFM parser makes of it, and what of that tree we did not write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from unit.report.hostile import CANARY

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# What GitHub makes of plain text besides (GFM 0.29 6.9 and GitHub's own references).
_REFERENCES = re.compile(
    r"(?<![\w/])@\w|(?<!\w)#\d|\bGH-\d|[\w.-]+/[\w.-]+[#@]\w|\bwww\.|\b(?:https?|ftp|mailto|xmpp):|[\w.+-]+@[\w-]+\.\w|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)
_TAGS = {"details", "summary", "sub", "code"}
_BLOCKS = {
    "paragraph_open", "paragraph_close", "heading_open", "heading_close", "inline", "fence", "html_block",
    "bullet_list_open",
    "bullet_list_close", "list_item_open", "list_item_close", "blockquote_open", "blockquote_close", "table_open",
    "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close", "th_open",
    "th_close",
    "td_open", "td_close",
}  # fmt: skip
_INLINES = {
    "text", "code_inline", "strong_open", "strong_close", "link_open", "link_close", "html_inline", "softbreak",
    "hardbreak",
}  # fmt: skip


class _Html(HTMLParser):
    """Collects what raw HTML says, and what in it is not ours."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.foreign: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS or attrs:
            self.foreign.append(f"<{tag} {attrs}>")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _TAGS:
            self.foreign.append(f"</{tag}>")
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if "code" not in self._open and (CANARY in data or _REFERENCES.search(data)):
            self.foreign.append(data)

    def handle_comment(self, data: str) -> None:
        if not re.fullmatch(r" hf-train(:[^<>]*|-result:[0-9a-f]{16}(:\d+\.\d+)?) ", data):
            self.foreign.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.foreign.append(decl)

    def handle_pi(self, data: str) -> None:
        self.foreign.append(data)

    def unknown_decl(self, data: str) -> None:
        self.foreign.append(data)


def foreign_nodes(markdown: str, links: Sequence[str]) -> list[str]:
    """What stands in the tree and is not ours.

    Args:
        markdown: The comment.
        links: Addresses that we mean to link to.
    """
    tokens = _PARSER.parse(markdown)
    found = [f"block {token.type}" for token in tokens if token.type not in _BLOCKS]
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    if headings not in ([], ["h3"]):
        found.append(f"headings {headings}")
    html = _Html()
    for token in tokens:
        if token.type == "html_block":
            html.feed(token.content + "\n")
    html.close()
    allowed = {_PARSER.normalizeLink(address) for address in links}
    return [*found, *html.foreign, *_inlines(tokens, allowed), *_tables(tokens)]


def _inlines(tokens: Sequence[Token], allowed: set[str]) -> Iterator[str]:
    for inline in tokens:
        for token in inline.children or []:
            if token.type not in _INLINES:
                yield f"inline {token.type} {token.content}"
            elif token.type == "html_inline" and token.content not in {"<sub>", "</sub>"}:
                yield token.content
            elif token.type == "link_open" and token.attrGet("href") not in allowed:
                yield f"link {token.attrGet('href')}"
            elif token.type == "text" and (CANARY in token.content or _REFERENCES.search(token.content)):
                yield f"text {token.content!r}"


def _tables(tokens: Sequence[Token]) -> Iterator[str]:
    """GitHub drops cells that are too many and adds those that lack: both would mean that a name had made a cell."""
    columns, cells = 0, 0
    for token in tokens:
        if token.type == "thead_open":
            columns = 0
        if token.type == "tr_open":
            cells = 0
        if token.type in {"th_open", "td_open"}:
            cells += 1
        if token.type == "tr_close":
            columns = columns or cells
            if cells != columns:
                yield f"row of {cells} cells in a table of {columns}"

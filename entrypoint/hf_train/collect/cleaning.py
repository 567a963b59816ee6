"""From the bytes of a Job's log to clean text segments.

All rules of reference §1.0: UTF-8 with replacement (UTF-16 by its byte-order mark or its NUL pattern), every
carriage return, backspace run and cursor move starts a new segment (a progress bar rewrites its line, and each
state is a candidate), colours and OSC sequences vanish, an endless line is cut. The result does not depend on
where the chunks were cut, and no more than one line is held.
"""

from __future__ import annotations

import codecs
import re

MAX_LINE = 32_768
"""Characters kept of one segment; the rest is dropped. The longest real metric line seen is below 4,000."""

_HEAD = 4  # bytes needed to tell the encoding, and an archive from a text
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zX": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_CURSOR = re.compile(r"\x1b\[[0-9;?]*[ABCDEFGHJKSTfnsu]|\x08+")
_CSI = re.compile(r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]")
_OSC = re.compile(r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[()][A-Z0-9]|\x1b[=>78NOMc]")
_RANK = re.compile(
    r"^\s*\[(?:default|local_)?rank\s?:?\s?(\d{1,5})\]:?\s?|\[RANK[ :](\d{1,5})\]|\[Rank (\d{1,5})\]", re.IGNORECASE
)
_PREFIX = re.compile(
    r"""\s*(?:
        \[\s*\d+(?:\.\d+)?s?\]\s?                                        # [  169.9s]  [80746]
      | \[(?:default)?\d*:?rank\s?:?\s?\d+\]:?\s?                         # [rank1]:  [rank: 3]
      | \[(?:rank|RANK|Rank)[ :]\d+\]\s?
      | \[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?\s
      | \[?\d\d[/-]\d\d(?:[/-]\d{2,4})?\ \d\d:\d\d:\d\d(?:[.,]\d+)?\]?:?\s  # 12/02/2026 03:43:56
      | \[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s
      | \[(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)(?:\|[^\]\n]{1,80})?\]:?\s?   # [INFO|trainer.py:1]
      | (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?:\s*[:|-]\s*|\s+(?=\S+:\s))
      | \[[\w.]{2,60}(?::\w+)?(?::\d+)?(?::\w+)?\]\s                      # [axolotl.train]
      | \(\w+\ pid=\d+(?:,\ ip=[\d.]+)?\)\s                               # (ray pid=12)
      | >\s
    )""",
    re.VERBOSE,
)


_SEPARATOR = re.compile(r"\s?(?:\|\s|-\s)")


class Segments:
    """Turns chunks of bytes into clean segments, one pass, with at most one line in memory.

    Attributes:
        encoding: What was detected (``utf-8``, ``utf-16-le``, ``utf-16-be``), ``utf-8`` until four bytes came.
        characters: Characters seen so far.
        unreadable: NUL characters and bytes that were not text.
        long_lines: Segments that were cut at `MAX_LINE`.
        packed: The format of a compressed file, which is not read; empty for a log.
    """

    def __init__(self) -> None:
        self.encoding = "utf-8"
        self.characters = 0
        self.unreadable = 0
        self.long_lines = 0
        self.packed = ""
        self._head: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._held = 0
        self._dropping = False

    @property
    def no_text(self) -> bool:
        """Whether the input is no log: compressed, or more than 3 % of its characters are not text."""
        return bool(self.packed) or (self.unreadable > 8 and self.unreadable * 33 > self.characters)

    def feed(self, chunk: bytes | str) -> list[str]:
        """Take a chunk; return the segments that it finished, cleaned, without empty ones."""
        data = chunk.encode("utf-8", "replace") if isinstance(chunk, str) else bytes(chunk)
        if self._head is not None:
            self._head += data
            if len(self._head) < _HEAD:
                return []
            data = self._begin()
        if self.packed:
            return []
        return self._take(self._decoder.decode(data))

    def close(self) -> tuple[list[str], list[str]]:
        """End the stream.

        Returns:
            The segments that were still held back, and those of the last line, which may be cut.
        """
        done: list[str] = []
        if self._head is not None:
            done = self._take(self._decoder.decode(self._begin()))
        done += self._take(self._decoder.decode(b"", final=True))
        rest = "".join(self._parts)
        self._parts, self._held = [], 0
        pieces = [piece for piece in clean(rest) if piece and not piece.isspace()]
        if rest and pieces and not rest.isspace():
            # Only the piece after the last cursor move can be cut.
            return done + pieces[:-1], pieces[-1:]
        return done, []

    def _begin(self) -> bytes:
        head = self._head or b""
        self._head = None
        self.packed = next((name for magic, name in _PACKED.items() if head.startswith(magic)), "")
        if self.packed:
            return b""
        self.encoding, skip = _encoding(head[:_HEAD])
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        return head[skip:]

    def _take(self, text: str) -> list[str]:
        if not text:
            return []
        self.characters += len(text)
        self.unreadable += text.count("\ufffd") + text.count("\x00")
        if "\r" in text:
            text = text.replace("\r", "\n")
        end = text.rfind("\n")
        if end < 0:
            self._hold(text)
            return []
        lines = text[:end].split("\n")
        if self._held or self._dropping:
            self._hold(lines[0])
            lines[0] = "".join(self._parts)
        self._parts, self._held, self._dropping = [], 0, False
        self._hold(text[end + 1 :])
        return self._finish(lines, rewritten="\x1b" in text or "\x08" in text or "\x1b" in lines[0])

    def _hold(self, text: str) -> None:
        room = MAX_LINE - self._held
        if len(text) > room:
            text = text[:room]
            if not self._dropping:
                self._dropping = True
                self.long_lines += 1
        if text:
            self._parts.append(text)
            self._held += len(text)

    def _finish(self, lines: list[str], *, rewritten: bool) -> list[str]:
        if not rewritten and max(map(len, lines)) < MAX_LINE and "\x08" not in lines[0]:
            return [line for line in lines if line and not line.isspace()]
        done: list[str] = []
        for line in lines:
            if len(line) > MAX_LINE:
                self.long_lines += 1
            if len(line) >= MAX_LINE:
                # A cut line ends at its last delimiter, so that no number is shortened.
                line = whole_tokens(line[:MAX_LINE])  # noqa: PLW2901
            done += [piece for piece in clean(line) if piece and not piece.isspace()]
        return done


def clean(line: str) -> list[str]:
    """Split one raw line at cursor moves and backspaces, and take the other escape sequences out."""
    if "\x1b" in line or "\x08" in line:
        line = _CURSOR.sub("\n", line)
        if "\x1b" in line:
            line = _CSI.sub("", _OSC.sub("", line))
    return line.split("\n")


def whole_tokens(text: str) -> str:
    """The text up to its last delimiter: what stands behind it may be cut in the middle of a number."""
    for index in range(len(text) - 1, -1, -1):
        # A comma may be a decimal comma, unless something else than a digit follows.
        if text[index] in " \t;|)]}%│┃" or (text[index] == "," and not text[index + 1 : index + 2].isdigit()):
            if text[index] == "," and index + 1 == len(text):
                continue
            return text[: index + 1]
    return ""


def rank_of(text: str) -> int | None:
    """The rank that printed the line (``[rank1]:``, ``[rank: 3]``, ``[RANK 0]``), or None."""
    if "ank" not in text and "ANK" not in text:
        return None
    found = _RANK.search(text)
    if not found:
        return None
    return int(found[1] or found[2] or found[3])


def without_rank(text: str) -> str:
    """The line without a leading ``[rankN]:``."""
    found = _RANK.match(text)
    return text[found.end() :] if found and found[1] else text


def payload(text: str) -> str:
    """The line without the prefixes that loggers and launchers put in front (clocks, ranks, levels)."""
    start = 0
    for _ in range(8):
        # Separators belong to a prefix only behind one: a line may be a table or a list.
        found = _PREFIX.match(text, start) or (_SEPARATOR.match(text, start) if start else None)
        if not found or found.end() == start:
            break
        start = found.end()
    return text[start:]


def _encoding(head: bytes) -> tuple[str, int]:
    """Encoding and length of the byte-order mark, from the first four bytes."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", 2
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    if len(head) == _HEAD:
        if head[1] == head[3] == 0 and head[0] and head[2]:
            return "utf-16-le", 0
        if head[0] == head[2] == 0 and head[1] and head[3]:
            return "utf-16-be", 0
    return "utf-8", 0

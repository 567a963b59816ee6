r"""Text that a stranger wrote, made safe to print in a runner's log. Pure.

The runner obeys `::command::` at the start of a line (after trimming white space) and `##[command]` anywhere in a line,
and takes `\r` for a line end as well (actions/runner `ActionCommand.cs`; reference cases 1 and 8). It compares by
culture, where some characters count for nothing, so these may stand between. So: split as the runner splits, strip
terminal control first (stripping last would build new commands), redact what is then seen, disarm, cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hf_train.text.redact import Redactor

__all__ = ["Redactor", "bar", "clean", "disarm", "is_harmless", "printable", "redacted_line"]

MAX_LINE = 8192
_LINE_ENDS = re.compile(r"\r\n|\n|\r|\x0b|\x0c|\x1c|\x1d|\x1e|\x85|\u2028|\u2029")
_OSC = re.compile(r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)", re.DOTALL)
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?")
_ESC = re.compile(r"\x1b[ -/]*[0-~]?")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# Marks and fillers that are text, so they stay, and that a comparison by culture passes over.
_PASSED_OVER = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
_LEADING = re.compile(rf"([\s{_PASSED_OVER}]*)(?=:[{_PASSED_OVER}]*:)")
_HASHES = re.compile(rf"#[{_PASSED_OVER}]*#[{_PASSED_OVER}]*(?=\[|vso\[)")


_SHARE = re.compile(r"\d%|\d/\d|\d of \d")
_DRAWN = re.compile(
    r"[\u2501\u2578-\u257b\u2580-\u259f\u25a0\u25a1\u25ac\u28c0-\u28ff]{2}|[|\[][#=>.\s-]{3,}[|\]]"
    r"|[\dkMGT] ?[A-Za-z]{1,12}/s\b|\ds/[a-z]{1,12}\b|\d ?m?s/step"
)
_MOVING = re.compile(r"[^A-Za-z]+|(?<=\d)[kKMGT]i?B\b")


def clean(text: str) -> list[str]:
    """Lines without terminal control, split as the runner splits."""
    plain = _OSC.sub("", text)
    plain = _ESC.sub("", _CSI.sub("", plain))
    return [_CONTROL.sub("", line) for line in _LINE_ENDS.split(_surrogates(plain))]


def _surrogates(text: str) -> str:
    """Lone surrogates cannot be written in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def disarm(line: str) -> str:
    """A clean line that no runner takes for a command, cut to a bearable length."""
    safe = _HASHES.sub(r"\g<0>\\", line)
    if leading := _LEADING.match(safe):
        safe = f"{leading[1]}\\{safe[leading.end() :]}"
    if len(safe) > MAX_LINE:
        safe = f"{safe[:MAX_LINE]} ... (+{len(safe) - MAX_LINE} characters)"
    return safe


def printable(text: str, redact: Callable[[str], str] = str) -> list[str]:
    r"""Safe lines for the log. Of a run of `\r` segments (a progress bar) only the last with content is kept.

    Args:
        text: What was printed.
        redact: Takes secrets out; before the cleaning and after it, for a secret may be broken by what is stripped.
    """
    text = redact(text)
    if is_harmless(text):
        return [text]
    lines: list[str] = []
    for physical in text.split("\n"):
        segments = [segment for segment in physical.split("\r") if segment.strip()]
        lines += [disarm(redact(line)) for line in clean(segments[-1] if segments else "")]
    return lines


def bar(line: str) -> str:
    """What stays the same while a progress bar is drawn again and again; empty for any other line.

    A bar has a share (`12%`, `3/40`) and a drawing or a speed (tqdm, rich, Keras, pip, Lightning): lines that only
    differ in their numbers may be metrics, and each of those counts.
    """
    if not _SHARE.search(line) or not _DRAWN.search(line):
        return ""
    return _MOVING.sub("", line) or "bar"


def redacted_line(line: str, redact: Callable[[str], str]) -> str:
    """A line as it was printed, without secrets; one that hides a secret between control characters is cleaned."""
    kept = redact(line)
    if kept.isprintable():
        return kept
    seen = "\n".join(clean(kept))
    safe = redact(seen)
    return kept if safe == seen else safe


def is_harmless(text: str) -> bool:
    """The common case, cheaply: no control or format character of any kind (`str.isprintable`), and no command."""
    if not text.isprintable() or len(text) > MAX_LINE or _LEADING.match(text):
        return False
    return "#" not in text or not _HASHES.search(text)

r"""Text that a stranger wrote, made safe to print in a runner's log. Pure.

The runner obeys `::command::` at the start of a line (after trimming white space) and `##[command]` anywhere in a line,
and takes `\r` for a line end as well (actions/runner `ActionCommand.cs`; reference cases 1 and 8). So: split as the
runner splits, strip terminal control first (stripping last would build new commands), then disarm.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

MAX_LINE = 8192
_LINE_ENDS = re.compile(r"\r\n|\n|\r|\x0b|\x0c|\x1c|\x1d|\x1e|\x85|\u2028|\u2029")
_OSC = re.compile(r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)", re.DOTALL)
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?")
_ESC = re.compile(r"\x1b[ -/]*[0-~]?")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
MINIMUM_SECRET = 6


def clean(text: str) -> list[str]:
    """Lines without terminal control, split as the runner splits."""
    plain = _OSC.sub("", text)
    plain = _ESC.sub("", _CSI.sub("", plain))
    return [_CONTROL.sub("", line).replace("\ud800", "\ufffd") for line in _LINE_ENDS.split(_surrogates(plain))]


def _surrogates(text: str) -> str:
    """Lone surrogates cannot be written in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def disarm(line: str) -> str:
    """A clean line that no runner takes for a command, cut to a bearable length."""
    safe = line.replace("##[", "##\u200b[").replace("##vso[", "##\u200bvso[")
    if safe.lstrip().startswith("::"):
        safe = safe.replace("::", ":\u200b:", 1)
    if len(safe) > MAX_LINE:
        safe = f"{safe[:MAX_LINE]} ... (+{len(safe) - MAX_LINE} characters)"
    return safe


def printable(text: str) -> list[str]:
    r"""Safe lines for the log. Of a run of `\r` segments (a progress bar) only the last with content is kept."""
    if _is_harmless(text):
        return [text]
    lines: list[str] = []
    for physical in text.split("\n"):
        segments = [segment for segment in physical.split("\r") if segment.strip()]
        lines += [disarm(line) for line in clean(segments[-1] if segments else "")]
    return lines


def _is_harmless(text: str) -> bool:
    """The common case, cheaply: no control or format character of any kind (`str.isprintable`), and no command."""
    return text.isprintable() and len(text) <= MAX_LINE and "##" not in text and not text.lstrip().startswith("::")


class Redactor:
    """Takes known secrets out of text, in the coats that they come in.

    Args:
        secrets: The values. Those shorter than six characters are left alone: they would blank half of the text.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        coats = {coat for secret in secrets for coat in _coats(secret) if len(coat) >= MINIMUM_SECRET}
        longest_first = sorted(coats, key=len, reverse=True)
        self._pattern = re.compile("|".join(re.escape(coat) for coat in longest_first)) if coats else None

    def __call__(self, text: str) -> str:
        """The text with `***` where a secret stood."""
        return self._pattern.sub("***", text) if self._pattern else text


def _coats(secret: str) -> Sequence[str]:
    """The secret itself, each of its lines, and its usual encodings."""
    raw = secret.encode("utf-8", "surrogatepass")
    lines = [line.strip() for line in secret.splitlines() if len(line.strip()) >= MINIMUM_SECRET]
    coats = [secret, *lines, json.dumps(secret)[1:-1], quote(secret, safe=""), raw.hex(), raw.hex().upper()]
    for shift in range(3):  # base64 at each alignment, without the characters that its neighbours share
        padded = base64.b64encode(b"\0" * shift + raw)[(0, 2, 3)[shift] :].rstrip(b"=")
        inner = padded[: -1 if (shift + len(raw)) % 3 else None].decode()
        coats += [inner, inner.replace("+", "-").replace("/", "_")]
    return coats

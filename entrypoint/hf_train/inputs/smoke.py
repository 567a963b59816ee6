"""The input `smoke`: a small block of `key: value` lines."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from hf_train.inputs import grammar

KEYS = ("flavor", "args", "timeout")
DEFAULT_TIMEOUT_S = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Smoke:
    """A short Job before the full one.

    Attributes:
        flavor: Its hardware; None for that of the full run.
        args: What is added to the end of the command, where most parsers let the last word win.
        timeout_s: Seconds after which the Hub ends it.
    """

    flavor: str | None = None
    args: tuple[str, ...] = ()
    timeout_s: int = DEFAULT_TIMEOUT_S


def smoke(lines: Sequence[str]) -> Smoke:
    """The block.

    Raises:
        ValueError: With what is wrong with it, for the user.
    """
    given: dict[str, str] = {}
    for line in lines:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key not in KEYS:
            close = difflib.get_close_matches(key, KEYS, n=1)
            suggestion = f"; did you mean {close[0]}?" if close and close[0] != key else ""
            message = f"{line!r} is not one of the lines flavor: NAME, args: WORDS, timeout: DURATION{suggestion}"
            raise ValueError(message)
        if key in given:
            message = f"{key} is given twice"
            raise ValueError(message)
        given[key] = value
    flavor, timeout = given.get("flavor"), given.get("timeout")
    return Smoke(
        flavor=grammar.flavor(flavor) if flavor else None,
        args=_words(given.get("args", "")),
        timeout_s=grammar.duration(timeout) if timeout else DEFAULT_TIMEOUT_S,
    )


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        message = f"{text!r} cannot be split into words ({error}); check its quotes"
        raise ValueError(message) from None

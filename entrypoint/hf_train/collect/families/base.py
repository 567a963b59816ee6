"""What a family of log formats is: a name, cheap needles, and a reader of one segment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hf_train.collect.ledger import Ledger

Read = Callable[[str], bool]
"""Reads one segment into the ledger; True when the segment is the family's and no other needs to see it."""


@dataclass(frozen=True)
class Family:
    """One row of the table of families.

    Attributes:
        name: Name for people.
        needles: Substrings, one of which every segment of the family holds. They are the prefilter: most lines of a
            log hold none, and only a line with one is looked at.
        make: Builds the reader for one log; it may keep state in a closure or an object.
        closed: Whether the format shows its own end (a brace, a bracket). Then a last line without line feed is
            read as it is; otherwise only up to its last delimiter, so that a cut number is never taken.
        wants: A second, finer prefilter on the segment without its digits. It is asked once for all segments that
            differ only in their digits.
    """

    name: str
    needles: tuple[str, ...]
    make: Callable[[Ledger], Read]
    closed: bool = False
    wants: Callable[[str], bool] | None = None

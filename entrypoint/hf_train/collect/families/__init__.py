"""The families of log formats. A new one is a file here and a row in `FAMILIES`."""

from __future__ import annotations

from hf_train.collect.families import bars, blocks, contract, dicts, endings, jsonlines
from hf_train.collect.families.base import Family, Read

FAMILIES: tuple[Family, ...] = (
    contract.FAMILY,
    endings.FAMILY,
    dicts.OUTPUT,
    dicts.FAMILY,
    jsonlines.FAMILY,
    blocks.FAMILY,
    bars.FAMILY,
)
"""In the order in which a segment is offered; the first that claims it ends the round."""

__all__ = ["FAMILIES", "Family", "Read"]

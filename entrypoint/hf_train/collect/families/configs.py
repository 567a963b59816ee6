"""Configurations that a log prints: Axolotl's JSON dump, unsloth/jobs' header, launchers' argument lists.

They name the repo to push to, which no other line may; they hold no metric. Sources: reference §1.3, §1.4.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import Ledger
from hf_train.collect.links import REPO

_ID = re.compile(rf"""\bhub_model_id\\?["']?\s*[:=,\s]\s*\\?["']?((?:{REPO}/)?{REPO})""")
_OUTPUT = re.compile(rf"\bOutput repo:\s+({REPO}/{REPO})\s*$")
_NOTHING = frozenset({"null", "None", "none", "true", "false", "is", "to", "and", "in", "from", "for"})


class _Configs:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = _ID.search(text) or _OUTPUT.search(text)
        if found:
            name = found[1].rstrip(".")
            if name not in _NOTHING:
                self._ledger.configure(name)
        return False


def _make(ledger: Ledger) -> Read:
    return _Configs(ledger).read


FAMILY = Family("printed configurations (Axolotl, unsloth/jobs)", ("hub_model_id", "Output repo:"), _make)

"""Lines by which libraries say that a training, a test or a push is over; success, and no metric.

Sources: reference §1.1 to §1.10.
"""

from __future__ import annotations

import re

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import Ledger

_ENDS = re.compile(
    r"""
      Training\ completed | ✅\ Training | 💾\ Model\ saved | Model\ successfully\ saved\ to   # TRL, Axolotl
    | `?Trainer\.fit`?\ stopped:\ `?max_                                                       # Lightning
    | Signaling\ Trainer\ to\ stop | EarlyStopping:\ Training\ stopped | :\ early\ stopping\s*$
    | \d+\ epochs\ completed\ in                                                               # YOLO
    | Model\ pushed\ to\ the\ Hub\ in | ✓\ Uploaded                                            # TRL, hf upload
    | (?:Adapter|[Mm]erged\ model|Model)\ available\ at:                                       # unsloth/jobs
    | Model\ weights\ saved\ in\ \S+pytorch_lora_weights                                       # Diffusers
    | Saved\ pipeline\ to\ output\ directory                                                     # spaCy
    | Waiting\ for\ W&B\ process\ to\ finish\.\.\.\ \(success\)                # wandb
    | COMMAND_EXIT_CODE="0"                                                                    # script(1)
    | Training\ (?:is\ )?(?:finished|done|complete)\b | Finished\ training
    """,
    re.VERBOSE,
)


def _make(ledger: Ledger) -> Read:
    def read(text: str) -> bool:
        if _ENDS.search(text):
            ledger.success()
        return False

    return read


FAMILY = Family(
    "endings",
    (
        "Training completed", "raining complete", "✅ Training", "odel saved", "successfully saved",
        "stopped:", "Signaling Trainer",
        "early stopping", "epochs completed in", "pushed to the Hub", "✓ Uploaded", "vailable at:",
        "pytorch_lora_weights", "Saved pipeline",
        "W&B process", "EXIT_CODE=", "Training finished", "Training done", "Training is", "Finished training",
    ),
    _make,
)  # fmt: skip

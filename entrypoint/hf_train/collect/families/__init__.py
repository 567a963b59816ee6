"""The families of log formats. A new one is a file here and a row in `FAMILIES`."""

from __future__ import annotations

from hf_train.collect.families import (
    bars,
    blocks,
    boosting,
    coco,
    columns,
    configs,
    contract,
    dicts,
    endings,
    espnet,
    headings,
    jsonlines,
    keras,
    keyvalue,
    lightning,
    lm_eval,
    reports,
    sentence_transformers,
    spacy,
    trl,
    unsloth,
    wandb,
    yolo,
)
from hf_train.collect.families.base import Family, Read

FAMILIES: tuple[Family, ...] = (
    trl.FAMILY,
    contract.FAMILY,
    headings.FAMILY,
    endings.FAMILY,
    configs.FAMILY,
    dicts.OUTPUT,
    dicts.FAMILY,
    jsonlines.FAMILY,
    blocks.FAMILY,
    unsloth.FAMILY,
    yolo.FAMILY,
    lightning.FAMILY,
    keras.FAMILY,
    sentence_transformers.FAMILY,
    bars.FAMILY,
    coco.FAMILY,
    boosting.FAMILY,
    espnet.FAMILY,
    reports.FAMILY,
    spacy.FAMILY,
    wandb.FAMILY,
    lm_eval.FAMILY,
    columns.FAMILY,
    keyvalue.PLANNED,
    keyvalue.FAMILY,
)
"""In the order in which a segment is offered; the first that claims it ends the round."""

__all__ = ["FAMILIES", "Family", "Read"]

"""What a run leaves in the bucket at its launch, so that another can finish its report. Without secrets. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hf_train.codec import from_json, to_json
from hf_train.context import Context
from hf_train.inputs import Inputs
from hf_train.plan import Plan
from hf_train.values import Attempt, JobState, Snapshot

SCHEMA = "hf-train/run/1"
ROOT = "runs"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFile:
    """One launch: all that its report is made from, beside the Job itself.

    Attributes:
        plan: What was planned.
        inputs: The inputs, without the tokens.
        context: Where it was started.
        snapshot: What was sent.
        earlier: Jobs of the run that had ended before: its smoke run, tries that the platform ended.
    """

    plan: Plan
    inputs: Inputs
    context: Context
    snapshot: Snapshot | None = None
    earlier: tuple[Attempt, ...] = ()


def folder(nonce: str) -> str:
    """Folder of a launch in the bucket; a nonce is a random word of ours, or a label that anybody can write."""
    return f"{ROOT}/{''.join(sign for sign in nonce if sign.isalnum())[:64] or 'none'}"


def written(run: RunFile) -> str:
    """The file."""
    return json.dumps({"schema": SCHEMA, **to_json(run)}) + "\n"


def read(text: str) -> RunFile | None:
    """The launch that a file describes; None when it is not one, or one that this release cannot read."""
    try:
        raw = json.loads(text)
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            return None
        run: RunFile = from_json(RunFile, raw)
    except (ValueError, TypeError, RecursionError):
        return None
    return run


def fits(run: RunFile, job: JobState) -> str:
    """Why a Job is not the one of this file, in words; empty when it is. Labels are free text, so more is compared."""
    spec = run.plan.job
    for name, planned, found in (
        ("nonce", run.plan.nonce, job.labels.get("hft-nonce", "")),
        ("image", spec.image, job.image),
        ("command", spec.command, job.command),
        ("flavor", spec.flavor, job.flavor),
    ):
        if planned != found:
            return f"its {name} is not the one that was launched"
    return ""

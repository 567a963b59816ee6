"""What a Job is called: the key of its training, and its labels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from hf_train.context import Context
from hf_train.inputs import Inputs
from hf_train.plan.model import Facts
from hf_train.plan.spending import MINUTES_LABEL, billed_minutes
from hf_train.plan.watching import outlives
from hf_train.values import JobSpec, Volume


def label(text: str) -> str:
    """A text as a label value: letters, digits, `.`, `_`, `-`, at most 100 characters."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:100]


def training_key(job: JobSpec, context: Context, facts: Facts) -> str:
    """Hash of what makes a training: code, command, image, flavor, environment, matrix leg; not time, not secrets."""
    sent = [*([facts.code] if facts.code else []), *(survey for _, survey in facts.folders)]
    content = {survey.digest: survey.content for survey in sent if survey.content}
    what = [
        context.repository,
        context.comment_key,
        job.namespace,
        job.image,
        list(job.command),
        job.flavor,
        sorted(job.env.items()),
        sorted(job.secrets),
        [_address(volume, content) for volume in job.volumes],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _address(volume: Volume, content: Mapping[str, str]) -> str:
    """A volume by its content: neither a newer launcher of ours nor the mark of a launch makes another training."""
    option = volume.as_option()
    for marked, plain in content.items():
        option = option.replace(marked, plain)
    return option


def family(context: Context, comment_key: str) -> str:
    """Hash of whose runs follow each other: the same workflow (or comment key) on the same pull request or ref."""
    where = f"pull/{context.pull.number}" if context.pull else context.ref
    return hashlib.sha256(json.dumps([context.repository, comment_key, where]).encode()).hexdigest()[:16]


def labels_of(inputs: Inputs, context: Context, facts: Facts, key: str, job: JobSpec) -> dict[str, str]:
    """Labels of the Job (design: names); empty ones are left out."""
    base = context.repository.rpartition("/")[2] or PurePosixPath(job.image.partition("@")[0]).name
    sha = context.head_sha or (facts.code.sha if facts.code else "")
    labels = {
        "hf-train": "1",
        "name": re.sub(r"[^A-Za-z0-9_-]", "-", f"hf-train-{base}")[:80] + f"-{key[:8]}",
        "hft-repo": context.repository,
        "hft-sha": sha,
        "hft-pr": str(context.pull.number) if context.pull else "",
        "hft-run": context.run_id,
        "hft-attempt": str(context.run_attempt) if context.run_id else "",
        "hft-key": key,
        "hft-family": family(context, inputs.comment_key or context.comment_key) if context.repository else "",
        "hft-mode": "detach" if outlives(inputs, context) else "",
        MINUTES_LABEL: str(billed_minutes(job.timeout_s, job.attempts)),
        "hft-image": facts.image.digest if facts.image else "",
        "hft-nonce": facts.nonce,
    }
    return {name: label(value) for name, value in labels.items() if value}

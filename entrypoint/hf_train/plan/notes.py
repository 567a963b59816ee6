"""What is worth knowing before the launch, in words."""

from __future__ import annotations

import re

from hf_train.context import Context
from hf_train.inputs import Inputs
from hf_train.inputs.output import OUTPUT_MOUNT, written_elsewhere
from hf_train.inputs.smoke import Smoke
from hf_train.plan.cost import flavor_of, usd
from hf_train.plan.model import Facts
from hf_train.plan.watching import longest, watch_limit
from hf_train.values import Flavor

_PINNED = re.compile(r"/[0-9a-f]{40}(?:/|$)")


def notes_of(inputs: Inputs, context: Context, facts: Facts, flavor: Flavor | None) -> tuple[str, ...]:
    """All that a user should read before the launch."""
    notes: list[str] = []
    for survey in (facts.code, *(one for _, one in facts.folders)):
        if survey:
            notes.extend(survey.notes)
    if facts.image:
        notes.extend(facts.image.notes)
    if folder := written_elsewhere(inputs):
        notes.append(
            f"The command writes to {folder}, and only what lies in {OUTPUT_MOUNT} outlives the Job: say --output_dir "
            f"{OUTPUT_MOUNT}/model, or take the path from HF_TRAIN_OUTPUT_DIR."
        )
    if not inputs.jobside and facts.code:
        notes.append(
            f"jobside is off: the command starts in the image's own folder, and the code lies in {inputs.mount}, "
            "read-only, not verified, without execute bits and links."
        )
    if inputs.smoke:
        notes.append(_smoke_note(inputs, inputs.smoke, facts))
    if inputs.script and facts.script_path and not _PINNED.search(inputs.script):
        notes.append(
            "The script's address names no commit, so it can change from one run to the next; put the 40 digits of a "
            "commit in the place of the branch. The Job runs the bytes that were fetched now."
        )
    if flavor is None:
        notes.append("The Hub's hardware list could not be read: the price is not known.")
    same_token = inputs.job_token is not None and inputs.job_token == inputs.hf_token
    if same_token or ("HF_TOKEN" in inputs.secrets and not inputs.job_token):
        notes.append(
            f"The token that launches is handed to the Job too ({'job-token' if same_token else 'secrets: HF_TOKEN'}); "
            "job-token takes one that can write to a single repo."
        )
    watch_s = watch_limit(inputs, context)
    if watch_s is not None and longest(inputs) > watch_s and inputs.on_watch_timeout == "fail":
        notes.append(
            f"The Job may run for {longest(inputs)} s, but this step stops watching after {watch_s} s and then fails "
            "(watch-timeout); on-watch-timeout: detach ends it in good order, and the Job runs on."
        )
    return tuple(notes)


def _smoke_note(inputs: Inputs, smoke: Smoke, facts: Facts) -> str:
    """The Job that goes before the planned one."""
    name = smoke.flavor or inputs.flavor
    flavor = flavor_of(name, facts)
    price = flavor.cost_usd(smoke.timeout_s) if flavor else None
    cost = f", {usd(price * inputs.nodes)} at most" if price is not None else ""
    words = f" with {' '.join(smoke.args)}" if smoke.args else ""
    return f"A smoke run goes first: {name} for at most {smoke.timeout_s} s{cost}{words}. Both must fit max-cost."

"""What is worth knowing before the launch, in words."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.context import Context
from hf_train.inputs import Inputs
from hf_train.plan.model import Facts
from hf_train.plan.watching import watch_limit
from hf_train.values import Flavor



def notes_of(inputs: Inputs, context: Context, facts: Facts, flavor: Flavor | None) -> tuple[str, ...]:
    """All that a user should read before the launch."""
    notes: list[str] = []
    for survey in (facts.code, *(one for _, one in facts.folders)):
        if survey:
            notes.extend(survey.notes)
    if facts.image:
        notes.extend(facts.image.notes)
    if flavor is None:
        notes.append("The Hub's hardware list could not be read: the price is not known.")
    same_token = inputs.job_token is not None and inputs.job_token == inputs.hf_token
    if same_token or ("HF_TOKEN" in inputs.secrets and not inputs.job_token):
        notes.append(
            f"The token that launches is handed to the Job too ({'job-token' if same_token else 'secrets: HF_TOKEN'}); "
            "job-token takes one that can write to a single repo."
        )
    pushes = any("push_to_hub" in word or "hub_model_id" in word for word in (*inputs.command, *inputs.args))
    if pushes and not inputs.job_token and "HF_TOKEN" not in inputs.secrets:
        notes.append("The command pushes to the Hub, but the Job gets no token; give job-token, or secrets: HF_TOKEN.")
    watch_s = watch_limit(inputs, context)
    if watch_s is not None and inputs.timeout > watch_s and inputs.on_watch_timeout == "fail":
        notes.append(
            f"The Job may run for {inputs.timeout} s, but this step stops watching after {watch_s} s and then fails "
            "(watch-timeout); on-watch-timeout: detach ends it in good order, and the Job runs on."
        )
    if flavor and flavor.gpus > 1 and not _uses_all_gpus((*inputs.command, *inputs.args)):
        notes.append(
            f"{flavor.name} has {flavor.gpus} GPUs, but the command starts one process; "
            f"`accelerate launch --num_processes {flavor.gpus} ...` would use them all."
        )
    return tuple(notes)


def _uses_all_gpus(words: Sequence[str]) -> bool:
    text = " ".join(words)
    return any(launcher in text for launcher in ("accelerate", "torchrun", "torch.distributed", "axolotl", "deepspeed"))

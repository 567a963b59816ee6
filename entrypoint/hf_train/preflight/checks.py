"""The command, the repos and the disk."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.inputs import Inputs
from hf_train.plan import Plan
from hf_train.preflight.gpus import gpu_findings
from hf_train.preflight.model import Finding, Known
from hf_train.preflight.sources import pushes

DATASET_COPIES = 2
"""A data set lies on the disk twice: as it was downloaded, and as `datasets` prepared it."""
ROOM = 0.9
"""Part of the disk that models and data may take; packages and checkpoints need the rest."""


def command_findings(plan: Plan, inputs: Inputs) -> list[Finding]:
    """What the command asks for, and what it is given."""
    return [*_push(plan, inputs), *_interpreter(inputs), *gpu_findings(plan, inputs)]


def _push(plan: Plan, inputs: Inputs) -> list[Finding]:
    """`--push_to_hub` without any token fails when everything has been paid for."""
    words = (*inputs.command, *inputs.args, *(plan.recipe.added if plan.recipe else ()))
    if "HF_TOKEN" in plan.job.secrets:
        return []
    told = pushes(words, plan.expect.config)
    if not told and (inputs.publish or not (plan.expect.model_repo and plan.expect.require_model)):
        return []
    what = "the command pushes to the Hub, but the Job gets no token." if told else "model-repo is to be published to, "
    what = what if told else f"{what}but the Job gets no token."
    return [
        Finding(
            # Another secret may hold a token under a name of its own.
            level="error" if told and not plan.job.secrets else "warning",
            title="No token in the Job",
            what=what,
            why="The push would fail when the training has been paid for.",
            fix="Give job-token, or name HF_TOKEN under secrets.",
            field="job-token",
        )
    ]


def _interpreter(inputs: Inputs) -> list[Finding]:
    runs_uv = inputs.script is not None or inputs.command[:2] == ("uv", "run")
    if not runs_uv or not inputs.image or "astral-sh/uv" in inputs.image:
        return []
    if any(word in {"--python", "-p", "--no-project", "--active"} for word in inputs.command):
        return []
    name = inputs.script or next((word for word in inputs.command if word.endswith(".py")), "the script")
    return [
        Finding(
            level="warning",
            title="Two interpreters",
            what=f"uv makes an environment of its own, and the packages of {inputs.image} are not in it.",
            why="What the script names is installed at each start, and a build that the image holds is not used.",
            fix=f"Write command: python {name}, or leave image out.",
            field="image",
        )
    ]


def repo_findings(known: Known, *, public: bool | None) -> list[Finding]:
    """The repo that is published to.

    Args:
        known: What was looked up.
        public: Whether the GitHub repository is public; None when that is not known.
    """
    fact = known.fact
    if fact is None or not fact.exists:
        return []
    if fact.private is False and public is False:
        return [
            Finding(
                level="warning",
                title="Public model",
                what=f"{known.target} is public, and the GitHub repository is private.",
                why="What is pushed there can be read by everyone at once.",
                field="model-repo",
            )
        ]
    return []


def source_findings(plan: Plan, known: Known) -> list[Finding]:
    """The models and data sets that the command names: whether the Job may read them, and whether they fit."""
    found = []
    for (kind, repo), fact in known.sources:
        if fact.closed or not fact.exists:
            state = "is gated, and this token was not let in" if fact.closed else "is not there for this token"
            found.append(
                Finding(
                    level="warning",
                    title="Source not readable",
                    what=f"the {kind} {repo} {state}.",
                    why="The training would fail when it loads it, on hardware that is paid for.",
                    fix="Ask for access on its page, check its name, or give a job-token that can read it.",
                    field="command",
                )
            )
    return [*found, *_disk(plan, known)]


def _disk(plan: Plan, known: Known) -> list[Finding]:
    flavor = plan.budget.flavor
    if flavor is None or flavor.disk_gb is None:
        return []
    copies = {"dataset": DATASET_COPIES}
    sizes = [(repo, (fact.size or 0) * copies.get(kind, 1)) for (kind, repo), fact in known.sources]
    gigabytes = sum(size for _, size in sizes) / 1e9
    if gigabytes <= flavor.disk_gb * ROOM:
        return []
    return [
        Finding(
            level="warning",
            title="Disk too small",
            what=f"{_names(sizes)} take about {gigabytes:.0f} GB; "
            f"the disk of {flavor.name} has {flavor.disk_gb:.0f} GB.",
            why="Packages and checkpoints come on top; the Job fails when its disk is full.",
            fix="Take a flavor with more disk, stream the data set, or mount it under volumes.",
            field="flavor",
        )
    ]


def _names(sizes: Sequence[tuple[str, int]]) -> str:
    ordered = sorted(sizes, key=lambda one: -one[1])
    return ", ".join(repo for repo, size in ordered[:3] if size)

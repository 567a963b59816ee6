"""`hf-train sweep`."""

from __future__ import annotations

import os
from collections import Counter
from typing import Annotated

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.errors import BadInput, ExitCode, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.flow.sweep import Fate, judge
from hf_train.flow.verdict import cancel
from hf_train.github.runs import GitHubRuns
from hf_train.hub import HuggingFaceHub
from hf_train.inputs import grammar
from hf_train.plan import label
from hf_train.text.untrusted import Redactor
from hf_train.values import Secret

PATIENCE_S = 60.0


def sweep(
    namespace: Annotated[str | None, typer.Option(help="Owner of the Jobs. Default: the owner of the token.")] = None,
    repository: Annotated[
        str | None, typer.Option(help="GitHub repository, `OWNER/NAME`. Default: this workflow's.", metavar="REPO")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Leave Jobs alone that are younger than this.", metavar="DURATION")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Cancel them; without it, they are only listed.")] = False,
) -> int:
    """`hf-train sweep`: cancels Jobs whose workflow run is over, and touches nothing else."""
    environ = os.environ
    token = wiring.given_token(environ)
    github = (environ.get("HF_TRAIN_GITHUB_TOKEN") or environ.get("GITHUB_TOKEN") or "").strip()
    context = wiring.context_of(environ)
    repository = repository or context.repository
    namespace = namespace or environ.get("HF_TRAIN_NAMESPACE") or None
    age = _age(older_than)
    if not repository or repository.count("/") != 1:
        raise BadInput(["repository: name the GitHub repository whose runs are looked at (--repository OWNER/NAME)"])
    if token is None:
        raise RefusedByHub("No token", "A sweep needs a Hub token.", "Set the variable HF_TOKEN.")
    if not github:
        raise RefusedByHub("No token", "A sweep needs a GitHub token that may read runs.", "Set GITHUB_TOKEN.")
    console = wiring.console_of(Redactor([token.reveal(), github]), environ)
    hub, clock = HuggingFaceHub(environ.get("HF_ENDPOINT") or wiring.HUB, token), SystemClock()
    owner = namespace or patiently(clock, hub.whoami, limit_s=PATIENCE_S).name
    wanted = {"hf-train": "1", "hft-repo": label(repository)}
    found = patiently(clock, lambda: hub.find(owner, wanted), limit_s=PATIENCE_S)
    judged = judge(found, label(repository), GitHubRuns(context.api_url, Secret(github), repository), clock, age)
    orphans = [one.state for one in judged if one.fate is Fate.ORPHAN]
    left = 0
    for job in orphans:
        done = apply and cancel(hub, job.ref, clock)
        left += apply and not done
        word = "cancelled" if done else "NOT cancelled" if apply else "would be cancelled"
        run = f"run {job.labels.get('hft-run')}"
        console.info(f"{word}: {job.ref.namespace}/{job.ref.id} ({job.stage.value}, {job.flavor}, {run}) {job.ref.url}")
    others = Counter(one.fate for one in judged if one.fate not in {Fate.ORPHAN, Fate.ENDED})
    for fate, count in others.items():
        console.info(f"left alone: {count} Job(s): {fate.value}")
    console.info(f"{len(orphans)} orphan(s) among {len(found)} Job(s) of {repository} in {owner}.")
    if orphans and not apply:
        console.info("Nothing was cancelled; add --apply.")
    if left:
        console.error("Sweep", f"{left} Job(s) could not be cancelled.")
    return int(ExitCode.REFUSED if left else ExitCode.OK)


def _age(text: str | None) -> float:
    try:
        return float(grammar.duration(text)) if text else 0.0
    except ValueError as error:
        raise BadInput([f"older-than: {error}"]) from error

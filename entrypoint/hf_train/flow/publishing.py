"""Publish: push what a completed Job left in a bucket to the model repo, where `publish` asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from hf_train.errors import LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.values import JobState, Outcome, Reason


@dataclass(frozen=True, slots=True)
class Push:
    """What this step pushed.

    Attributes:
        repo: The model repo.
        revision: The commit, 40 hex digits; empty when there is none.
        problem: Why there is none, in words.
    """

    repo: str
    revision: str = ""
    problem: str = ""


def push(plan: Plan, state: JobState | None, outcome: Outcome, ports: Ports) -> Push | None:
    """Push, once the training has completed. A failure is told in words: what was paid for is in the bucket.

    Returns:
        What was pushed; None when nothing was to be.
    """
    where, repo = plan.expect.publish, plan.expect.model_repo
    if where is None or repo is None or ports.publisher is None or state is None:
        return None
    if outcome.reason is not Reason.COMPLETED:
        return None
    publisher, (bucket, folder) = ports.publisher, where
    title, since = f"Trained by Job {state.ref.id}", state.started_at or state.created_at or ports.clock.now()
    try:
        with ports.console.group("Publish the model"):
            revision = patiently(ports.clock, lambda: publisher.publish(bucket, folder, repo, title, since))
            ports.console.info(f"{bucket}/{folder} was pushed to {repo} as commit {revision}")
    except (RefusedByHub, LostSight) as error:
        words = f"{error.message} {error.hint}".strip()
        return Push(repo, problem=f"{bucket}/{folder} was not pushed to {repo}: {words}")
    return Push(repo, revision)

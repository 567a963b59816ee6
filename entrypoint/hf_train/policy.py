"""Who may spend: whose code may run with this repository's tokens. Pure.

Some events run with the secrets of the base repository although a stranger can cause them (`pull_request_target`,
`workflow_run`, `issue_comment` ...). A workflow that checks out the pull request there runs a stranger's code beside
the tokens ("pwn request"; GitHub's documentation of `pull_request_target`, reference case 18). On these events the
workspace must be at the commit that GitHub chose, or at the very commit that somebody with write access approved.
"""

from __future__ import annotations

from dataclasses import dataclass

from hf_train.context import Context
from hf_train.errors import RefusedByPolicy

OWN = frozenset(
    {
        "push",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "schedule",
        "workflow_dispatch",
        "repository_dispatch",
        "release",
        "create",
        "merge_group",
    }
)
"""Events that only somebody with write access causes, or that come without secrets when a stranger does. Any other
event, one that GitHub invents tomorrow too, is taken for one that a stranger can cause (GitHub's documentation of
events that trigger workflows)."""
WRITERS = frozenset({"admin", "maintain", "write"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """One commit of a pull request that somebody with write access asked to train.

    Attributes:
        sha: The commit, 40 hex digits. Another one is not approved.
        by: Login of who did it.
        how: `label train`, `comment 1001`.
    """

    sha: str
    by: str
    how: str


def is_privileged(context: Context) -> bool:
    """Whether the event brings this repository's secrets and can be caused by anybody."""
    return context.on_github and context.event not in OWN


def check_trust(context: Context, checked_out: str | None, approval: Approval | None = None, why_not: str = "") -> None:
    """Pass when the checked-out code is the base repository's own, or was approved.

    Args:
        context: The event.
        checked_out: The commit in the workspace; None when no code is sent, empty when no git knows it.
        approval: What was approved, if anything.
        why_not: Why there is no approval, in words.

    Raises:
        RefusedByPolicy: A stranger can cause the event, and the workspace is at another commit.
    """
    if checked_out is None or not is_privileged(context):
        return
    # After a comment the base is not what was asked for, though it may be trusted.
    wanted_shas = {approval.sha if approval else context.sha, *((context.sha,) if context.comment is None else ())}
    if checked_out and checked_out in wanted_shas:
        return
    found = f"{checked_out[:12]} is checked out" if checked_out else "no git says which commit is checked out"
    wanted = f"{approval.sha[:12]}, which {approval.by} approved," if approval else context.sha[:12] or "the base"
    raise RefusedByPolicy(
        "Untrusted code",
        f"The event {context.event} has this repository's secrets, but {found} and not {wanted}: a pull request's code "
        f"would run beside them.{f' {why_not}.' if why_not else ''}",
        "Train on `pull_request` (with a label, and an environment with reviewers), or let somebody with write access "
        "approve this very commit (docs/events.md). Nothing was sent.",
    )


def why_no_token(context: Context) -> str:
    """Why a step may have no Hub token, in words; empty when the event does not explain it."""
    pull = context.pull
    if context.actor == "dependabot[bot]" or (pull and pull.author == "dependabot[bot]"):
        return "Dependabot's runs get Dependabot's secrets only"
    if pull and pull.from_fork:
        return "a fork's pull request gets no secrets"
    return ""

"""Who may spend: whose code may run with this repository's tokens. Pure.

GitHub runs `pull_request_target`, `workflow_run` and `issue_comment` with the secrets of the base repository, on its
default branch. A workflow that checks out the pull request there runs a stranger's code beside the tokens ("pwn
request"; GitHub's documentation of `pull_request_target`, reference case 18).
"""

from __future__ import annotations

from hf_train.context import Context
from hf_train.errors import RefusedByPolicy

PRIVILEGED = frozenset({"pull_request_target", "workflow_run", "issue_comment"})


def check_trust(context: Context, checked_out: str) -> None:
    """Pass when the checked-out code is the base repository's own.

    Args:
        context: The event.
        checked_out: The commit in the workspace; empty when no code is sent or no git knows it.

    Raises:
        RefusedByPolicy: A privileged event, and the workspace is not at the commit that GitHub chose for it.
    """
    if context.event not in PRIVILEGED or not checked_out or checked_out == context.sha:
        return
    raise RefusedByPolicy(
        "Untrusted code",
        f"The event {context.event} has this repository's secrets, but {checked_out[:12]} is checked out and not "
        f"{context.sha[:12] or 'the base'}: a pull request's code would run beside them.",
        "Train on `pull_request` (with a label, and an environment with reviewers) instead. Nothing was sent.",
    )

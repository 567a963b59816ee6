"""What the tokens may do. What the Hub does not say is not known, and never a refusal."""

from __future__ import annotations

from hf_train.errors import ExitCode
from hf_train.ports import Account
from hf_train.preflight.model import Finding, Known

RUN, WRITE = "job.write", "repo.write"
"""Permissions of fine-grained tokens, in the words of `GET /api/whoami-v2`."""


def may(account: Account, permission: str, namespace: str, repo: str = "") -> bool | None:
    """Whether a token may do something in a namespace, or to one repo of it; None when the Hub does not say."""
    if account.role == "fineGrained":
        if account.scopes is None:
            return None
        return any(one.entity in {namespace, repo} and permission in one.permissions for one in account.scopes)
    if account.role == "read":
        return False
    if account.role == "write":
        return namespace == account.name or namespace in account.orgs
    return None


def launch_token(account: Account | None, namespace: str) -> list[Finding]:
    """The token that launches: it starts Jobs, and writes the code into a bucket."""
    if account is None:
        return []
    if account.role == "read":
        why = f"Starting Jobs ({RUN}) and sending the code need a token that may write in {namespace}."
        return [_refused("Token can only read", "the token that launches can only read.", why, "hf-token")]
    if account.role == "fineGrained":
        return _fine_launch(account, namespace)
    if may(account, RUN, namespace) is False:
        what = f"{account.name} is no member of {namespace}."
        return [_refused("Not a member", what, "Only members start Jobs there, and it pays for them.", "namespace")]
    if account.role == "write":
        return [
            Finding(
                level="advice",
                title="A token for everything",
                what="the token that launches is a classic write token.",
                why=f"A leak of it is a leak of all that {account.name} can write.",
                fix=f"A fine-grained one with {RUN} and {WRITE} on {namespace} is enough.",
                field="hf-token",
            )
        ]
    return []


def _fine_launch(account: Account, namespace: str) -> list[Finding]:
    found = []
    if may(account, RUN, namespace) is False:
        what = f"the token that launches has no {RUN} on {namespace}."
        why = "The Hub would refuse the Job after the code was sent."
        found.append(_refused("Token may not start Jobs", what, why, "hf-token"))
    if may(account, WRITE, namespace) is False:
        # The name of a right on buckets alone is not known, so this is no refusal.
        what = f"the token that launches has no {WRITE} on {namespace}."
        why = "The code goes into a private bucket there."
        found.append(Finding(level="warning", title="Bucket perhaps closed", what=what, why=why, field="hf-token"))
    return found


def job_token(known: Known, field: str) -> list[Finding]:
    """The token that the Job gets: it pushes at the end, when everything has been paid for.

    Args:
        known: What was looked up.
        field: The input that the token comes from.
    """
    account, repo = known.job_account, known.target
    if known.job_refused:
        why = "The training would fail at its first question to the Hub, or at its push."
        return [_refused("Token of the Job not accepted", f"the Hub answered: {known.job_refused}", why, field)]
    if account is None or not repo:
        return []
    namespace = repo.partition("/")[0]
    after = "The push comes at the end, when the training has been paid for."
    if may(account, WRITE, namespace, repo) is False:
        what = f"the token of the Job ({account.name}, {account.role}) may not write to {repo}."
        return [_refused("Token of the Job cannot push", what, after, field)]
    new = known.fact is not None and not known.fact.exists
    if new and may(account, WRITE, namespace) is False:
        what = f"{repo} does not exist, and the token of the Job may not create it."
        return [_refused("Model repo cannot be created", what, after, field)]
    return []


def _refused(title: str, what: str, why: str, field: str) -> Finding:
    return Finding(level="error", title=title, what=what, why=why, field=field, code=ExitCode.REFUSED)

"""Who may see and change what, in the words and with the codes of the Hub.

What one may not see does not exist: 404 with a token, 401 without one (so that a client asks for a log-in), both with
the code `RepoNotFound`. What one may see but not change is 403; a write without a token is 401.
"""

from __future__ import annotations

from hf_train.local_hub.accounts import Account, Accounts
from hf_train.local_hub.calls import Call, HubError


def require_account(accounts: Accounts, call: Call) -> Account:
    """The account of a call.

    Raises:
        HubError: 401 without a valid token.
    """
    account = accounts.of_header(call.authorization)
    if account is None:
        raise HubError(401, "Invalid username or password.")
    return account


def require_visible(account: Account | None, namespace: str, *, exists: bool, private: bool) -> None:
    """Pass when the account may see the repo or bucket.

    Raises:
        HubError: 404 or 401, `RepoNotFound`.
    """
    if exists and (not private or (account is not None and account.sees(namespace))):
        return
    if account is None:
        raise HubError(401, "Invalid username or password.", "RepoNotFound")
    raise HubError(404, "Repository not found", "RepoNotFound")


def require_write(account: Account | None, namespace: str, full_id: str) -> Account:
    """Pass when the account may write to the repo or bucket.

    Args:
        account: Who asks.
        namespace: Owner of the repo.
        full_id: `acme/model`, `datasets/acme/x`, `buckets/acme/b`.

    Raises:
        HubError: 401 without a token, 403 without the right.
    """
    if account is None:
        raise HubError(401, "Invalid username or password.")
    if not account.may_write(namespace, full_id):
        raise HubError(
            403,
            "Forbidden: you must use a write token to upload to a repository."
            if account.role == "read"
            else f"You don't have the required permissions to write to {full_id}.",
        )
    return account


def require_namespace(account: Account, namespace: str, kind: str, full_id: str) -> None:
    """Pass when the account may create something in the namespace.

    Raises:
        HubError: 403.
    """
    if not account.may_write(namespace, full_id):
        raise HubError(403, f'You don\'t have the rights to create a {kind} under the namespace "{namespace}"')

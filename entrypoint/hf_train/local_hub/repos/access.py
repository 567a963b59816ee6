"""From a request to the repo and revision it names, and whether the caller may."""

from __future__ import annotations

from dataclasses import dataclass

from hf_train.local_hub.access import require_visible, require_write
from hf_train.local_hub.accounts import Account, Accounts
from hf_train.local_hub.calls import Call, HubError
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.repos.store import Repo, RepoStore

ID = r"(?P<ns>[^/]+)/(?P<name>[^/]+)"
API = rf"/api/(?P<type>models|datasets|spaces|kernels)/{ID}"
WEB = rf"/(?:(?P<type>datasets|spaces|kernels)/)?{ID}"
REVISION = r"(?P<revision>refs/(?:pr|convert)/[^/]+|[^/]+)"


@dataclass(kw_only=True, slots=True)
class RepoAccess:
    """What all routes of repos share."""

    hub: HubContext
    accounts: Accounts
    store: RepoStore

    def visible(self, call: Call) -> tuple[Repo, Account | None]:
        """The repo that the path names, for reading.

        Raises:
            HubError: 401 or 404, `RepoNotFound`.
        """
        account = self.accounts.of_header(call.authorization)
        repo_type = call.params.get("type", "models").removesuffix("s")
        name = call.params["name"].removesuffix(".git")
        repo = self.store.get(repo_type, f"{call.params['ns']}/{name}")
        private = repo is not None and repo.private
        require_visible(account, repo.namespace if repo else "", exists=repo is not None, private=private)
        assert repo is not None  # noqa: S101 - require_visible raised
        return repo, account

    def writable(self, call: Call) -> tuple[Repo, Account]:
        """The repo that the path names, for writing.

        Raises:
            HubError: 401, 403 or 404.
        """
        repo, account = self.visible(call)
        return repo, require_write(account, repo.namespace, repo.full_id)

    def contributable(self, call: Call) -> tuple[Repo, Account]:
        """The repo that the path names, for a pull request: anyone who sees it may open one.

        Raises:
            HubError: 401, 403 or 404.
        """
        repo, account = self.visible(call)
        if account is not None and account.role == "write" and account.scope is None:
            return repo, account
        return repo, require_write(account, repo.namespace, repo.full_id)

    def commit(self, repo: Repo, revision: str) -> str:
        """The commit that a revision means.

        Raises:
            HubError: 404, `RevisionNotFound`.
        """
        found = repo.git.resolve(revision)
        if found is None:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def page(self, repo: Repo) -> str:
        """The URL of the repo's page."""
        return f"{self.hub.endpoint}/{repo.full_id}"


def require_gate(repo: Repo, account: Account | None) -> None:
    """Pass when the repo is not gated, or the account belongs to its owner.

    A local Hub keeps no list of who else was let in.

    Raises:
        HubError: 401 without a token, else 403, `GatedRepo`.
    """
    if repo.gated and not (account is not None and account.sees(repo.namespace)):
        message = f"Access to {repo.type} {repo.id} is restricted and you are not in the authorized list."
        raise HubError(403 if account else 401, message, "GatedRepo")

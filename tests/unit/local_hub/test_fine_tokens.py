"""Fine-grained tokens of the local Hub: what their scopes permit, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_train.local_hub.accounts import Account, Accounts, fine_token
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.settings import HubSettings


def _account(scopes: dict[str, list[str]], user: str = "alice") -> Account:
    settings = HubSettings(data=Path("unused"), user="alice", orgs=("acme",))
    return Accounts(settings).of_token(fine_token(user, scopes))


def test_a_scope_on_a_namespace_covers_its_repos() -> None:
    account = _account({"alice": ["repo.write"], "acme": ["job.write"]})
    assert (account.name, account.role) == ("alice", "fineGrained")
    assert account.may_write("alice", "alice/m")
    assert account.may_write("alice", "buckets/alice/b")
    assert not account.may_write("acme", "acme/m")
    assert (account.may_run("acme"), account.may_run("alice")) == (True, False)


def test_a_scope_on_a_repo_covers_that_repo_alone() -> None:
    account = _account({"alice/m": ["repo.write"], "alice/d": ["repo.write"]})
    assert account.may_write("alice", "alice/m")
    assert account.may_write("alice", "datasets/alice/d")
    assert not account.may_write("alice", "alice/other")
    assert not account.may_write("alice"), "it cannot create one"
    assert not account.may_run("alice")


def test_a_scope_on_a_strangers_namespace_gives_nothing() -> None:
    account = _account({"mallory": ["repo.write", "job.write"]})
    assert not account.may_write("mallory", "mallory/m")
    assert not account.may_run("mallory")


@pytest.mark.parametrize("token", ["hf_local_fine_", "hf_local_fine_e30", "hf_local_fine_!!", "hf_local_fine_W10"])
def test_a_token_that_holds_no_scopes_is_refused(token: str) -> None:
    with pytest.raises(HubError):
        Accounts(HubSettings(data=Path("unused"))).of_token(token)

"""Small rules of the stores: names, tokens, cards."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.account_routes import front_matter
from hf_train.local_hub.accounts import Accounts, jwt_for
from hf_train.local_hub.buckets.files import walk
from hf_train.local_hub.buckets.routes import NAME
from hf_train.local_hub.calls import HubError
from hf_train.local_hub.repos.commit import read_request, valid_path
from hf_train.local_hub.repos.git import is_ref_name
from hf_train.local_hub.repos.info import tags_of
from hf_train.local_hub.settings import HubSettings
from hf_train.local_hub.tokens import Signer

ACCOUNTS = Accounts(HubSettings(data=Path("unused"), user="me", orgs=("org",)))


@pytest.mark.parametrize(
    ("token", "name", "role", "orgs"),
    [
        ("hf_local_anything", "me", "write", ("org",)),
        ("hf_localtests0123", "me", "write", ("org",)),
        ("hf_local_read", "me", "read", ("org",)),
        ("hf_local_as_alice", "alice", "write", ()),
        ("hf_local_as_alice.ci", "alice", "write", ()),
        ("hf_local_as_me", "me", "write", ("org",)),
        ("hf_local_read_as_bob", "bob", "read", ()),
    ],
)
def test_a_token_is_an_account(token: str, name: str, role: str, orgs: tuple[str, ...]) -> None:
    account = ACCOUNTS.of_token(token)
    assert (account.name, account.role, account.orgs) == (name, role, orgs)


@pytest.mark.parametrize("header", ["Bearer ", "Bearer hf_invalid", "Basic abc", "hf_local", "Bearer hf_jwt_local_!"])
def test_a_header_that_is_refused(header: str) -> None:
    with pytest.raises(HubError) as caught:
        ACCOUNTS.of_header(header)
    assert caught.value.status == 401


@given(st.text(min_size=1))
def test_an_exchanged_token_is_bound_to_its_repo(resource: str) -> None:
    account = ACCOUNTS.of_token(jwt_for(resource))
    assert account.scope == resource
    assert account.may_write("me", resource)
    assert not account.may_write("me", resource + "x")
    assert not account.may_write("me")


def test_a_xet_token_is_ours_and_says_what_for(tmp_path: Path) -> None:
    signer = Signer(tmp_path / "secret")
    token, _ = signer.xet_token("write")
    assert signer.xet_scope(token) == "write"
    assert Signer(tmp_path / "secret").xet_scope(token) == "write"  # after a restart
    assert Signer(tmp_path / "other").xet_scope(token) is None
    assert signer.xet_scope(token.replace("write", "admin")) is None
    assert signer.xet_scope("xet_local.read.1.0") is None


@pytest.mark.parametrize("name", ["a", "a-b", "A.b_c", "x" * 96, "9", "a_"])
def test_names_of_repos(name: str) -> None:
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", ".", "..", "-a", "a-", "a.", "a--b", "a..b", "a/b", "a b", "x" * 97, "ü", "a\n"])
def test_names_that_are_none(name: str) -> None:
    assert not NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["main", "v1.0", "a/b", "refs/pr/1", "ünï", "0" * 40])
def test_names_of_revisions(name: str) -> None:
    assert is_ref_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-x", "a..b", "a~1", "a^", "a:b", "a b", "@", "a@{1}", "a.lock", ".a", "a/.b", "a/", "a//b", "a\0", "x" * 201],
)
def test_revisions_that_are_none(name: str) -> None:
    assert not is_ref_name(name)


@given(st.lists(st.sampled_from(["a", "..", ".", "", ".git", "b c", "\\", "~"]), min_size=1, max_size=5))
def test_a_valid_path_stays_inside(parts: list[str]) -> None:
    path = "/".join(parts)
    if {"", ".", "..", ".git", "\\"} & set(parts):
        with pytest.raises(HubError) as caught:
            valid_path(path, folder=False)
        assert caught.value.status == 422
    else:
        assert valid_path(path, folder=False) == path


@pytest.mark.parametrize(
    "lines", [[], [{"key": "file"}], [{"key": "header", "value": {"summary": " "}}], [{"value": {}}]]
)
def test_a_commit_needs_a_summary(lines: list[dict[str, object]]) -> None:
    with pytest.raises(HubError):
        read_request(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1\n---\nx", "a: 1"),
        ("\ufeff---\r\na: 1\r\n---\r\n", "a: 1"),
        ("\n\n---\na: 1\n---", "a: 1"),
        ("# title", None),
        ("---\nnever closed", None),
        ("", None),
    ],
)
def test_front_matter(text: str, expected: str | None) -> None:
    assert front_matter(text) == expected


def test_a_card_gives_tags() -> None:
    card = {"license": "mit", "tags": ["a", "a"], "datasets": ["d"], "base_model": "b/c", "language": ["en"]}
    assert tags_of(card) == ["license:mit", "dataset:d", "base_model:b/c", "en", "a", "region:us"]


def test_walking_a_folder_that_is_gone_finds_nothing(tmp_path: Path) -> None:
    assert list(walk(tmp_path / "none")) == []

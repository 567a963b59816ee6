"""What a launch will need, asked of the Hub before it: whose the Job's token is, and what the repos are like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from huggingface_hub.errors import (
    BucketNotFoundError,
    GatedRepoError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from hf_train.hub_api import make_api, translated
from hf_train.ports import Account, RepoFact, Scope
from hf_train.values import Secret

_WEIGHTS_TWICE = (".bin", ".h5", ".msgpack", ".onnx", ".ot", ".tflite", ".pth", ".pt")
"""Copies in other formats of what stands in safetensors; `from_pretrained` loads one of them."""


class HubAccess:
    """The `ports.Access` of a real run.

    Args:
        endpoint: Base address of the Hub.
        token: The token that launches.
        job_token: The token that the Job gets as `HF_TOKEN`, None when it gets none.
    """

    def __init__(self, endpoint: str, token: Secret | None, job_token: Secret | None) -> None:
        self._job_token = job_token
        self._api = make_api(endpoint, job_token or token)
        self._launching = make_api(endpoint, token)

    def job_account(self) -> Account | None:
        """Owner of the token that the Job gets; None when it gets none."""
        if self._job_token is None:
            return None
        with translated("whoami with the token of the Job"):
            return account_of(self._api.whoami())

    def repo(self, kind: str, repo: str) -> RepoFact:
        """A repo as the Job will see it; as the launch token sees it when the Job gets none."""
        with translated(f"the repo {repo}"):
            try:
                info = self._api.repo_info(repo, repo_type=kind, files_metadata=True)
            except GatedRepoError:
                return RepoFact(exists=True, closed=True)
            except RepositoryNotFoundError:
                return RepoFact(exists=False)
            try:
                if info.gated:
                    self._api.auth_check(repo, repo_type=kind)
            except GatedRepoError:
                return RepoFact(exists=True, private=info.private, closed=True)
        size = _size(getattr(info, "siblings", None) or (), kind)
        return RepoFact(exists=True, private=info.private, size=size, commit=str(info.sha or ""))

    def mounted(self, kind: str, source: str, revision: str | None) -> RepoFact:
        """A bucket, or a repo at a revision, as the launch token sees it: with its rights the Hub mounts it."""
        with translated(f"the {kind} {source}"):
            try:
                if kind == "bucket":
                    return RepoFact(exists=True, private=self._launching.bucket_info(source).private)
                info = self._launching.repo_info(source, repo_type=kind, revision=revision)
            except GatedRepoError:
                return RepoFact(exists=True, closed=True)
            except RevisionNotFoundError:
                return RepoFact(exists=True)
            except (RepositoryNotFoundError, BucketNotFoundError):
                return RepoFact(exists=False)
        return RepoFact(exists=True, private=info.private, commit=str(info.sha or ""))

    def create(self, repo: str) -> None:
        """Create a private model repo; one that is there already is fine."""
        with translated(f"the new repo {repo}"):
            self._api.create_repo(repo, private=True, exist_ok=True)


def account_of(body: Mapping[str, Any]) -> Account:
    """The account in an answer of `whoami-v2`; what it does not say stays open."""
    orgs = body.get("orgs")
    auth = body.get("auth")
    access = auth.get("accessToken") if isinstance(auth, dict) else None
    role = access.get("role") if isinstance(access, dict) else None
    names = [org.get("name") for org in orgs if isinstance(org, dict)] if isinstance(orgs, list) else []
    return Account(
        name=str(body.get("name", "")),
        orgs=tuple(str(name) for name in names if name),
        role=str(role or ""),
        scopes=_scopes(access.get("fineGrained")) if isinstance(access, dict) else None,
    )


def _scopes(fine: object) -> tuple[Scope, ...] | None:
    """`{"scoped": [{"entity": {"type", "name"}, "permissions": [...]}]}`; None when it is not of this form."""
    scoped = fine.get("scoped") if isinstance(fine, dict) else None
    if not isinstance(scoped, list):
        return None
    found = []
    for one in scoped:
        entity = one.get("entity") if isinstance(one, dict) else None
        permissions = one.get("permissions") if isinstance(one, dict) else None
        if not isinstance(entity, dict) or not isinstance(permissions, list):
            return None
        found.append(Scope(entity=str(entity.get("name", "")), permissions=frozenset(map(str, permissions))))
    return tuple(found)


def _size(siblings: Sequence[Any], kind: str) -> int:
    """Bytes that loading the repo brings onto the disk."""
    files = {str(one.rfilename): int(one.size or 0) for one in siblings}
    if kind == "model" and any(name.endswith(".safetensors") for name in files):
        files = {name: size for name, size in files.items() if not name.endswith(_WEIGHTS_TWICE)}
    return sum(files.values())

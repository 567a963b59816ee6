"""From the NDJSON of the commit route to a commit.

Source: huggingface_hub 2.4.0 `_commit_api.py`, `_prepare_commit_payload`.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.repos.git import Change, Drop, GitError, Put, Take, TreeEntry, pointer
from hf_train.local_hub.repos.lfs import LfsStore
from hf_train.local_hub.repos.store import Repo


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """What a client wants committed.

    Attributes:
        summary: First line of the message.
        description: The rest.
        parent: The commit that must be the newest one, or None.
        operations: The other lines, as `(key, value)`.
    """

    summary: str
    description: str
    parent: str | None
    operations: list[tuple[str, dict[str, Any]]]

    @property
    def message(self) -> str:
        """The whole message."""
        return f"{self.summary}\n\n{self.description}".strip()


def read_request(lines: Iterable[dict[str, Any]]) -> CommitRequest:
    """The request of an NDJSON body.

    Raises:
        HubError: 400 without a header, without a summary, or with a line that is none.
    """
    header: dict[str, Any] | None = None
    operations = []
    for line in lines:
        key, value = line.get("key"), line.get("value")
        if not isinstance(key, str) or not isinstance(value, dict):
            raise HubError(400, "Invalid commit: each line needs a key and a value")
        if key == "header":
            header = value
        else:
            operations.append((key, value))
    summary = str((header or {}).get("summary") or "").strip()
    if header is None or not summary:
        raise HubError(400, "Invalid commit: a summary is needed")
    return CommitRequest(summary, str(header.get("description") or ""), header.get("parentCommit"), operations)


def make_commit(repo: Repo, lfs: LfsStore, request: CommitRequest, *, ref: str, author: str, base: str) -> str:
    """Commit to a ref whose newest commit is `base`; the hash of the commit. The caller holds the repo's lock.

    Raises:
        HubError: 400 for a bad operation, 404 for a path to delete or copy that is not there.
    """
    changes: list[Change] = []
    listing = repo.git.listing(base)
    for key, value in request.operations:
        changes.extend(_changes(repo, lfs, listing, key, value))
    try:
        return repo.git.commit(
            ref, base, changes, author=author, message=request.message, time=_commit_time(repo, base)
        )
    except GitError as problem:
        raise HubError(400, f"Cannot commit: {problem}") from problem


def _commit_time(repo: Repo, base: str) -> int:
    """Now, but never before the parent: a clock set back must not disorder the history."""
    return max(int(time.time()), repo.git.commit_at(base).time)


def _changes(
    repo: Repo, lfs: LfsStore, listing: dict[str, TreeEntry], key: str, value: dict[str, Any]
) -> Iterable[Change]:
    path = valid_path(value.get("path"), folder=key == "deletedFolder")
    if key == "file":
        yield Put(path, _content(value))
    elif key == "lfsFile":
        sha = str(value.get("oid"))
        found = lfs.ensure(sha) if value.get("algo", "sha256") == "sha256" and len(sha) == 64 else None
        if found is None:
            raise HubError(400, f"LFS pointer pointed to a file that does not exist: {path} ({sha})")
        yield Put(path, pointer(sha, found.size))
    elif key in {"deletedFile", "deletedFolder"}:
        # A folder's path without a slash deletes the folder as well, as on the Hub.
        _entry(listing, path, *(("tree",) if key == "deletedFolder" else ("blob", "tree")))
        yield Drop(path)
    elif key == "copyFile":
        source, revision = valid_path(value.get("srcPath"), folder=False), value.get("srcRevision")
        if revision is not None:
            commit = repo.git.resolve(str(revision))
            if commit is None:
                raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            listing = repo.git.listing(commit)
        yield Take(path, _entry(listing, source, "blob").oid)
    else:
        raise HubError(400, f"Invalid commit: unknown key {key!r}")


def _entry(listing: dict[str, TreeEntry], path: str, *kinds: str) -> TreeEntry:
    entry = listing.get(path)
    if entry is None or entry.kind not in kinds:
        name = "folder" if kinds == ("tree",) else "file"
        raise HubError(404, f'A {name} with the name "{path}" does not exist', "EntryNotFound")
    return entry


def _content(value: dict[str, Any]) -> bytes:
    content = value.get("content")
    if not isinstance(content, str):
        raise HubError(400, "Invalid commit: a file needs content")
    if value.get("encoding") != "base64":
        return content.encode()
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as problem:
        raise HubError(400, f"Invalid commit: {problem}") from problem


def valid_path(path: object, *, folder: bool) -> str:
    """A path in a repo, without a slash at its end when it is a folder's.

    Raises:
        HubError: 422 when it is none: absolute, with an empty part, `.`, `..`, `.git`, or a backslash.
    """
    text = path.rstrip("/") if isinstance(path, str) and folder else path
    if isinstance(text, str) and text and "\0" not in text and "\\" not in text:
        parts = text.split("/")
        if not any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts):
            return text
    raise HubError(422, f"Invalid path: {path!r}")

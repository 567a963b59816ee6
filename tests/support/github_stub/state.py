"""What the stub knows: repositories, pull requests, comments, check runs, workflow runs, tokens and faults."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

BOT = "github-actions[bot]"
MAX_BODY = 65_536
MAX_RELEASE = 125_000
_EPOCH = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@dataclass(kw_only=True, slots=True)
class Token:
    """One token.

    Attributes:
        login: Who it is. A workflow's token may not ask (`GET /user` answers 403), though it writes as a bot.
        write: Whether it may write. A fork's pull request gets a token that may not.
        installation: Whether it is a workflow's token (or another app's).
    """

    login: str = BOT
    write: bool = True
    installation: bool = True


@dataclass(kw_only=True, slots=True)
class Comment:
    """One comment on an issue or a pull request."""

    id: int
    number: int
    body: str
    login: str
    created: str
    updated: str
    edits: list[str] = field(default_factory=list)
    reactions: list[dict[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class Pull:
    """One pull request."""

    number: int
    head_sha: str = "1" * 40
    head_ref: str = "feature"
    head_repo: str = "octo/proj"
    base_sha: str = "0" * 40
    base_ref: str = "main"
    title: str = "Try a smaller learning rate"
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    login: str = "octocat"
    locked: bool = False


@dataclass(kw_only=True, slots=True)
class WorkflowRun:
    """One run of a workflow."""

    id: int
    name: str = "train"
    head_sha: str = "1" * 40
    head_branch: str = "feature"
    event: str = "pull_request"
    status: str = "completed"
    conclusion: str | None = "success"
    attempt: int = 1
    cancelled: int = 0


@dataclass(kw_only=True, slots=True)
class Release:
    """One release."""

    id: int
    tag: str
    published: str
    body: str | None = ""
    name: str | None = None
    draft: bool = False
    prerelease: bool = False


@dataclass(kw_only=True, slots=True)
class Repo:
    """One repository."""

    name: str = "octo/proj"
    private: bool = False
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def history(self, sha: str) -> list[str]:
        """A commit and all before it, nearest first; empty when it is not known."""
        seen: dict[str, None] = {}
        rest = [sha] if sha in self.parents else []
        while rest:
            one = rest.pop(0)
            if one not in seen:
                seen[one] = None
                rest += self.parents.get(one, ())
        return list(seen)


@dataclass(kw_only=True, slots=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        method: Method it hits; `*` hits all.
        path: Regular expression, searched in the path (without `/api/v3`).
        status: Status it answers; 0 drops the connection without an answer.
        skip: How many matches go well first.
        times: How many matches it hits; -1 hits all that follow.
        after: True when the request takes effect before it goes wrong (a POST that was stored, and timed out).
        headers: Headers of the answer (`Retry-After`, for instance).
        message: `message` of the answer.
        delay_s: How long the answer takes, in seconds.
    """

    path: str
    status: int
    method: str = "*"
    skip: int = 0
    times: int = 1
    after: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "made to fail"
    delay_s: float = 0.0

    def hits(self, method: str, path: str) -> bool:
        """Whether this request is hit; counts it when it matches."""
        if self.times == 0 or self.method not in {"*", method} or not re.search(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1 if self.times > 0 else 0
        return True


class State:
    """All that the stub knows. Its clock moves one second with each change, so that order shows in every time.

    Attributes:
        lock: Held while a request is answered.
        repos: By full name.
        tokens: By token; while it is empty, any token is taken for a workflow's.
        faults: What goes wrong.
    """

    def __init__(self, repository: str = "octo/proj") -> None:
        self.lock = threading.RLock()
        self.repos: dict[str, Repo] = {repository: Repo(name=repository)}
        self.tokens: dict[str, Token] = {}
        self.faults: list[Fault] = []
        self._ids = itertools.count(1001)
        self._ticks = itertools.count()

    def new_id(self) -> int:
        """A new id; later ones are larger, as on GitHub."""
        return next(self._ids)

    def now(self) -> str:
        """The stub's time, one second later at each call."""
        return (_EPOCH + timedelta(seconds=next(self._ticks))).strftime("%Y-%m-%dT%H:%M:%SZ")

    def add_comment(self, repo: Repo, number: int, body: str, login: str) -> Comment:
        """Store a comment."""
        now = self.now()
        comment = Comment(id=self.new_id(), number=number, body=body, login=login, created=now, updated=now)
        repo.comments[comment.id] = comment
        return comment

    def add_pull(self, number: int = 7, *, repository: str = "octo/proj", **more: Any) -> Pull:
        """Store a pull request."""
        pull = Pull(number=number, **more)
        self.repos[repository].pulls[number] = pull
        return pull

    def add_release(self, tag: str, *, repository: str = "octo/proj", **more: Any) -> Release:
        """Store a release, newer than those that are there."""
        release = Release(id=self.new_id(), tag=tag, published=self.now(), **more)
        self.repos[repository].releases[release.id] = release
        return release

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The first fault that hits this request."""
        return next((fault for fault in self.faults if fault.hits(method, path)), None)

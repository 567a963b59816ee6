"""What the ports answer with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hf_train.values import ModelLink


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """A folder that could be sent, looked at but not yet uploaded.

    Attributes:
        digest: Content address of the snapshot that it would become.
        files: Number of files.
        size: Bytes in all.
        sha: The commit, empty outside git.
        dirty: Number of tracked files that differ from the commit.
        notes: What is worth knowing, in words.
        content: Content address of what is the user's in it: without our own programs, and without the mark of a launch
            in a copy that a Job may write to. Empty when it is not known.
    """

    digest: str
    files: int
    size: int
    sha: str = ""
    dirty: int = 0
    notes: tuple[str, ...] = ()
    content: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What a fine-grained token may do with one user, organisation or repo.

    Attributes:
        entity: `acme`, or `acme/model`.
        permissions: In the Hub's words: `job.write`, `repo.write`, ...
    """

    entity: str
    permissions: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class RepoFact:
    """What a repo is like, as a token sees it.

    Attributes:
        exists: Whether the token can see it.
        private: Whether it is private; None when that is not known.
        closed: Whether it is gated, and this token was not let in.
        size: Bytes that loading it brings onto the disk; None when that is not known.
        commit: The commit that was looked at, 40 hex digits; empty when there is none of that revision.
    """

    exists: bool
    private: bool | None = None
    closed: bool = False
    size: int | None = None
    commit: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Who a token belongs to.

    Attributes:
        name: User name.
        orgs: Organisations.
        role: `read`, `write`, `fineGrained`, or empty when the Hub does not say.
        scopes: What a fine-grained token may do; None when the Hub does not say, or for another role.
    """

    name: str
    orgs: tuple[str, ...] = ()
    role: str = ""
    scopes: tuple[Scope, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What was found in one repo after the Job.

    Attributes:
        link: The newest commit inside the Job's life, None when there is none.
        note: Why there is none, in words.
        files: Contents of the small result files at that commit, by path.
        problems: What that commit lacks (weights, a model card), in words.
    """

    link: ModelLink | None
    note: str = ""
    files: Mapping[str, bytes] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """The card of a model repo, on its main branch.

    Attributes:
        text: Its content; empty when there is none.
        commits: The branch's commits, the newest first.
    """

    text: str
    commits: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The head of a pull request, as it is now.

    Attributes:
        sha: Its commit, 40 hex digits.
        from_fork: Whether it lies in another repository.
    """

    sha: str
    from_fork: bool

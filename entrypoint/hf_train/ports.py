"""What the flow asks of the world. Adapters fulfil these; tests have fakes that obey the same contract suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

from hf_train.images.ports import Images
from hf_train.values import Annotation, Flavor, JobRef, JobSpec, JobState, ModelLink, Secret, Snapshot


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
        content: Content address without the mark of a launch, for a copy that a Job may write to; else empty.
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
    """

    exists: bool
    private: bool | None = None
    closed: bool = False
    size: int | None = None


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
class Head:
    """The head of a pull request, as it is now.

    Attributes:
        sha: Its commit, 40 hex digits.
        from_fork: Whether it lies in another repository.
    """

    sha: str
    from_fork: bool


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a signal handler may raise out of it."""
        ...


class Console(Protocol):
    """What the user reads in the log of the step."""

    def info(self, text: str = "") -> None:
        """One line of ours."""
        ...

    def group(self, title: str) -> AbstractContextManager[None]:
        """A folded group around what is printed inside."""
        ...

    def notice(self, title: str, message: str) -> None:
        """An annotation without weight."""
        ...

    def warning(self, title: str, message: str) -> None:
        """An annotation that something is worth a look."""
        ...

    def error(self, title: str, message: str, file: str = "", line: int = 0) -> None:
        """The annotation of a failure, beside a line of a file of the repository when one is named."""
        ...

    def untrusted(self) -> AbstractContextManager[None]:
        """A window in which the runner obeys no workflow command; remote lines are printed inside it only."""
        ...

    def remote(self, lines: Sequence[str]) -> None:
        """Lines that a Job printed. Hostile: cleaned, redacted, budgeted."""
        ...

    def whole(self, lines: Sequence[str], *, last: bool = False) -> Sequence[str]:
        """Lines of a Job that are ready to be read: one whose end may be the beginning of a secret waits for the next.

        What is broken over several lines is taken out of each. `last` gives what still waits.
        """
        ...

    def redact(self, text: str) -> str:
        """The text without any known secret, in any of the coats that we know."""
        ...


class LogFeed(Protocol):
    """The live log of one Job, read in the background, best effort."""

    def take(self, timeout_s: float) -> Sequence[str]:
        """New lines; waits up to `timeout_s` seconds for the first."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the Hub closed the stream in good order; lines may be left to take."""
        ...

    def resume(self) -> None:
        """Connect again (now, when it was waiting to): the Job goes on, or its last lines are wanted."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What was wrong with the stream, in words."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


class Hub(Protocol):
    """The Hugging Face Hub, as far as a run needs it.

    Every method raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
    """

    @property
    def endpoint(self) -> str:
        """Base address without a slash at its end."""
        ...

    def whoami(self) -> Account:
        """Owner of the launch token."""
        ...

    def job_owner(self) -> str:
        """Owner of the token that the Job gets; empty when it gets none."""
        ...

    def hardware(self) -> Sequence[Flavor]:
        """Flavors and prices (public)."""
        ...

    def submit(self, spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        """Start a Job. A `TransientHubError` is ambiguous: the Job may exist."""
        ...

    def look(self, ref: JobRef) -> JobState:
        """The Job now. Raises `JobGone` on a 404."""
        ...

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        """Jobs with all of these labels, newest first."""
        ...

    def cancel(self, ref: JobRef) -> None:
        """Cancel, bounded to about two seconds. Cancelling an ended Job is no error."""
        ...

    def relabel(self, ref: JobRef, labels: Mapping[str, str]) -> None:
        """Replace all labels of a Job."""
        ...

    def follow(self, ref: JobRef) -> LogFeed:
        """Start to read the log."""
        ...

    def published(
        self, kind: str, repo: str, since: datetime, until: datetime, extra: Sequence[str], author: str = ""
    ) -> Published:
        """What a repo got from a Job.

        Args:
            kind: `model`, `dataset` or `space`.
            repo: `owner/name`.
            since: Start of the Job.
            until: End of the Job.
            extra: Paths of further files to read, beside the well-known result files.
            author: Account of the Job's token, who must have made the commit; empty when it is not known.
        """
        ...

    def results(self, repo: str, revision: str | None, extra: Sequence[str] = ()) -> Published:
        """The result files of a model repo at a revision, whoever pushed it.

        Args:
            repo: `owner/name`.
            revision: Branch, tag or commit; None for the default branch.
            extra: Paths of further files to read, beside the well-known result files.
        """
        ...


class Publisher(Protocol):
    """Pushes what a Job left in a bucket."""

    def publish(self, bucket: str, folder: str, repo: str, title: str) -> str:
        """Push a folder of a bucket to a model repo as one commit. Returns the commit, 40 hex digits.

        Raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
        """
        ...


class Runs(Protocol):
    """Workflow runs of one repository on GitHub."""

    def is_over(self, run_id: str) -> bool | None:
        """Whether a run has ended, with all its attempts; None when that is not known (404, no answer)."""
        ...


class Access(Protocol):
    """What the preflight asks of the Hub.

    Every method raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
    """

    def job_account(self) -> Account | None:
        """Owner of the token that the Job gets; None when it gets none."""
        ...

    def repo(self, kind: str, repo: str) -> RepoFact:
        """A `model` or `dataset` repo as the Job will see it."""
        ...

    def create(self, repo: str) -> None:
        """Create a private model repo; one that is there already is fine."""
        ...


class Workspace(Protocol):
    """The checkout, and its way into the bucket."""

    def is_file(self, path: str) -> bool:
        """Whether a file of this name is sent with the code (it may not climb out of the sent folder)."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether this is a folder of the workspace."""
        ...

    def read_text(self, path: str) -> str | None:
        """Content of a small text file of the workspace, None when there is none."""
        ...

    def survey(self, folder: str, exclude: Sequence[str], extra: Mapping[PurePosixPath, bytes]) -> Survey:
        """Look at a folder, with further files laid beside it. Raises `BadInput` when it cannot be sent."""
        ...

    def upload(self, survey: Survey, namespace: str) -> Snapshot:
        """Bring a surveyed folder into the bucket, once; an existing snapshot is not sent again."""
        ...


class Scripts(Protocol):
    """Scripts by URL."""

    def fetch(self, url: str) -> bytes:
        """Content of the script. Raises `BadInput` when the URL is not allowed or gives none."""
        ...


class Pulls(Protocol):
    """GitHub. Nothing here changes a verdict: a failure is returned in words."""

    def upsert_comment(self, number: int, key: str, body: str) -> tuple[str, str]:
        """Write the sticky comment whose first line is `key`. Returns (its URL, the problem); one of them is empty."""
        ...

    def base_of(self, number: int) -> tuple[str, str]:
        """Name of the base branch of a pull request. Returns (the name, the problem); one of them is empty."""
        ...

    def merge_base(self, base: str, head: str) -> tuple[str, str]:
        """Newest commit that a branch or commit has in common with another. Returns (its sha, the problem)."""
        ...

    def commit(self, ref: str) -> tuple[str, str]:
        """The commit that `tags/NAME`, `heads/NAME` or a short hash means. Returns (its sha, the problem)."""
        ...

    def previous_comment(self, number: int, key: str) -> str:
        """Body of the sticky comment as it stands, empty when there is none or it cannot be read."""
        ...

    def write_check(
        self,
        sha: str,
        name: str,
        conclusion: str | None,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
    ) -> str:
        """Write a check run; None as conclusion means in progress. Returns the problem, empty when it went well."""
        ...


class People(Protocol):
    """Who may do what, by GitHub's own word. Each answer comes with a problem in words, empty when it went well."""

    def permission(self, login: str) -> tuple[str, str]:
        """What somebody may do here: `admin`, `write`, `read` or `none`."""
        ...

    def head(self, number: int) -> tuple[Head | None, str]:
        """The head of a pull request, now."""
        ...

    def pull_of(self, sha: str) -> tuple[int | None, str]:
        """The open pull request whose head is this commit."""
        ...

    def react(self, number: int, comment_id: int, content: str) -> str:
        """Put a reaction under a comment."""
        ...


class Reports(Protocol):
    """Reports of earlier runs. Nothing here changes a verdict: what is not found is not known.

    Every method raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
    """

    def save(self, bucket: str, paths: Sequence[str], content: str) -> None:
        """Store one report under several paths at once."""
        ...

    def newest(self, bucket: str, folder: str, count: int) -> Sequence[str]:
        """The newest reports of a folder, the newest first; fewer or none when there are no more."""
        ...


class Files(Protocol):
    """Where a run leaves its results."""

    def outputs(self, values: Mapping[str, str]) -> None:
        """Set step outputs (again: the last value wins)."""
        ...

    def summary(self, markdown: str) -> None:
        """Set the job summary of this step."""
        ...

    def log(self, lines: Sequence[str]) -> None:
        """Append to `job.log`."""
        ...

    def report(self, name: str, content: str) -> str:
        """Write a file of the report. Returns its path, empty when there is nowhere to write."""
        ...

    def remember(self, state: Mapping[str, str]) -> None:
        """Write the state file that the cleanup step reads."""
        ...

    def forget(self) -> None:
        """Remove the state file: nothing is left to clean up."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Ports:
    """All of them."""

    hub: Hub
    pulls: Pulls | None
    workspace: Workspace
    scripts: Scripts
    console: Console
    files: Files
    reports: Reports
    clock: Clock
    access: Access | None = None
    people: People | None = None
    images: Images | None = None
    publisher: Publisher | None = None

"""What the flow asks of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hf_train.ports.answers import Account, Card, Published, RepoFact
from hf_train.values import Flavor, GpuUse, JobRef, JobSpec, JobState, Scheduled, Secret


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


class Gauge(Protocol):
    """Use of one running Job's GPUs, read in the background, best effort. Never raises."""

    def use(self) -> Sequence[GpuUse]:
        """Each GPU's use so far; nothing when it is not known."""
        ...

    def close(self) -> None:
        """Stop reading; does not wait."""
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

    def glance(self, ref: JobRef) -> JobState | None:
        """The Job now, asked for less than a second; None when that cannot be had. Never raises."""
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

    def gauge(self, ref: JobRef) -> Gauge:
        """Start to read what a running Job uses of its GPUs."""
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

    def publish(self, bucket: str, folder: str, repo: str, title: str, since: datetime) -> str:
        """Push what a folder of a bucket got since a moment to a model repo. Returns the commit, 40 hex digits.

        Raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
        """
        ...


class Cards(Protocol):
    """Cards of model repos, with a token that may write to them.

    Every method raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
    """

    def read(self, repo: str) -> Card:
        """The card on the main branch."""
        ...

    def write(self, repo: str, text: str, parent: str, title: str) -> str:
        """Commit a card on top of a commit; when the branch has moved on, a `TransientHubError`. Returns the commit."""
        ...


class Trackers(Protocol):
    """What trackers left on the Hub, as the Job's own token sees it."""

    def databases(self, bucket: str, most: int) -> Sequence[bytes]:
        """The newest databases that trackio synced to a bucket, each with at most so many bytes; none without a token.

        Raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
        """
        ...


class Tags(Protocol):
    """Tags of model repos, with a token that may write to them."""

    def tag(self, repo: str, name: str, revision: str, message: str) -> bool:
        """Tag a commit; whether the tag is new. It may be there already, at that very commit.

        Raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
        """
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

    def mounted(self, kind: str, source: str, revision: str | None) -> RepoFact:
        """A `bucket`, or a `model`, `dataset` or `space` at a revision, as the launch token sees it."""
        ...

    def create(self, repo: str) -> None:
        """Create a private model repo; one that is there already is fine."""
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

    def contents(self, bucket: str, paths: Sequence[str], most: int) -> Mapping[str, bytes]:
        """What these files hold, by path; without those that are not there or have more than `most` bytes."""
        ...


class Schedules(Protocol):
    """Scheduled Jobs of the Hub.

    Every method raises `TransientHubError` for an answer that may be better next time, `RefusedByHub` for a clear no.
    """

    def create(
        self, spec: JobSpec, secrets: Mapping[str, Secret], cron: str, *, suspend: bool | None, concurrency: bool | None
    ) -> Scheduled:
        """Make one. A `TransientHubError` is ambiguous: it may exist."""
        ...

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Scheduled]:
        """Those with all of these labels, newest first."""
        ...

    def remove(self, namespace: str, name: str) -> None:
        """Delete one by its id; one that is gone is fine. Its Jobs run on."""
        ...

"""What the flow asks of GitHub."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hf_train.ports.answers import Head
from hf_train.values import Annotation


class Runs(Protocol):
    """Workflow runs of one repository on GitHub."""

    def is_over(self, run_id: str) -> bool | None:
        """Whether a run has ended, with all its attempts; None when that is not known (404, no answer)."""
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

    def pause_s(self) -> float:
        """Seconds for which GitHub asked to be left alone when it refused the last write; 0 when it did not ask."""
        ...

    def pending_check(self, sha: str, name: str) -> str:
        """Title of the check run that this very run left in progress; empty when there is none or it is not known."""
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


class Releases(Protocol):
    """Releases of one repository on GitHub. Nothing here changes a verdict: a failure is returned in words."""

    def previous(self, tag: str) -> tuple[str, str]:
        """Tag of the newest published release before that of a tag. Returns (its name, the problem).

        Both are empty when there is none.
        """
        ...

    def edit(self, tag: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change the body of a tag's release. Returns (its URL, the problem); one of them is empty.

        Args:
            tag: The tag.
            change: From the body that it has to the one that it gets; asked again when somebody else wrote meanwhile.
        """
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

"""Adapter: who may do what on GitHub, through PyGithub. A failure is returned in words: then nothing is known."""

from __future__ import annotations

from github import GithubException

from hf_train.github.client import make_client
from hf_train.ports import Head
from hf_train.values import Secret

_FAILURES = (Exception,)
"""Whatever reading an answer raises: PyGithub trusts each to be JSON of the right form. A signal is no `Exception`."""


class GitHubPeople:
    """The `ports.People` of a real run.

    Args:
        api_url: `GITHUB_API_URL`.
        token: The workflow's token.
        repository: `owner/name`.
    """

    def __init__(self, api_url: str, token: Secret, repository: str) -> None:
        self._repo = make_client(api_url, token).get_repo(repository)
        self._name = repository.lower()

    def permission(self, login: str) -> tuple[str, str]:
        """`GET /repos/{repo}/collaborators/{login}/permission`: maintainers show as `write` there."""
        try:
            return self._repo.get_collaborator_permission(login), ""
        except _FAILURES as error:
            # GitHub answers 404 for a login that is nobody; that is no permission, and no doubt.
            if isinstance(error, GithubException) and error.status == 404:
                return "none", ""
            return "", _words(error)

    def head(self, number: int) -> tuple[Head | None, str]:
        """`GET /repos/{repo}/pulls/{number}`; a deleted fork is a fork."""
        try:
            pull = self._repo.get_pull(number)
            repo: object = pull.head.repo  # None when the fork was deleted, whatever its annotation says
            name = pull.head.repo.full_name if repo else ""
            return Head(sha=pull.head.sha, from_fork=name.lower() != self._name), ""
        except _FAILURES as error:
            return None, _words(error)

    def pull_of(self, sha: str) -> tuple[int | None, str]:
        """`GET /repos/{repo}/commits/{sha}/pulls`, and of those the open one whose head it is."""
        try:
            found = [pull for pull in self._repo.get_commit(sha).get_pulls() if pull.head.sha == sha]
        except _FAILURES as error:
            return None, _words(error)
        opened = [pull.number for pull in found if pull.state == "open"]
        return (
            (opened[0], "") if len(opened) == 1 else (None, f"{len(opened)} open pull requests have it as their head")
        )

    def react(self, number: int, comment_id: int, content: str) -> str:
        """`POST /repos/{repo}/issues/comments/{id}/reactions`; the same reaction twice is one."""
        try:
            self._repo.get_issue(number).get_comment(comment_id).create_reaction(content)
        except _FAILURES as error:
            return _words(error)
        return ""


def _words(error: Exception) -> str:
    if isinstance(error, GithubException):
        return f"GitHub answers {error.status}"
    return f"GitHub does not answer ({type(error).__name__})"

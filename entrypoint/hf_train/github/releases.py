"""Adapter: releases of one repository, through PyGithub. Nothing here may change a verdict: failures are words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from github import GithubException

from hf_train.github.client import make_client
from hf_train.values import Secret

MAX_RELEASES = 300
MAX_BODY = 125_000
"""GitHub takes no more characters (422, `body is too long`)."""
TRIES = 3
_WORDS = {
    401: "the GitHub token is not accepted",
    403: "the GitHub token may not do so (`permissions:` without `contents: write`)",
    404: "there is no release of this tag, or the token cannot see it; make it first (`gh release create`)",
    422: "GitHub does not accept the text",
}


class GitHubReleases:
    """The `ports.Releases` of a real run.

    Args:
        api_url: `GITHUB_API_URL`.
        token: The workflow's token, with `contents: write`.
        repository: `owner/name`.
    """

    def __init__(self, api_url: str, token: Secret, repository: str) -> None:
        self._github = make_client(api_url, token)
        self._repository = repository

    def previous(self, tag: str) -> tuple[str, str]:
        """Tag of the newest published release before that of a tag; drafts and pre-releases are none."""
        try:
            found = list(islice(self._github.get_repo(self._repository).get_releases(), MAX_RELEASES))
            own = next((one.published_at for one in found if one.tag_name == tag), None)
            before = [
                one
                for one in found
                if not (one.draft or one.prerelease) and one.tag_name != tag and (own is None or one.published_at < own)
            ]
            newest = max(before, key=lambda one: one.published_at, default=None)
            return (newest.tag_name, "") if newest else ("", "")
        except Exception as error:  # noqa: BLE001  (PyGithub trusts each answer to be JSON of the right form)
            return "", _words(error)

    def edit(self, tag: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change the body of a tag's release. Read again afterwards: the legs of a matrix write into the same one."""
        try:
            for _ in range(TRIES):
                release = self._github.get_repo(self._repository).get_release(tag)
                body = release.body or ""
                text = change(body)
                if text == body:
                    return str(release.html_url), ""
                if len(text) > MAX_BODY:
                    return "", f"the body would have more than {MAX_BODY:,} characters"
                # By hand: `update_release` sends name, draft and pre-release too, as they were or by its own defaults.
                path = f"/repos/{self._repository}/releases/{release.id}"
                self._github.requester.requestJsonAndCheck("PATCH", path, input={"body": text})
        except Exception as error:  # noqa: BLE001
            return "", _words(error)
        return "", "others write into it at the same time"


def _words(error: Exception) -> str:
    if isinstance(error, GithubException):
        return _WORDS.get(error.status, f"GitHub answers {error.status}")
    return f"GitHub does not answer ({type(error).__name__})"

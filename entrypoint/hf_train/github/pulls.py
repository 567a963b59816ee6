"""Adapter: the pull request, through PyGithub. Nothing here may change a verdict: failures are returned in words."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence

import requests
from github import GithubException, UnknownObjectException
from github.GithubObject import NotSet
from github.IssueComment import IssueComment
from github.Repository import Repository

from hf_train.github.client import make_client
from hf_train.report import age
from hf_train.values import Annotation, Secret

_FAILURES = (Exception,)
"""Whatever reading an answer raises: PyGithub trusts each to be JSON of the right form. A signal is no `Exception`."""
MAX_COMMENTS = 3000
UNNAMED_PAUSE_S = 60.0
"""GitHub: without `retry-after` and with requests left, wait at least one minute (REST docs, secondary rate limits)."""
_WORDS = {
    401: "the GitHub token is not accepted",
    403: "the GitHub token may not write here (a fork, or `permissions:` without `pull-requests: write`)",
    404: "GitHub does not know this pull request, or the token cannot see it",
    410: "the conversation is gone",
    422: "GitHub does not accept the text",
}
_SECONDS = re.compile(r"[0-9]{1,12}")
_UNKNOWN = "GitHub does not know it, or the token may not read it (`contents: read`)"
_OF_COMMITS = {401: _WORDS[401], 403: _UNKNOWN, 404: _UNKNOWN, 422: _UNKNOWN}


class GitHubPulls:
    """The `ports.Pulls` of a real run.

    Args:
        api_url: `GITHUB_API_URL`.
        token: The workflow's token.
        repository: `owner/name`.
        resumes: Whether a check that an earlier step left pending is gone on with, instead of a new one.
        origin: Which run writes here (`RUN.ATTEMPT`): kept with each check as its `external_id`.
    """

    def __init__(
        self, api_url: str, token: Secret, repository: str, *, resumes: bool = False, origin: str = ""
    ) -> None:
        self._github = make_client(api_url, token)
        self._repository = repository
        self._checks: dict[str, int] = {}
        self._resumes = resumes
        self._origin = origin
        self._login: str | None = None
        self._pause_s = 0.0

    def pause_s(self) -> float:
        """For how long GitHub asked to be left alone when it refused the last write."""
        return self._pause_s

    def upsert_comment(self, number: int, key: str, body: str) -> tuple[str, str]:
        """Write the sticky comment; an older double of ours (two runs raced) is removed."""
        self._pause_s = 0.0
        try:
            return self._upsert(number, key, body), ""
        except _OutdatedError as error:
            return "", str(error)
        except _FAILURES as error:
            self._pause_s = _pause_of(error)
            return "", _words(error)

    def base_of(self, number: int) -> tuple[str, str]:
        """Name of the base branch: the event of a comment does not hold it."""
        try:
            return self._repo().get_pull(number).base.ref, ""
        except _FAILURES as error:
            return "", _words(error, _OF_COMMITS)

    def merge_base(self, base: str, head: str) -> tuple[str, str]:
        """Newest commit that both have, by GitHub's own history: a shallow clone does not hold it."""
        try:
            return self._repo().compare(base, head, comparison_commits_per_page=1).merge_base_commit.sha, ""
        except _FAILURES as error:
            return "", _words(error, _OF_COMMITS)

    def commit(self, ref: str) -> tuple[str, str]:
        """The commit that a ref means."""
        try:
            return str(self._repo().get_commit(ref).raw_data["sha"]), ""  # the lazy object would echo the ref
        except _FAILURES as error:
            return "", _words(error, _OF_COMMITS)

    def previous_comment(self, number: int, key: str) -> str:
        """Body of the sticky comment."""
        try:
            found = next(self._mine(number, key), None)
        except _FAILURES:
            return ""
        return found.body if found else ""

    def pending_check(self, sha: str, name: str) -> str:
        """Title of the check that this very run left in progress; it is the one that is written from now on."""
        try:
            for run in self._repo().get_commit(sha).get_check_runs(check_name=name, status="in_progress"):
                if self._origin and run.external_id == self._origin:
                    self._checks[name] = run.id
                    return run.output.title or ""
        except _FAILURES:
            return ""
        return ""

    def write_check(
        self,
        sha: str,
        name: str,
        conclusion: str | None,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
    ) -> str:
        """Write a check run. Annotations are added to those that it has, so they come with the last word only."""
        output: dict[str, str | list[dict[str, str | int]]] = {"title": title[:200], "summary": summary[:60_000]}
        if annotations:
            output["annotations"] = [_annotation(one) for one in annotations]
        self._pause_s = 0.0
        origin = self._origin or NotSet
        try:
            repo = self._repo()
            if self._resumes and name not in self._checks:
                pending = repo.get_commit(sha).get_check_runs(check_name=name, status="in_progress")
                if (found := next(iter(pending), None)) is not None:
                    self._checks[name] = found.id
            if name in self._checks:
                run = repo.get_check_run(self._checks[name])
                if conclusion:
                    run.edit(status="completed", conclusion=conclusion, output=output)
                else:
                    run.edit(status="in_progress", output=output)
            elif conclusion:
                repo.create_check_run(
                    name, sha, external_id=origin, status="completed", conclusion=conclusion, output=output
                )
            else:
                created = repo.create_check_run(name, sha, external_id=origin, status="in_progress", output=output)
                self._checks[name] = created.id
        except _FAILURES as error:
            self._pause_s = _pause_of(error)
            return _words(error)
        return ""

    def _repo(self) -> Repository:
        return self._github.get_repo(self._repository)

    def _upsert(self, number: int, key: str, body: str) -> str:
        found = next(self._mine(number, key), None)
        if found is not None:
            _in_order(found, body)
            if found.body != body:
                found.edit(body)
            return str(found.html_url)
        issue = self._repo().get_issue(number)
        try:
            created = issue.create_comment(body)
        except (requests.RequestException, GithubException) as error:
            if isinstance(error, GithubException) and error.status < 500:
                raise
            # No clear answer: it may be stored all the same, and a second POST would make two.
            stored = next(self._mine(number, key), None)
            if stored is None:
                raise
            return str(stored.html_url)
        doubles = list(self._mine(number, key))
        for double in doubles[1:]:
            with contextlib.suppress(UnknownObjectException):  # the other run was quicker
                double.delete()
        if doubles and doubles[0].id != created.id:
            _in_order(doubles[0], body)
            doubles[0].edit(body)
            return str(doubles[0].html_url)
        return str(created.html_url)

    def _mine(self, number: int, key: str) -> Iterator[IssueComment]:
        """Our comments of this key, oldest first: by first line and by author, for anybody can paste a marker."""
        issue = self._repo().get_issue(number)
        for count, comment in enumerate(issue.get_comments()):
            if count >= MAX_COMMENTS:
                return
            if (comment.body or "").startswith(key) and self._is_me(comment):
                yield comment

    def _is_me(self, comment: IssueComment) -> bool:
        """Whether the token's own identity wrote it. A workflow's token may not ask who it is; then any bot is us."""
        if self._login is None:
            try:
                self._login = self._github.get_user().login
            except GithubException as error:
                if _pause_of(error):
                    raise  # not a no: a person's token asked too often
                self._login = ""
        user: object = comment.user  # None for an account that is gone, whatever its annotation says
        author = comment.user.login if user else ""
        return author == self._login if self._login else author.endswith("[bot]")


class _OutdatedError(Exception):
    """The comment tells of a newer run."""


def _in_order(there: IssueComment, body: str) -> None:
    """A run that was overtaken (a push cancelled it) has the last word of its own, not that of the pull request.

    Raises:
        _OutdatedError: What stands there is of a newer run, or of a later attempt.
    """
    if age(there.body) > age(body) > (0, 0):
        message = "a newer run of the workflow has written it"
        raise _OutdatedError(message)


def _annotation(one: Annotation) -> dict[str, str | int]:
    return {
        "path": one.path,
        "start_line": one.line,
        "end_line": one.line,
        "annotation_level": one.level,
        "title": one.title[:200],
        "message": one.message[:4000],
    }


def _words(error: Exception, words: Mapping[int, str] = _WORDS) -> str:
    if isinstance(error, GithubException):
        if pause := _pause_of(error):
            return f"GitHub limits how often it is asked, and wants {pause:.0f} s of quiet"
        return words.get(error.status, f"GitHub answers {error.status}")
    return f"GitHub does not answer ({type(error).__name__})"


def _pause_of(error: Exception) -> float:
    """Seconds of quiet that an answer asks for: 0 when it is no limit of GitHub's, else at least one.

    Source: GitHub's REST documentation, "Rate limits for the REST API": 403 or 429; `retry-after` counts first, then
    `x-ratelimit-reset` (UTC epoch seconds) when `x-ratelimit-remaining` is 0, else a minute. A 403 without any of it
    is a lack of rights.
    """
    if not isinstance(error, GithubException) or error.status not in {403, 429}:
        return 0.0
    headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if _SECONDS.fullmatch(after):
        return max(1.0, float(after))
    if headers.get("x-ratelimit-remaining") == "0" and _SECONDS.fullmatch(reset):
        return max(1.0, float(reset) - time.time())
    limited = error.status == 429 or "rate limit" in str(error).lower()
    return UNNAMED_PAUSE_S if limited else 0.0

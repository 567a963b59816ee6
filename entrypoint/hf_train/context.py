"""Where am I: the repository, the commit, the event and the pull request. Pure: the caller passes what it read.

Source of the variables: GitHub's documentation of default environment variables and of webhook payloads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Pull:
    """The pull request that this run belongs to.

    Attributes:
        number: Its number.
        head_sha: The commit that people see, not the merge commit.
        base_sha: Tip of the base branch when the event was made.
        base_ref: Name of the base branch.
        from_fork: Whether the head lies in another repository.
        author: Login of its author.
    """

    number: int
    head_sha: str = ""
    base_sha: str = ""
    base_ref: str = ""
    from_fork: bool = False
    author: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventComment:
    """The comment on a pull request that an event brought. Somebody's text: nothing in it is true by itself.

    Attributes:
        id: Its id.
        body: Its text.
        author: Login of its author.
        created: When it was written, as GitHub gives it (ISO 8601).
    """

    id: int
    body: str
    author: str
    created: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Where this run stands. Empty strings mean that it is not known (on a laptop, for instance).

    Attributes:
        on_github: Whether a GitHub runner runs us.
        repository: `owner/name`.
        sha: The commit that is checked out by the event's own word (a merge commit on a pull request).
        ref: Full ref of the event.
        event: Name of the event.
        pull: The pull request, if there is one.
        run_id: Id of the workflow run; the same for all its attempts.
        run_attempt: 1 for the first.
        run_number: Counts the runs of this workflow.
        workflow: Name of the workflow.
        job: Id of the job.
        matrix: Values of the matrix leg, as `name=value` words.
        actor: Who started the run.
        action: What happened, by the payload: `opened`, `labeled`, `created`, ...
        label: The label that was set, of a `labeled` event.
        sender: Login of whoever did it.
        comment: The new comment on a pull request, of an `issue_comment` event.
        followed_sha: Head of the workflow run that a `workflow_run` event follows.
        server_url: GitHub's web address.
        api_url: GitHub's REST address.
        private: Whether the repository is private; None when the event does not say.
        workspace: Folder of the checkout.
        output_file: File for step outputs.
        summary_file: File for the job summary.
        temp: Folder that the runner removes after the job.
        debug: Whether the runner's debug log is on.
        self_hosted: Whether the runner is not one of GitHub's own.
    """

    on_github: bool = False
    repository: str = ""
    sha: str = ""
    ref: str = ""
    event: str = ""
    pull: Pull | None = None
    run_id: str = ""
    run_attempt: int = 1
    run_number: int = 0
    workflow: str = ""
    job: str = ""
    matrix: str = ""
    actor: str = ""
    action: str = ""
    label: str = ""
    sender: str = ""
    comment: EventComment | None = None
    followed_sha: str = ""
    server_url: str = "https://github.com"
    api_url: str = "https://api.github.com"
    private: bool | None = None
    workspace: str = "."
    output_file: str = ""
    summary_file: str = ""
    temp: str = ""
    debug: bool = False
    self_hosted: bool = False

    @property
    def hosted(self) -> bool:
        """Whether one of GitHub's own runners runs us, which end after 6 hours."""
        return self.on_github and not self.self_hosted

    @property
    def run_url(self) -> str:
        """Page of this workflow run, empty outside GitHub."""
        if not (self.repository and self.run_id):
            return ""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"

    @property
    def origin(self) -> str:
        """`RUN.ATTEMPT` of this workflow run, empty outside GitHub."""
        return f"{self.run_id}.{self.run_attempt}" if self.run_id else ""

    @property
    def head_sha(self) -> str:
        """The commit that people see: the pull request's head, else the checked-out one."""
        return (self.pull.head_sha if self.pull else "") or self.sha

    @property
    def tag(self) -> str:
        """The Git tag of the event; empty when it is about none."""
        return self.ref.removeprefix("refs/tags/") if self.ref.startswith("refs/tags/") else ""

    @property
    def comment_key(self) -> str:
        """Default key of the sticky comment: workflow / job / matrix leg."""
        parts = [part for part in (self.workflow, self.job, self.matrix) if part]
        return " / ".join(parts) or "hf-train"


def read_context(environ: Mapping[str, str], event: Mapping[str, Any], *, workspace: str = ".") -> Context:
    """Build the context.

    Args:
        environ: The process environment.
        event: The webhook payload at `GITHUB_EVENT_PATH`, empty when there is none.
        workspace: Folder of the checkout when `GITHUB_WORKSPACE` is not set.
    """
    repository = environ.get("GITHUB_REPOSITORY", "")
    on_github = environ.get("GITHUB_ACTIONS") == "true"
    return Context(
        on_github=on_github,
        repository=repository,
        sha=environ.get("GITHUB_SHA", ""),
        ref=environ.get("GITHUB_REF", ""),
        event=environ.get("GITHUB_EVENT_NAME", ""),
        pull=_pull(environ, event, repository),
        run_id=environ.get("GITHUB_RUN_ID", ""),
        run_attempt=_number(environ.get("GITHUB_RUN_ATTEMPT"), 1),
        run_number=_number(environ.get("GITHUB_RUN_NUMBER"), 0),
        workflow=environ.get("GITHUB_WORKFLOW", ""),
        job=environ.get("GITHUB_JOB", ""),
        matrix=_matrix(environ.get("HF_TRAIN_MATRIX", "")),
        actor=environ.get("GITHUB_ACTOR", ""),
        action=str(event.get("action") or ""),
        label=str(_mapping(event.get("label")).get("name") or ""),
        sender=str(_mapping(event.get("sender")).get("login") or ""),
        comment=_comment(environ, event),
        followed_sha=str(_mapping(event.get("workflow_run")).get("head_sha") or ""),
        server_url=(environ.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/"),
        api_url=(environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/"),
        private=_private(event),
        workspace=environ.get("GITHUB_WORKSPACE") or workspace,
        output_file=environ.get("GITHUB_OUTPUT", ""),
        summary_file=environ.get("GITHUB_STEP_SUMMARY", ""),
        temp=environ.get("RUNNER_TEMP", ""),
        debug=environ.get("RUNNER_DEBUG") == "1",
        self_hosted=environ.get("RUNNER_ENVIRONMENT") == "self-hosted",
    )


def _number(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else default


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _pull(environ: Mapping[str, str], event: Mapping[str, Any], repository: str) -> Pull | None:
    payload = _mapping(event.get("pull_request"))
    if isinstance(payload.get("number"), int):
        head, base = _mapping(payload.get("head")), _mapping(payload.get("base"))
        head_repo = _mapping(head.get("repo")).get("full_name")
        return Pull(
            number=payload["number"],
            head_sha=str(head.get("sha") or ""),
            base_sha=str(base.get("sha") or ""),
            base_ref=str(base.get("ref") or ""),
            # A deleted fork has no repo left; it was a fork all the same.
            from_fork=not head_repo or str(head_repo).lower() != repository.lower(),
            author=str(_mapping(payload.get("user")).get("login") or ""),
        )
    issue = _mapping(event.get("issue"))
    if "pull_request" in issue and isinstance(issue.get("number"), int):
        author = str(_mapping(issue.get("user")).get("login") or "")
        return Pull(number=issue["number"], from_fork=True, author=author)
    match = re.fullmatch(r"refs/pull/(\d+)/(?:merge|head)", environ.get("GITHUB_REF", ""))
    return Pull(number=int(match[1]), from_fork=True) if match else None


def _comment(environ: Mapping[str, str], event: Mapping[str, Any]) -> EventComment | None:
    """A new comment on a pull request; an edited one is none, for its author need not be its editor."""
    comment, issue = _mapping(event.get("comment")), _mapping(event.get("issue"))
    if environ.get("GITHUB_EVENT_NAME") != "issue_comment" or event.get("action") != "created":
        return None
    if "pull_request" not in issue or not isinstance(comment.get("id"), int):
        return None
    author = str(_mapping(comment.get("user")).get("login") or "")
    body, created = str(comment.get("body") or ""), str(comment.get("created_at") or "")
    return EventComment(id=comment["id"], body=body, author=author, created=created)


def _private(event: Mapping[str, Any]) -> bool | None:
    value = _mapping(event.get("repository")).get("private")
    return value if isinstance(value, bool) else None


def _matrix(text: str) -> str:
    """`{"lr": 0.1, "seed": 2}` as `lr=0.1, seed=2`; anything else is no matrix. Two legs never look the same."""
    try:
        values = json.loads(text) if text else None
    except ValueError:
        return ""
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in _mapping(values).items()}
    return ", ".join(f"{name}={word}" for name, word in words.items())

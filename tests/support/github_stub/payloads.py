"""What the stub says: its values in the shapes of GitHub's REST API."""

from __future__ import annotations

from typing import Any

from support.github_stub.state import BOT, Comment, Pull, Release, Repo, WorkflowRun


def user(login: str) -> dict[str, Any]:
    """A simple user."""
    return {"login": login, "id": abs(hash(login)) % 10**6, "type": "Bot" if login.endswith("[bot]") else "User"}


def repository(repo: Repo, api: str) -> dict[str, Any]:
    """A minimal repository."""
    owner = repo.name.split("/", 1)[0]
    return {
        "id": 1296269,
        "name": repo.name.split("/", 1)[1],
        "full_name": repo.name,
        "owner": user(owner),
        "private": repo.private,
        "visibility": "private" if repo.private else "public",
        "default_branch": "main",
        "url": f"{api}/repos/{repo.name}",
    }


def comment(repo: Repo, value: Comment, api: str, web: str) -> dict[str, Any]:
    """An issue comment."""
    return {
        "id": value.id,
        "url": f"{api}/repos/{repo.name}/issues/comments/{value.id}",
        "html_url": f"{web}/{repo.name}/pull/{value.number}#issuecomment-{value.id}",
        "issue_url": f"{api}/repos/{repo.name}/issues/{value.number}",
        "body": value.body,
        "user": user(value.login),
        "created_at": value.created,
        "updated_at": value.updated,
        "author_association": "NONE" if value.login == BOT else "CONTRIBUTOR",
    }


def issue(repo: Repo, value: Pull, api: str, web: str) -> dict[str, Any]:
    """A pull request in the shape of an issue."""
    return {
        "number": value.number,
        "url": f"{api}/repos/{repo.name}/issues/{value.number}",
        "comments_url": f"{api}/repos/{repo.name}/issues/{value.number}/comments",
        "html_url": f"{web}/{repo.name}/pull/{value.number}",
        "title": value.title,
        "state": value.state,
        "locked": value.locked,
        "user": user(value.login),
        "labels": [{"name": name} for name in value.labels],
        "pull_request": {"url": f"{api}/repos/{repo.name}/pulls/{value.number}"},
    }


def pull(repo: Repo, value: Pull, api: str, web: str) -> dict[str, Any]:
    """A pull request."""
    head_repo = {"full_name": value.head_repo, "private": repo.private, "fork": value.head_repo != repo.name}
    return {
        **issue(repo, value, api, web),
        "url": f"{api}/repos/{repo.name}/pulls/{value.number}",
        "head": {"ref": value.head_ref, "sha": value.head_sha, "repo": head_repo, "label": f"octo:{value.head_ref}"},
        "base": {"ref": value.base_ref, "sha": value.base_sha, "repo": repository(repo, api)},
        "draft": False,
        "merged": False,
    }


def workflow_run(repo: Repo, value: WorkflowRun, api: str, web: str) -> dict[str, Any]:
    """A workflow run."""
    return {
        "id": value.id,
        "name": value.name,
        "head_sha": value.head_sha,
        "head_branch": value.head_branch,
        "event": value.event,
        "status": value.status,
        "conclusion": value.conclusion,
        "run_attempt": value.attempt,
        "url": f"{api}/repos/{repo.name}/actions/runs/{value.id}",
        "html_url": f"{web}/{repo.name}/actions/runs/{value.id}",
        "cancel_url": f"{api}/repos/{repo.name}/actions/runs/{value.id}/cancel",
        "created_at": "2026-12-01T12:00:00Z",
        "updated_at": "2026-12-01T12:00:00Z",
    }


def release(repo: Repo, value: Release, api: str, web: str) -> dict[str, Any]:
    """A release (REST docs: releases)."""
    return {
        "id": value.id,
        "url": f"{api}/repos/{repo.name}/releases/{value.id}",
        "html_url": f"{web}/{repo.name}/releases/tag/{value.tag}",
        "tag_name": value.tag,
        "name": value.name,
        "body": value.body,
        "draft": value.draft,
        "prerelease": value.prerelease,
        "created_at": value.published,
        "published_at": None if value.draft else value.published,
    }

"""Making, naming and removing repos, branches and tags."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_account, require_namespace, require_visible, require_write
from hf_train.local_hub.buckets.routes import NAME
from hf_train.local_hub.buckets.store import BucketStore
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.http import iso, now
from hf_train.local_hub.repos.access import API, RepoAccess, require_gate
from hf_train.local_hub.repos.git import Commit, is_ref_name
from hf_train.local_hub.repos.info import moment
from hf_train.local_hub.repos.store import TYPES, Repo

_SPACE_KEYS = ("sdk", "hardware", "sleepTimeSeconds", "variables", "template", "volumes")


class RepoRoutes:
    """Handlers.

    Args:
        access: Repos and who asks.
        buckets: Buckets are moved by the same route.
    """

    def __init__(self, access: RepoAccess, buckets: BucketStore) -> None:
        self.access, self.buckets = access, buckets

    def routes(self) -> list[BaseRoute]:
        """All routes of this room."""
        return [
            CallRoute(["POST"], r"/api/repos/create", self.create),
            CallRoute(["DELETE"], r"/api/repos/delete", self.delete),
            CallRoute(["POST"], r"/api/repos/move", self.move),
            CallRoute(["PUT"], rf"{API}/settings", self.settings),
            CallRoute(["GET"], rf"{API}/auth-check", self.auth_check),
            CallRoute(["GET"], rf"{API}/refs", self.refs),
            CallRoute(["POST"], rf"{API}/branch/(?P<branch>[^/]+)", self.create_branch),
            CallRoute(["DELETE"], rf"{API}/branch/(?P<branch>[^/]+)", self.delete_branch),
            CallRoute(["POST"], rf"{API}/tag/(?P<revision>[^/]+)", self.create_tag),
            CallRoute(["DELETE"], rf"{API}/tag/(?P<tag>[^/]+)", self.delete_tag),
            CallRoute(["GET"], rf"{API}/commits/(?P<revision>[^/]+)", self.commits),
            CallRoute(["POST"], rf"{API}/super-squash/(?P<branch>[^/]+)", self.super_squash),
        ]

    def create(self, call: Call) -> Response:
        """Make a repo. The body has `private` (clients before 2) or `visibility`."""
        account = require_account(self.access.accounts, call)
        body = call.json()
        repo_type, name = str(body.get("type") or "model"), str(body.get("name") or "")
        namespace = str(body.get("organization") or account.name)
        repo_id = f"{namespace}/{name}"
        full_id = repo_id if repo_type == "model" else f"{repo_type}s/{repo_id}"
        if repo_type not in TYPES:
            raise HubError(400, f"Invalid repo type {repo_type!r}")
        if NAME.fullmatch(name) is None:
            raise HubError(400, f'Invalid repo name: "{name}"')
        existing = self.access.store.get(repo_type, repo_id)
        if existing is not None and (not existing.private or account.sees(namespace)):
            message = f"You already created this {repo_type} repo: {existing.id}"
            raise HubError(409, message, url=self.access.page(existing))
        require_namespace(account, namespace, repo_type, full_id)
        if repo_type == "space" and not body.get("sdk"):
            raise HubError(400, '"sdk" is required for a Space')
        extra = {key: body[key] for key in _SPACE_KEYS if body.get(key) is not None}
        private = body.get("private") is True or body.get("visibility") == "private"
        repo = self.access.store.create(repo_type, repo_id, author=account.name, private=private, extra=extra)
        if repo is None:
            raise HubError(
                409, f"You already created this {repo_type} repo", url=f"{self.access.hub.endpoint}/{full_id}"
            )
        return JSONResponse({"url": self.access.page(repo), "name": repo_id, "id": repo.key})

    def _owned(self, call: Call, repo_type: str, repo_id: str) -> Repo:
        account = require_account(self.access.accounts, call)
        repo = self.access.store.get(repo_type, repo_id)
        private = repo is not None and repo.private
        require_visible(account, repo_id.split("/")[0], exists=repo is not None, private=private)
        assert repo is not None  # noqa: S101 - require_visible raised
        require_write(account, repo.namespace, repo.full_id)
        return repo

    def delete(self, call: Call) -> Response:
        """Remove a repo."""
        body = call.json()
        namespace = body.get("organization") or require_account(self.access.accounts, call).name
        self.access.store.delete(self._owned(call, str(body.get("type") or "model"), f"{namespace}/{body.get('name')}"))
        return JSONResponse({})

    def move(self, call: Call) -> Response:
        """Give a repo or bucket another name."""
        body = call.json()
        repo_type, old, new = str(body.get("type") or "model"), str(body.get("fromRepo")), str(body.get("toRepo"))
        account = require_account(self.access.accounts, call)
        namespace, _, name = new.partition("/")
        if NAME.fullmatch(name) is None:
            raise HubError(400, f'Invalid repo name: "{new}"')
        moved: Callable[[], bool]
        if repo_type == "bucket":
            bucket = self.buckets.get(old)
            private = bucket is not None and bucket.private
            require_visible(account, old.split("/")[0], exists=bucket is not None, private=private)
            assert bucket is not None  # noqa: S101 - require_visible raised
            require_write(account, old.split("/")[0], f"buckets/{old}")
            moved = lambda: self.buckets.move(bucket, new)  # noqa: E731 - two ways to do one thing
        else:
            repo = self._owned(call, repo_type, old)
            moved = lambda: self.access.store.move(repo, new)  # noqa: E731
        if not account.may_write(namespace):
            raise HubError(403, f"You don't have the rights to move a repo to the namespace {namespace}")
        if not moved():
            raise HubError(409, f"A {repo_type} repository called {new} already exists")
        return JSONResponse({})

    def settings(self, call: Call) -> Response:
        """Change visibility and gating."""
        repo, _ = self.access.writable(call)
        body = call.json()
        if "private" in body or "visibility" in body:
            repo.private = body.get("private") is True or body.get("visibility") == "private"
        if "gated" in body:
            if body["gated"] not in ("auto", "manual", False):
                raise HubError(400, '"gated" must be one of: auto, manual, false')
            repo.gated = body["gated"]
        repo.save()
        return JSONResponse({"private": repo.private, "gated": repo.gated})

    def auth_check(self, call: Call) -> Response:
        """200 when the caller may read the repo."""
        repo, account = self.access.visible(call)
        require_gate(repo, account)
        return JSONResponse({})

    def refs(self, call: Call) -> Response:
        """Branches, tags, converted branches and, when asked for, pull requests."""
        repo, _ = self.access.visible(call)
        kinds = {
            "branches": "refs/heads/",
            "tags": "refs/tags/",
            "converts": "refs/convert/",
            "pullRequests": "refs/pr/",
        }
        if not call.flag("include_prs"):
            del kinds["pullRequests"]
        all_refs = repo.git.refs()
        return JSONResponse(
            {
                kind: [
                    {"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": commit}
                    for ref, commit in all_refs.items()
                    if ref.startswith(prefix)
                ]
                for kind, prefix in kinds.items()
            }
        )

    def create_branch(self, call: Call) -> Response:
        """Make a branch, from `startingPoint` or main."""
        repo, _ = self.access.writable(call)
        branch, body = call.params["branch"], call.json()
        if branch.startswith("refs/") or not is_ref_name(branch):
            raise HubError(400, f"Invalid reference for a branch: {branch}")
        with repo.lock:
            start = self.access.commit(repo, str(body.get("startingPoint") or "main"))
            exists = f"refs/heads/{branch}" in repo.git.refs("refs/heads/")
            if exists and not body.get("overwrite"):
                raise HubError(409, f"Reference refs/heads/{branch} already exists")
            repo.git.set_ref(f"refs/heads/{branch}", start)
        return JSONResponse({})

    def delete_branch(self, call: Call) -> Response:
        """Remove a branch; main stays."""
        repo, _ = self.access.writable(call)
        branch = call.params["branch"]
        if branch == "main":
            raise HubError(403, "Cannot delete refs/heads/main")
        with repo.lock:
            if f"refs/heads/{branch}" not in repo.git.refs("refs/heads/"):
                raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            repo.git.delete_ref(f"refs/heads/{branch}")
        return JSONResponse({})

    def create_tag(self, call: Call) -> Response:
        """Make a tag on a revision; an annotated one when it has a message."""
        repo, account = self.access.writable(call)
        body = call.json()
        tag, message = str(body.get("tag") or ""), body.get("message")
        with repo.lock:
            commit = self.access.commit(repo, call.params["revision"])
            if tag.startswith("refs/") or not is_ref_name(tag):
                raise HubError(400, f"Invalid reference for a tag: {tag}")
            if f"refs/tags/{tag}" in repo.git.refs("refs/tags/"):
                raise HubError(409, f"Reference refs/tags/{tag} already exists")
            if message:
                repo.git.tag(tag, commit, message=str(message), author=account.name, time=int(time.time()))
            else:
                repo.git.set_ref(f"refs/tags/{tag}", commit)
        return JSONResponse({})

    def delete_tag(self, call: Call) -> Response:
        """Remove a tag."""
        repo, _ = self.access.writable(call)
        tag = call.params["tag"]
        with repo.lock:
            if f"refs/tags/{tag}" not in repo.git.refs("refs/tags/"):
                raise HubError(404, f"Invalid rev id: {tag}", "RevisionNotFound")
            repo.git.delete_ref(f"refs/tags/{tag}")
        return JSONResponse({})

    def commits(self, call: Call) -> Response:
        """The history of a revision, newest first, in pages."""
        repo, _ = self.access.visible(call)
        head = self.access.commit(repo, call.params["revision"])
        limit = call.number("limit", 50, low=1, high=1000)
        page = call.number("p", 0, low=0, high=1_000_000)
        formatted = "formatted" in call.request.query_params.getlist("expand[]")
        total = repo.git.count(head)
        items = [
            _commit_json(commit, formatted=formatted) for commit in repo.git.log(head, skip=page * limit, count=limit)
        ]
        headers = {"X-Total-Count": str(total)}
        if (page + 1) * limit < total:
            headers |= call.next_link(self.access.hub.endpoint, p=page + 1)
        return JSONResponse(items, headers=headers)

    def super_squash(self, call: Call) -> Response:
        """Make one commit of a branch."""
        repo, account = self.access.writable(call)
        branch = call.params["branch"]
        ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
        with repo.lock:
            head = repo.git.refs(ref).get(ref)
            if head is None:
                raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            message = str(call.json().get("message") or f"Super-squash branch '{branch}'")
            repo.git.set_ref(ref, repo.git.squash(head, author=account.name, message=message, time=int(time.time())))
        return JSONResponse({"date": iso(now())})


def _commit_json(commit: Commit, *, formatted: bool) -> dict[str, object]:
    item: dict[str, object] = {
        "id": commit.oid,
        "title": commit.title,
        "message": commit.message,
        "authors": [{"user": commit.author, "avatar": ""}],
        "date": moment(commit.time),
    }
    if formatted:
        item["formatted"] = {"title": _html(commit.title), "message": _html(commit.message)}
    return item


def _html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"<p>{part}</p>" for part in escaped.split("\n\n") if part)

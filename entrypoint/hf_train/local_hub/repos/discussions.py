"""Discussions and pull requests of a repo. Source: huggingface_hub 2.4.0 `community.py`."""

from __future__ import annotations

import time
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_write
from hf_train.local_hub.accounts import Account, account_id
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.http import iso, now, object_id
from hf_train.local_hub.repos.access import API, RepoAccess
from hf_train.local_hub.repos.git import Change, Drop, Take
from hf_train.local_hub.repos.store import Repo
from hf_train.local_hub.state import read_json, write_json

_PAGE = 50
_NUMBER = rf"{API}/discussions/(?P<number>\d+)"


class Discussions:
    """The discussions of one repo. The caller holds the repo's lock while it changes them."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.path = repo.folder / "discussions.json"
        self.items: list[dict[str, Any]] = read_json(self.path) or []

    def next_number(self) -> int:
        """Number of the next discussion."""
        return len(self.items) + 1

    def get(self, number: int) -> dict[str, Any]:
        """A discussion.

        Raises:
            HubError: 404 when there is none.
        """
        if not 0 < number <= len(self.items):
            raise HubError(404, "Discussion not found")
        return self.items[number - 1]

    def open(
        self, title: str, description: str, *, author: str, pull_request: bool, target: str = "main", status: str
    ) -> int:
        """Open a discussion, or a pull request whose ref is set already; its number."""
        number = self.next_number()
        self.items.append(
            {
                "num": number,
                "title": title,
                "author": author,
                "createdAt": iso(now()),
                "status": status,
                "isPullRequest": pull_request,
                "target": target,
                "mergeCommit": None,
                "events": [],
            }
        )
        self.comment(number, author, description)
        return number

    def event(self, number: int, kind: str, author: str, data: dict[str, Any]) -> dict[str, Any]:
        """Add an event to a discussion."""
        event = {
            "id": object_id(),
            "type": kind,
            "createdAt": iso(now()),
            "author": {"name": author, "_id": account_id(author), "type": "user"},
            "data": data,
        }
        self.get(number)["events"].append(event)
        self.save()
        return event

    def comment(self, number: int, author: str, text: str) -> dict[str, Any]:
        """Add a comment."""
        latest = {"raw": text, "html": text, "updatedAt": iso(now()), "author": {"name": author}}
        data = {"edited": False, "hidden": False, "latest": latest, "history": [latest], "numEdits": 0}
        return self.event(number, "comment", author, data)

    def add_commit(self, number: int, author: str, oid: str, subject: str) -> None:
        """Note a commit of a pull request."""
        self.event(number, "commit", author, {"subject": subject, "oid": oid})

    def set_status(self, number: int, author: str, status: str) -> dict[str, Any]:
        """Open, close, draft or merge."""
        self.get(number)["status"] = status
        return self.event(number, "status-change", author, {"status": status})

    def save(self) -> None:
        """Write them."""
        write_json(self.path, self.items)


class DiscussionRoutes:
    """Handlers.

    Args:
        access: Repos and who asks.
    """

    def __init__(self, access: RepoAccess) -> None:
        self.access = access

    def routes(self) -> list[BaseRoute]:
        """All routes of this room."""
        return [
            CallRoute(["GET"], rf"{API}/discussions", self.all),
            CallRoute(["POST"], rf"{API}/discussions", self.create),
            CallRoute(["GET"], _NUMBER, self.details),
            CallRoute(["POST"], rf"{_NUMBER}/comment", self.comment),
            CallRoute(["POST"], rf"{_NUMBER}/comment/(?P<id>[0-9a-f]+)/(?P<change>edit|hide)", self.change_comment),
            CallRoute(["POST"], rf"{_NUMBER}/title", self.title),
            CallRoute(["POST"], rf"{_NUMBER}/status", self.status),
            CallRoute(["POST"], rf"{_NUMBER}/merge", self.merge),
        ]

    def all(self, call: Call) -> Response:
        """Discussions, newest first, in pages."""
        repo, _ = self.access.visible(call)
        query = call.request.query_params
        kind, author = query.get("type", "all"), query.get("author")
        open_only = {"open": ("open", "draft"), "closed": ("closed", "merged")}.get(query.get("status", "all"))
        found = [
            item
            for item in reversed(Discussions(repo).items)
            if (kind == "all" or item["isPullRequest"] == (kind == "pull_request"))
            and (author is None or item["author"] == author)
            and (open_only is None or item["status"] in open_only)
        ]
        start = call.number("p", 0, low=0, high=10**6) * _PAGE
        page = [self._head(repo, item) for item in found[start : start + _PAGE]]
        return JSONResponse({"discussions": page, "count": len(found), "start": start, "numClosedDiscussions": 0})

    def _head(self, repo: Repo, item: dict[str, Any]) -> dict[str, Any]:
        return {
            **{key: item[key] for key in ("num", "title", "createdAt", "status", "isPullRequest")},
            "author": {"name": item["author"], "_id": account_id(item["author"]), "type": "user"},
            "repo": {"name": repo.id, "type": repo.type},
        }

    def create(self, call: Call) -> Response:
        """Open a discussion or a pull request without a change yet."""
        repo, account = self.access.contributable(call)
        body = call.json()
        title, is_request = str(body.get("title") or "").strip(), bool(body.get("pullRequest"))
        if len(title) < 3:
            raise HubError(400, '"title" must have at least 3 characters')
        with repo.lock:
            discussions = Discussions(repo)
            if is_request:
                repo.git.set_ref(f"refs/pr/{discussions.next_number()}", self.access.commit(repo, "main"))
            number = discussions.open(
                title,
                str(body.get("description") or ""),
                author=account.name,
                pull_request=is_request,
                status="draft" if is_request else "open",
            )
        return JSONResponse(
            {"num": number, "pullRequest": is_request, "url": f"{self.access.page(repo)}/discussions/{number}"}
        )

    def details(self, call: Call) -> Response:
        """One discussion with its events; a pull request with its diff."""
        repo, _ = self.access.visible(call)
        number = int(call.params["number"])
        item = Discussions(repo).get(number)
        answer = {**self._head(repo, item), "events": item["events"]}
        if item["isPullRequest"]:
            base = f"refs/heads/{item['target']}"
            answer |= {"changes": {"base": base, "mergeCommitId": item["mergeCommit"]}, "filesWithConflicts": []}
            head, target = repo.git.resolve(f"refs/pr/{number}"), repo.git.resolve(base)
            if call.flag("diff") and head and target:
                answer["diff"] = repo.git.diff(target, head)
        return JSONResponse(answer)

    def comment(self, call: Call) -> Response:
        """Add a comment."""
        repo, account = self.access.contributable(call)
        text = str(call.json().get("comment") or "")
        with repo.lock:
            event = Discussions(repo).comment(int(call.params["number"]), account.name, text)
        return JSONResponse({"newMessage": event})

    def change_comment(self, call: Call) -> Response:
        """Edit or hide a comment: its author or the repo's owner may."""
        repo, account = self.access.contributable(call)
        with repo.lock:
            discussions = Discussions(repo)
            events = discussions.get(int(call.params["number"]))["events"]
            event: dict[str, Any] | None = next((one for one in events if one["id"] == call.params["id"]), None)
            if event is None or event["type"] != "comment":
                raise HubError(404, "Comment not found")
            self._check_right(repo, account, event["author"]["name"])
            if call.params["change"] == "hide":
                event["data"]["hidden"] = True
                event["data"]["latest"]["raw"] = "This comment has been hidden"
            else:
                event["data"]["edited"] = True
                event["data"]["latest"]["raw"] = str(call.json().get("content") or "")
            discussions.save()
        return JSONResponse({"updatedComment": event})

    def _check_right(self, repo: Repo, account: Account, author: str) -> None:
        if account.name != author:
            require_write(account, repo.namespace, repo.full_id)

    def title(self, call: Call) -> Response:
        """Give a discussion another title."""
        repo, account = self.access.contributable(call)
        title = str(call.json().get("title") or "").strip()
        with repo.lock:
            discussions = Discussions(repo)
            item = discussions.get(int(call.params["number"]))
            self._check_right(repo, account, item["author"])
            old, item["title"] = item["title"], title
            event = discussions.event(item["num"], "title-change", account.name, {"from": old, "to": title})
        return JSONResponse({"newTitle": event})

    def status(self, call: Call) -> Response:
        """Open or close a discussion."""
        repo, account = self.access.contributable(call)
        body = call.json()
        if body.get("status") not in ("open", "closed"):
            raise HubError(400, '"status" must be open or closed')
        with repo.lock:
            discussions = Discussions(repo)
            item = discussions.get(int(call.params["number"]))
            self._check_right(repo, account, item["author"])
            if body.get("comment"):
                discussions.comment(item["num"], account.name, str(body["comment"]))
            event = discussions.set_status(item["num"], account.name, body["status"])
        return JSONResponse({"newStatus": event})

    def merge(self, call: Call) -> Response:
        """Merge a pull request: the changes of its own commits, on top of its target."""
        repo, account = self.access.writable(call)
        with repo.lock:
            discussions = Discussions(repo)
            item = discussions.get(int(call.params["number"]))
            if not item["isPullRequest"] or item["status"] not in ("open", "draft"):
                raise HubError(400, "This is no open pull request")
            if item["status"] == "draft":
                raise HubError(400, "A draft pull request cannot be merged: open it first")
            number, ref = item["num"], f"refs/heads/{item['target']}"
            target = self.access.commit(repo, ref)
            oid = repo.git.commit(
                ref,
                target,
                self._changes(repo, f"refs/pr/{number}", target),
                author=account.name,
                message=f"{item['title']} (#{number})",
                time=int(time.time()),
            )
            if comment := call.json().get("comment"):
                discussions.comment(number, account.name, str(comment))
            item["mergeCommit"] = oid
            discussions.set_status(number, account.name, "merged")
        return JSONResponse({"success": True, "commitOid": oid})

    def _changes(self, repo: Repo, ref: str, target: str) -> list[Change]:
        head = self.access.commit(repo, ref)
        fork = repo.git.listing(repo.git.merge_base(head, target))
        new = repo.git.listing(head)
        changes: list[Change] = [Drop(path) for path, entry in fork.items() if entry.kind == "blob" and path not in new]
        changes += [
            Take(path, entry.oid)
            for path, entry in new.items()
            if entry.kind == "blob" and (path not in fork or fork[path].oid != entry.oid)
        ]
        return changes

"""Reading the files of a repo: trees, paths, and the files themselves."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.ranges import Content, content_answer
from hf_train.local_hub.repos.access import API, REVISION, WEB, RepoAccess, require_gate
from hf_train.local_hub.repos.git import TreeEntry
from hf_train.local_hub.repos.info import moment
from hf_train.local_hub.repos.lfs import LfsStore
from hf_train.local_hub.repos.store import Repo

_PAGE, _EXPANDED_PAGE = 1000, 50


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Some bytes in memory as content."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, end: int) -> Iterator[bytes]:
        yield self.data[start:end]


class FileRoutes:
    """Handlers.

    Args:
        access: Repos and who asks.
        lfs: The large files.
    """

    def __init__(self, access: RepoAccess, lfs: LfsStore) -> None:
        self.access, self.lfs = access, lfs

    def routes(self) -> list[BaseRoute]:
        """All routes of this room."""
        return [
            CallRoute(["GET"], rf"{API}/tree/{REVISION}(?:/(?P<path>.*))?", self.tree),
            CallRoute(["POST"], rf"{API}/paths-info/{REVISION}", self.paths_info),
            CallRoute(["GET", "HEAD"], rf"{WEB}/resolve/{REVISION}/(?P<path>.+)", self.resolve),
            CallRoute(["GET", "HEAD"], rf"{WEB}/raw/{REVISION}/(?P<path>.+)", self.raw),
            CallRoute(["GET", "HEAD"], r"/[^/]+/(?:resolve|raw)/.+", self.without_owner),
        ]

    def without_owner(self, call: Call) -> Response:
        """A repo without a namespace: the Hub has some, a local Hub has none."""
        account = self.access.accounts.of_header(call.authorization)
        raise HubError(404 if account else 401, "Repository not found", "RepoNotFound")

    def _at(self, call: Call) -> tuple[Repo, str, dict[str, TreeEntry]]:
        repo, _ = self.access.visible(call)
        commit = self.access.commit(repo, call.params["revision"])
        return repo, commit, repo.git.listing(commit)

    def tree(self, call: Call) -> Response:
        """Files and folders below a folder, in pages."""
        repo, commit, listing = self._at(call)
        below = call.params.get("path", "").strip("/")
        if below and (below not in listing or listing[below].kind != "tree"):
            raise HubError(404, f"{below} does not exist on {call.params['revision']}", "EntryNotFound")
        prefix, recursive, expand = f"{below}/" if below else "", call.flag("recursive"), call.flag("expand")
        entries = [
            entry
            for path, entry in listing.items()
            if path.startswith(prefix) and (recursive or "/" not in path[len(prefix) :])
        ]
        most = _EXPANDED_PAGE if expand else _PAGE
        limit, start = call.number("limit", most, low=1, high=most), call.number("cursor", 0, low=0, high=10**9)
        headers = {"X-Repo-Commit": commit}
        if start + limit < len(entries):
            headers |= call.next_link(self.access.hub.endpoint, cursor=start + limit)
        page = [self._json(repo, commit, entry, expand=expand) for entry in entries[start : start + limit]]
        return JSONResponse(page, headers=headers)

    def paths_info(self, call: Call) -> Response:
        """Files and folders by their paths; paths that are none are left out."""
        repo, commit, listing = self._at(call)
        form = call.form()
        expand = form.get("expand", ["false"])[0].lower() in {"1", "true"}
        paths = dict.fromkeys(path.strip("/") for path in form.get("paths", []))
        found = [self._json(repo, commit, listing[path], expand=expand) for path in paths if path in listing]
        return JSONResponse(found, headers={"X-Repo-Commit": commit})

    def _json(self, repo: Repo, commit: str, entry: TreeEntry, *, expand: bool) -> dict[str, Any]:
        kind = "directory" if entry.kind == "tree" else "file"
        item: dict[str, Any] = {"type": kind, "oid": entry.oid, "size": entry.size, "path": entry.path}
        if entry.sha256:
            item["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": entry.pointer_size}
            item["xetHash"] = self.lfs.xet.hash_of_sha256(entry.sha256)
        if expand:
            last = repo.git.last_change(commit, entry.path)
            item["lastCommit"] = {"id": last.oid, "title": last.title, "date": moment(last.time)}
            if kind == "file":
                scan = {"status": "unscanned", "message": None, "reportLabel": None, "reportLink": None}
                scans = dict.fromkeys(("jFrogScan", "protectAiScan", "avScan", "pickleImportScan"), scan)
                item["securityFileStatus"] = {"status": "unscanned", **scans}
        return item

    def _entry(self, call: Call) -> tuple[Repo, str, TreeEntry]:
        require_gate(*self.access.visible(call))
        repo, commit, listing = self._at(call)
        entry = listing.get(call.params["path"])
        if entry is None or entry.kind != "blob":
            raise HubError(404, "Entry not found", "EntryNotFound", headers={"X-Repo-Commit": commit})
        return repo, commit, entry

    def resolve(self, call: Call) -> Response:
        """A file, whole or in part."""
        repo, commit, entry = self._entry(call)
        name = quote(PurePosixPath(entry.path).name)
        headers = {
            "X-Repo-Commit": commit,
            "ETag": f'"{entry.sha256 or entry.oid}"',
            "Content-Disposition": f"inline; filename*=UTF-8''{name}; filename=\"{name}\";",
        }
        content: Content
        if entry.sha256:
            content = self.lfs.content(entry.sha256)
            headers |= {"X-Linked-Size": str(entry.size), "X-Linked-Etag": f'"{entry.sha256}"'}
            headers |= self._xet_headers(repo, commit, entry.sha256)
        else:
            content = _Bytes(repo.git.blobs([entry.oid])[entry.oid])
        media_type = mimetypes.guess_type(entry.path)[0] or "application/octet-stream"
        return content_answer(call.request, content, headers, media_type)

    def _xet_headers(self, repo: Repo, commit: str, sha256: str) -> dict[str, str]:
        hash_ = self.lfs.xet.hash_of_sha256(sha256)
        if hash_ is None:
            return {}
        refresh = f"{self.access.hub.endpoint}/api/{repo.type}s/{repo.id}/xet-read-token/{commit}"
        return {"X-Xet-Hash": hash_, "X-Xet-Refresh-Route": refresh, "Link": f'<{refresh}>; rel="xet-auth"'}

    def raw(self, call: Call) -> Response:
        """A file as git has it: of a large file the pointer."""
        repo, commit, entry = self._entry(call)
        content = _Bytes(repo.git.blobs([entry.oid])[entry.oid])
        headers = {"X-Repo-Commit": commit, "ETag": f'"{entry.oid}"'}
        return content_answer(call.request, content, headers, "text/plain; charset=utf-8")

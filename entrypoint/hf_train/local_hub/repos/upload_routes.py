"""Writing to a repo: upload modes, large files over LFS and xet, and the commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.accounts import Account
from hf_train.local_hub.calls import Call, CallRoute, HubError, StreamRoute
from hf_train.local_hub.repos import upload_rules
from hf_train.local_hub.repos.access import API, REVISION, WEB, RepoAccess
from hf_train.local_hub.repos.commit import CommitRequest, make_commit, read_request, valid_path
from hf_train.local_hub.repos.discussions import Discussions
from hf_train.local_hub.repos.git import TreeEntry
from hf_train.local_hub.repos.lfs import LfsStore
from hf_train.local_hub.repos.store import Repo
from hf_train.local_hub.tokens import Signer
from hf_train.local_hub.xet.routes import token_answer

PART_BYTES = 16 * 1000 * 1000  # a part of a multipart upload
MULTIPART_BYTES = 2 * PART_BYTES  # from this length on an upload is cut into parts, when the client can
_SHA = "[0-9a-f]{64}"


class UploadRoutes:
    """Handlers.

    Args:
        access: Repos and who asks.
        lfs: The large files.
        signer: Makes xet tokens and signs upload links.
    """

    def __init__(self, access: RepoAccess, lfs: LfsStore, signer: Signer) -> None:
        self.access, self.lfs, self.signer = access, lfs, signer

    def routes(self) -> list[BaseRoute]:
        """All routes of this room."""
        return [
            CallRoute(["POST"], rf"{API}/preupload/{REVISION}", self.preupload),
            CallRoute(["GET"], rf"{API}/xet-(?P<scope>read|write)-token/{REVISION}", self.xet_token),
            CallRoute(["POST"], rf"{API}/commit/{REVISION}", self.commit),
            CallRoute(["POST"], rf"{WEB}/info/lfs/objects/batch", self.lfs_batch),
            CallRoute(["POST"], rf"{API}/lfs-files/duplicate", self.duplicate),
            StreamRoute(["PUT"], rf"/lfs/(?P<link>(?P<sha>{_SHA})/(?P<size>\d+))", self.put_object),
            StreamRoute(["PUT"], rf"/lfs/(?P<link>(?P<sha>{_SHA})/parts/(?P<number>\d+))", self.put_part),
            CallRoute(["POST"], rf"/lfs/(?P<link>(?P<sha>{_SHA})/complete)", self.complete),
            CallRoute(["POST"], r"/lfs-verify", self.verify),
        ]

    def _writer(self, call: Call) -> tuple[Repo, Account]:
        """The repo, for a write to it or for a pull request."""
        for_request = call.flag("create_pr") or call.params.get("revision", "").startswith("refs/pr/")
        return self.access.contributable(call) if for_request else self.access.writable(call)

    def preupload(self, call: Call) -> Response:
        """How each file is to be uploaded."""
        repo, _ = self._writer(call)
        listing = repo.git.listing(self.access.commit(repo, call.params["revision"]))
        body = call.json()
        files = [file for file in body.get("files", []) if isinstance(file, dict)]
        paths = [valid_path(file.get("path"), folder=False) for file in files]
        attributes = _file(repo, listing, ".gitattributes")
        ignore = body["gitIgnore"].encode() if "gitIgnore" in body else _file(repo, listing, ".gitignore")
        large = upload_rules.lfs_paths(repo.git, attributes, paths)
        ignored = upload_rules.ignored_paths(repo.git, ignore, paths)
        answer = []
        for file, path in zip(files, paths, strict=True):
            is_large = path in large or int(file.get("size") or 0) >= upload_rules.REGULAR_LIMIT_BYTES
            old = listing.get(path)
            item = {"path": path, "uploadMode": "lfs" if is_large else "regular", "shouldIgnore": path in ignored}
            answer.append(item | ({"oid": old.sha256 or old.oid} if old and old.kind == "blob" else {}))
        return JSONResponse({"files": answer})

    def xet_token(self, call: Call) -> Response:
        """A token of the xet store."""
        scope = call.params["scope"]
        if scope == "write":
            self._writer(call)
        else:
            self.access.visible(call)
        return token_answer(self.access.hub, self.signer, scope)

    def commit(self, call: Call) -> Response:
        """Commit to a branch, to a pull request, or to a new pull request."""
        repo, account = self._writer(call)
        request = read_request(call.ndjson())
        revision = call.params["revision"]
        with repo.lock:
            ref = revision if revision.startswith("refs/") else f"refs/heads/{revision}"
            head = repo.git.resolve(ref)
            if head is None:
                raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            if call.flag("create_pr"):
                return self._commit_pull_request(repo, account, request, revision, request.parent or head)
            if request.parent is not None and not head.startswith(request.parent):
                raise HubError(412, "The branch was updated since you opened this page. Please refresh and try again.")
            oid = make_commit(repo, self.lfs, request, ref=ref, author=account.name, base=head)
        return JSONResponse(self._answer(repo, oid))

    def _commit_pull_request(
        self, repo: Repo, account: Account, request: CommitRequest, target: str, base: str
    ) -> Response:
        base = self.access.commit(repo, base)
        discussions = Discussions(repo)
        number = discussions.next_number()
        ref = f"refs/pr/{number}"
        repo.git.set_ref(ref, base)
        try:
            oid = make_commit(repo, self.lfs, request, ref=ref, author=account.name, base=base)
        except HubError:
            repo.git.delete_ref(ref)
            raise
        discussions.open(
            request.summary, request.description, author=account.name, pull_request=True, target=target, status="open"
        )
        discussions.add_commit(number, account.name, oid, request.summary)
        url = f"{self.access.page(repo)}/discussions/{number}"
        return JSONResponse({**self._answer(repo, oid), "pullRequestUrl": url})

    def _answer(self, repo: Repo, oid: str) -> dict[str, Any]:
        url = f"{self.access.page(repo)}/commit/{oid}"
        return {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""}

    def lfs_batch(self, call: Call) -> Response:
        """How to upload or download large files: xet when the client can, else multipart or in one."""
        body = call.json()
        download = body.get("operation") == "download"
        if download:
            self.access.visible(call)
        else:
            self.access.contributable(call)
        asked = [item for item in body.get("objects", []) if isinstance(item, dict)]
        transfers = body.get("transfers") or ["basic"]
        if "xet" in transfers and not download:
            kind = "xet"
        elif "multipart" in transfers and any(int(item.get("size", 0)) >= MULTIPART_BYTES for item in asked):
            kind = "multipart"
        else:
            kind = "basic"
        objects = [self._batch_object(item, kind=kind, download=download) for item in asked]
        return JSONResponse(
            {"transfer": kind, "objects": objects}, media_type="application/vnd.git-lfs+json; charset=utf-8"
        )

    def _batch_object(self, asked: dict[str, Any], *, kind: str, download: bool) -> dict[str, Any]:
        sha, size = str(asked.get("oid")), int(asked.get("size") or 0)
        item: dict[str, Any] = {"oid": sha, "size": size, "authenticated": True}
        if download:
            if not self.lfs.has(sha):
                return item | {"error": {"code": 404, "message": "Object does not exist"}}
            return item | {"actions": {"download": {"href": self._link(f"{sha}/{size}"), "header": {}}}}
        if self.lfs.has(sha) or kind == "xet":
            return item
        upload: dict[str, Any] = {"href": self._link(f"{sha}/{size}")}
        if kind == "multipart" and size >= MULTIPART_BYTES:
            count = -(-size // PART_BYTES)
            parts = {f"{number:05d}": self._link(f"{sha}/parts/{number}") for number in range(1, count + 1)}
            upload = {"href": self._link(f"{sha}/complete"), "header": {"chunk_size": str(PART_BYTES), **parts}}
        return item | {"actions": {"upload": upload, "verify": {"href": f"{self.access.hub.endpoint}/lfs-verify"}}}

    def _link(self, link: str) -> str:
        return f"{self.access.hub.endpoint}/lfs/{link}?signature={self.signer.sign(link)}"

    def _check_link(self, call: Call) -> None:
        if not self.signer.check(call.params["link"], call.request.query_params.get("signature", "")):
            raise HubError(403, "This link is not signed")

    async def put_object(self, call: Call, body: AsyncIterator[bytes]) -> Response:
        """Take a large file."""
        self._check_link(call)
        await self.lfs.put(call.params["sha"], int(call.params["size"]), body)
        return Response(None, 200)

    async def put_part(self, call: Call, body: AsyncIterator[bytes]) -> Response:
        """Take a part of a large file."""
        self._check_link(call)
        etag = await self.lfs.put_part(call.params["sha"], int(call.params["number"]), body)
        return Response(None, 200, headers={"ETag": f'"{etag}"'})

    def complete(self, call: Call) -> Response:
        """Join the parts of a large file."""
        self._check_link(call)
        parts = call.json().get("parts", [])
        self.lfs.join_parts(call.params["sha"], sorted(int(part["partNumber"]) for part in parts))
        return JSONResponse({})

    def duplicate(self, call: Call) -> Response:
        """Make large files of this repo known to another one: objects are shared, so they only have to be here."""
        self.access.visible(call)
        files = [file for file in call.json().get("files", []) if isinstance(file, dict)]
        failed = [
            {"sha256": file.get("sha256"), "error": "File not found"}
            for file in files
            if self.lfs.ensure(str(file.get("sha256"))) is None
        ]
        return JSONResponse({"success": not failed, "failed": failed})

    def verify(self, call: Call) -> Response:
        """Whether a large file arrived."""
        body = call.json()
        found = self.lfs.ensure(str(body.get("oid")))
        if found is None or found.size != body.get("size"):
            raise HubError(404, f"The LFS object {body.get('oid')} did not arrive")
        return JSONResponse({})


def _file(repo: Repo, listing: dict[str, TreeEntry], path: str) -> bytes:
    entry = listing.get(path)
    return repo.git.blobs([entry.oid])[entry.oid] if entry is not None and entry.kind == "blob" else b""

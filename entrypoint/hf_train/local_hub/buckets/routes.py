"""The HTTP face of buckets. Source: huggingface_hub 2.4.0 `hf_api.py` (bucket methods), `_buckets.py`."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_account, require_namespace, require_visible, require_write
from hf_train.local_hub.accounts import Account, Accounts
from hf_train.local_hub.buckets.files import BucketContent, FileEntry
from hf_train.local_hub.buckets.store import Bucket, BucketFile, BucketStore
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.http import iso
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.ranges import content_answer
from hf_train.local_hub.state import PathEscapesError
from hf_train.local_hub.tokens import Signer
from hf_train.local_hub.xet.routes import token_answer

PAGE = 1000  # entries of a tree page when the client names no limit
NAME = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9][A-Za-z0-9._-]{0,94}[A-Za-z0-9_]|[A-Za-z0-9]")
_ID = r"(?P<ns>[^/]+)/(?P<name>[^/]+)"
_API = rf"/api/buckets/{_ID}"


class BucketRoutes:
    """Handlers of buckets.

    Args:
        hub: For the endpoint.
        accounts: Who asks.
        store: The buckets.
        signer: Makes xet tokens.
    """

    def __init__(self, hub: HubContext, accounts: Accounts, store: BucketStore, signer: Signer) -> None:
        self.hub, self.accounts, self.store, self.signer = hub, accounts, store, signer

    def routes(self) -> list[BaseRoute]:
        """All routes of buckets."""
        return [
            CallRoute(["GET"], r"/api/buckets/(?P<ns>[^/]+)", self.in_namespace),
            CallRoute(["POST", "PUT", "DELETE"], r"/api/buckets/[^/]+", self.without_owner),
            CallRoute(["POST"], _API, self.create),
            CallRoute(["GET"], _API, self.info),
            CallRoute(["DELETE"], _API, self.delete),
            CallRoute(["PUT"], rf"{_API}/settings", self.settings),
            CallRoute(["GET"], rf"{_API}/tree(?:/(?P<path>.*))?", self.tree),
            CallRoute(["POST"], rf"{_API}/paths-info", self.paths_info),
            CallRoute(["POST"], rf"{_API}/batch", self.batch),
            CallRoute(["GET"], rf"{_API}/xet-(?P<scope>read|write)-token", self.xet_token),
            CallRoute(["GET", "HEAD"], rf"/buckets/{_ID}/resolve/(?P<path>.+)", self.resolve),
        ]

    def _visible(self, call: Call) -> tuple[Bucket, Account | None]:
        account = self.accounts.of_header(call.authorization)
        bucket = self.store.get(f"{call.params['ns']}/{call.params['name']}")
        private = bucket is not None and bucket.private
        require_visible(account, call.params["ns"], exists=bucket is not None, private=private)
        assert bucket is not None  # noqa: S101 - require_visible raised
        return bucket, account

    def _writable(self, call: Call) -> Bucket:
        bucket, account = self._visible(call)
        require_write(account, call.params["ns"], f"buckets/{bucket.id}")
        return bucket

    def url(self, bucket_id: str) -> str:
        """The URL of a bucket's page."""
        return f"{self.hub.endpoint}/buckets/{bucket_id}"

    def in_namespace(self, call: Call) -> Response:
        """Buckets of a namespace; `me` is the caller."""
        account = self.accounts.of_header(call.authorization)
        namespace = call.params["ns"]
        if namespace == "me":
            namespace = require_account(self.accounts, call).name
        elif not self._has_owner(account, namespace):
            raise HubError(404, "This user or organization does not exist")
        sees_all = account is not None and account.sees(namespace)
        search = call.request.query_params.get("search", "").lower()
        return JSONResponse(
            [
                self._info(bucket)
                for bucket in self.store.in_namespace(namespace)
                if (sees_all or not bucket.private) and search in bucket.id.lower()
            ]
        )

    def _has_owner(self, account: Account | None, namespace: str) -> bool:
        settings = self.accounts.settings
        known = (
            namespace == settings.user
            or namespace in settings.orgs
            or (account is not None and account.sees(namespace))
        )
        return known or bool(self.store.in_namespace(namespace))

    def without_owner(self, _call: Call) -> Response:
        """A bucket is named with its owner."""
        raise HubError(404, "Repository not found", "RepoNotFound")

    def create(self, call: Call) -> Response:
        """Make a bucket."""
        account = require_account(self.accounts, call)
        namespace = account.name if call.params["ns"] == "me" else call.params["ns"]
        name = call.params["name"]
        bucket_id = f"{namespace}/{name}"
        require_namespace(account, namespace, "bucket", f"buckets/{bucket_id}")
        if NAME.fullmatch(name) is None:
            raise HubError(400, f'Invalid bucket name "{name}"')
        body = call.json()
        private = body.get("visibility") == "private" or body.get("private") is True
        if self.store.create(bucket_id, private=private, region=body.get("region")) is None:
            raise HubError(409, "You already created this bucket repo", url=self.url(bucket_id))
        return JSONResponse({"url": self.url(bucket_id), "name": bucket_id, "id": self._key(bucket_id)})

    def _key(self, bucket_id: str) -> str | None:
        bucket = self.store.get(bucket_id)
        return bucket.key if bucket else None

    def _info(self, bucket: Bucket) -> dict[str, Any]:
        entries = self.store.entries(bucket)
        newest = max((entry.stamp.mtime_ns for entry in entries), default=0)
        updated = iso(datetime.fromtimestamp(newest / 1e9, UTC)) if newest else bucket.created
        return {
            "_id": bucket.key,
            "id": bucket.id,
            "author": bucket.id.split("/")[0],
            "private": bucket.private,
            "createdAt": bucket.created,
            "updatedAt": updated,
            "size": sum(entry.stamp.size for entry in entries),
            "totalFiles": len(entries),
            "region": bucket.region or "us",
        }

    def info(self, call: Call) -> Response:
        """A bucket."""
        return JSONResponse(self._info(self._visible(call)[0]))

    def delete(self, call: Call) -> Response:
        """Remove a bucket."""
        self.store.delete(self._writable(call))
        return JSONResponse({})

    def settings(self, call: Call) -> Response:
        """Make a bucket private or public."""
        bucket = self._writable(call)
        body = call.json()
        if "private" in body or "visibility" in body:
            bucket.private = body.get("private") is True or body.get("visibility") == "private"
            bucket.save()
        return JSONResponse({"private": bucket.private})

    def tree(self, call: Call) -> Response:
        """Files below a folder, in pages. All of them, unless `recursive=false` asks for one level."""
        bucket, _ = self._visible(call)
        below = call.params.get("path", "").strip("/")
        recursive = call.request.query_params.get("recursive", "true").lower() != "false"
        entries = self.store.entries(bucket, below)
        if not entries and below and (single := self.store.entry(bucket, below)) is not None:
            entries = [single]
        items: list[FileEntry | str] = [*entries] if recursive else _one_level(entries, below)
        limit = call.number("limit", PAGE, low=1, high=PAGE)
        after = call.request.query_params.get("cursor", "")
        page = [item for item in items if _path(item) > after][: limit + 1]
        headers: dict[str, str] = {}
        if len(page) > limit:
            page.pop()
            headers = call.next_link(self.hub.endpoint, cursor=_path(page[-1]))
        files = {
            file.path: file for file in self.store.describe(bucket, [one for one in page if not isinstance(one, str)])
        }
        answer = [
            {"type": "directory", "path": one, "uploadedAt": bucket.created}
            if isinstance(one, str)
            else _file_json(files[one.path])
            for one in page
            if isinstance(one, str) or one.path in files
        ]
        return JSONResponse(answer, headers=headers)

    def paths_info(self, call: Call) -> Response:
        """Files by their paths; paths that are none are left out."""
        bucket, _ = self._visible(call)
        found = []
        for path in dict.fromkeys(call.json().get("paths", [])):
            with contextlib.suppress(PathEscapesError):  # a Job may have made a link there, which is no file
                found += [entry] if (entry := self.store.entry(bucket, str(path))) else []
        return JSONResponse([_file_json(file) for file in self.store.describe(bucket, found)])

    def batch(self, call: Call) -> Response:
        """Add, copy and delete files. What fails is listed; 422 when everything failed."""
        bucket = self._writable(call)
        operations = call.ndjson()
        failed = []
        for operation in operations:
            problem = self._apply(bucket, operation)
            if problem:
                failed.append({"path": operation.get("path"), "error": problem})
        succeeded = len(operations) - len(failed)
        return JSONResponse(
            {"success": not failed, "processed": len(operations), "succeeded": succeeded, "failed": failed},
            status_code=422 if failed and not succeeded else 200,
        )

    def _apply(self, bucket: Bucket, operation: dict[str, Any]) -> str | None:
        """Do one operation of a batch; the reason when it cannot be done."""
        path, kind = operation.get("path"), operation.get("type")
        if not isinstance(path, str) or path in {"", "."} or path != path.strip("/") or "//" in path:
            return "Invalid path"
        try:
            if kind == "deleteFile":
                self.store.remove(bucket, path)
            elif kind in {"addFile", "copyFile"}:
                moment = datetime.fromtimestamp(float(operation.get("mtime") or 0) / 1000, UTC)
                self.store.put(bucket, path, str(operation.get("xetHash")), moment)
            else:
                return f"Unknown operation {kind!r}"
        except KeyError:
            return "Xet file not found"
        except PathEscapesError as problem:
            return f"Invalid path: {problem}"
        except (OSError, ValueError, OverflowError) as problem:
            return f"Cannot write: {problem}"
        return None

    def xet_token(self, call: Call) -> Response:
        """A token of the xet store."""
        scope = call.params["scope"]
        if scope == "write":
            self._writable(call)
        else:
            self._visible(call)
        return token_answer(self.hub, self.signer, scope)

    def resolve(self, call: Call) -> Response:
        """A file, whole or in part."""
        bucket, _ = self._visible(call)
        path = call.params["path"]
        entry = self.store.entry(bucket, path)
        files = self.store.describe(bucket, [entry]) if entry else []
        if not files:
            raise HubError(404, "Entry not found", "EntryNotFound")
        file = files[0]
        refresh = f"{self.hub.endpoint}/api/buckets/{bucket.id}/xet-read-token"
        headers = {
            "ETag": f'"{file.hash}"',
            "X-Linked-Size": str(file.size),
            "X-Linked-Etag": f'"{file.hash}"',
            "X-Xet-Hash": file.hash,
            "X-Xet-Refresh-Route": refresh,
            "Link": f'<{refresh}>; rel="xet-auth"',
            "Last-Modified": file.mtime.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        }
        return content_answer(call.request, BucketContent(bucket.files, path, file.size), headers)


def _path(item: FileEntry | str) -> str:
    return item if isinstance(item, str) else item.path


def _one_level(entries: list[FileEntry], below: str) -> list[FileEntry | str]:
    """Files right below a folder, and the names of the folders beside them, sorted."""
    start = len(below) + 1 if below else 0
    folders: dict[str, None] = {}
    files: list[FileEntry | str] = []
    for entry in entries:
        head, slash, _ = entry.path[start:].partition("/")
        if slash:
            folders[entry.path[:start] + head] = None
        else:
            files.append(entry)
    return sorted([*files, *folders], key=_path)


def _file_json(file: BucketFile) -> dict[str, Any]:
    return {
        "type": "file",
        "path": file.path,
        "size": file.size,
        "xetHash": file.hash,
        "mtime": iso(file.mtime),
        "uploadedAt": file.uploaded,
    }

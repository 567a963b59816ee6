"""What the Hub tells of a repo: `model_info`, `dataset_info`, `space_info` and the lists."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import yaml
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.account_routes import front_matter
from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.http import iso
from hf_train.local_hub.repos.access import API, RepoAccess
from hf_train.local_hub.repos.git import TreeEntry
from hf_train.local_hub.repos.store import Repo

_PAGE = 1000
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# Keys of a model card that become tags, and what stands before their value.
_TAG_KEYS = {
    "license": "license:",
    "datasets": "dataset:",
    "base_model": "base_model:",
    "language": "",
    "tags": "",
    "library_name": "",
    "pipeline_tag": "",
    "task_categories": "task_categories:",
    "size_categories": "size_categories:",
}


def moment(seconds: int) -> str:
    """A Unix time as the Hub writes dates."""
    return iso(datetime.fromtimestamp(seconds, UTC))


def card_data(repo: Repo, listing: dict[str, TreeEntry]) -> dict[str, Any] | None:
    """The front matter of the README, None when there is none that can be read."""
    readme = listing.get("README.md")
    if readme is None or readme.kind != "blob" or readme.sha256:
        return None
    try:
        text = front_matter(repo.git.blobs([readme.oid])[readme.oid].decode(errors="replace"))
        data = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return None
    return _plain(data) if isinstance(data, dict) else None


def _plain(value: Any) -> Any:
    """A YAML value as JSON can have it (YAML has dates)."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def tags_of(card: dict[str, Any]) -> list[str]:
    """The tags that a card gives, each once."""
    tags = []
    for key, prefix in _TAG_KEYS.items():
        values = card.get(key)
        tags += [f"{prefix}{one}" for one in (values if isinstance(values, list) else [values]) if one]
    return [*dict.fromkeys(tags), "region:us"]


class InfoRoutes:
    """Handlers.

    Args:
        access: Repos and who asks.
    """

    def __init__(self, access: RepoAccess) -> None:
        self.access = access

    def routes(self) -> list[BaseRoute]:
        """All routes of this room. They come after those with longer paths."""
        return [
            CallRoute(["GET"], r"/api/(?P<type>models|datasets|spaces|kernels)", self.list),
            CallRoute(["GET"], API, self.info),
            CallRoute(["GET"], rf"{API}/revision/(?P<revision>[^/]+)", self.info),
            CallRoute(_METHODS, rf"{API}/.*", self.unknown),
            CallRoute(_METHODS, r"/api/(?:models|datasets|spaces|kernels)/.*", self.without_owner),
        ]

    def without_owner(self, call: Call) -> Response:
        """A repo without a namespace: the Hub has some, a local Hub has none."""
        account = self.access.accounts.of_header(call.authorization)
        raise HubError(404 if account else 401, "Repository not found", "RepoNotFound")

    def unknown(self, call: Call) -> Response:
        """What a local Hub does not have, of a repo that it has: 404, but never `RepoNotFound`."""
        self.access.visible(call)
        raise HubError(404, f"The local Hub has no {call.request.method} {call.request.url.path}")

    def info(self, call: Call) -> Response:
        """One repo at a revision."""
        repo, _ = self.access.visible(call)
        commit = self.access.commit(repo, call.params.get("revision", "main"))
        found = self._info(repo, commit, blobs=call.flag("blobs"))
        expand = set(call.request.query_params.getlist("expand") + call.request.query_params.getlist("expand[]"))
        if expand:
            found = {key: value for key, value in found.items() if key in {*expand, "_id", "id"}}
        return JSONResponse(found)

    def _info(self, repo: Repo, commit: str, *, blobs: bool) -> dict[str, Any]:
        listing = repo.git.listing(commit)
        files = [entry for entry in listing.values() if entry.kind == "blob"]
        card = card_data(repo, listing)
        found: dict[str, Any] = {
            "_id": repo.key,
            "id": repo.id,
            "author": repo.namespace,
            "sha": commit,
            "lastModified": moment(repo.git.commit_at(commit).time),
            "createdAt": repo.created,
            "private": repo.private,
            "gated": repo.gated,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": tags_of(card or {}),
            "siblings": [_sibling(entry, blobs=blobs) for entry in files],
            "usedStorage": sum(entry.size for entry in files),
            "xetEnabled": True,
        }
        if card is not None:
            found["cardData"] = card
        return found | self._of_type(repo, card or {})

    def _of_type(self, repo: Repo, card: dict[str, Any]) -> dict[str, Any]:
        if repo.type == "model":
            known = {key: card[key] for key in ("library_name", "pipeline_tag") if card.get(key)}
            index = {"model-index": card["model-index"]} if card.get("model-index") else {}
            return {"modelId": repo.id, "spaces": [], **known, **index}
        if repo.type == "space":
            runtime = {"stage": "NO_APP_FILE", "hardware": {"current": None, "requested": None}, "storage": None}
            host = repo.id.replace("/", "-").lower()
            return {"sdk": repo.extra.get("sdk"), "host": host, "subdomain": host, "runtime": runtime, "models": []}
        return {}

    def list(self, call: Call) -> Response:
        """Repos that the caller sees, filtered and sorted."""
        query = call.request.query_params
        account = self.access.accounts.of_header(call.authorization)
        repos = [
            repo
            for repo in self.access.store.all(call.params["type"].removesuffix("s"), query.get("author"))
            if not repo.private or (account is not None and account.sees(repo.namespace))
        ]
        infos = [
            self._info(repo, commit, blobs=False) for repo in repos if (commit := repo.git.resolve("main")) is not None
        ]
        search, wanted = query.get("search", "").lower(), set(query.getlist("filter"))
        infos = [info for info in infos if search in info["id"].lower() and wanted <= set(info["tags"])]
        sort = query.get("sort", "createdAt")
        infos.sort(key=lambda info: (str(info.get(sort, "")), info["createdAt"]), reverse=query.get("direction") != "1")
        limit = call.number("limit", _PAGE, low=1, high=_PAGE)
        start = call.number("cursor", 0, low=0, high=10**9)
        headers = {}
        if start + limit < len(infos):
            headers = call.next_link(self.access.hub.endpoint, cursor=start + limit)
        page = infos[start : start + limit]
        if not (call.flag("full") or call.flag("cardData") or query.getlist("expand")):
            page = [{key: value for key, value in info.items() if key not in {"siblings", "cardData"}} for info in page]
        return JSONResponse(page, headers=headers)


def _sibling(entry: TreeEntry, *, blobs: bool) -> dict[str, Any]:
    item: dict[str, Any] = {"rfilename": entry.path}
    if blobs:
        item |= {"size": entry.size, "blobId": entry.oid}
        if entry.sha256:
            item["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": entry.pointer_size}
    return item

"""The HTTP face of the xet store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.ranges import parse_range
from hf_train.local_hub.tokens import Signer
from hf_train.local_hub.xet.content import FileContent, PlainContent, Segment
from hf_train.local_hub.xet.shard import ShardError
from hf_train.local_hub.xet.store import XetStore
from hf_train.local_hub.xet.xorb import XorbError

_HASH = "[0-9a-f]{64}"
FindContent = Callable[[str], FileContent | None]


def cas_path(signer: Signer) -> str:
    """The path of the xet store: another one for each data folder.

    hf_xet remembers per URL of a store which xorbs it holds. If two data folders had the same URL one after the other
    (the same port is easy to come by), a client would not send the second what it sent the first, and its uploads
    would fail.
    """
    return f"/cas/{signer.sign('xet store')[:16]}"


def token_answer(hub: HubContext, signer: Signer, scope: str) -> Response:
    """The answer of every `xet-read-token` and `xet-write-token` route: the same facts as JSON and as headers."""
    token, expires = signer.xet_token(scope)
    url = hub.endpoint + cas_path(signer)
    headers = {"X-Xet-Cas-Url": url, "X-Xet-Access-Token": token, "X-Xet-Token-Expiration": str(expires)}
    return JSONResponse({"accessToken": token, "exp": expires, "casUrl": url}, headers=headers)


def trim(segments: Iterator[Segment], start: int, end: int) -> tuple[list[Segment], int]:
    """The segments that bytes `start` to before `end` of a file need, cut to whole chunks.

    Returns:
        The segments, and how many bytes of the first chunk come before `start`.
    """
    kept: list[Segment] = []
    skip, place = 0, 0
    for segment in segments:
        first, last = None, 0
        for index, size in enumerate(segment.sizes):
            if place < end and place + size > start:
                if first is None:
                    first = index
                    skip = start - place if not kept else skip
                last = index + 1
            place += size
        if first is not None:
            sizes, offsets = segment.sizes[first:last], segment.offsets[first : last + 1]
            kept.append(segment._replace(first=segment.first + first, sizes=sizes, offsets=offsets))
    return kept, skip


def merged(segments: list[Segment]) -> dict[str, list[tuple[int, int, int, int, str]]]:
    """What to fetch of each xorb: `(first chunk, chunk behind, first byte, byte behind, route)`, overlaps joined."""
    fetches: dict[str, list[tuple[int, int, int, int, str]]] = {}
    for segment in sorted(segments, key=lambda one: (one.xorb, one.first)):
        first, last = segment.first, segment.first + len(segment.sizes)
        row = fetches.setdefault(segment.xorb, [])
        if row and first <= row[-1][1]:
            old = row.pop()
            byte_end = max(old[3], segment.offsets[-1])
            row.append((old[0], max(old[1], last), old[2], byte_end, segment.route))
        else:
            row.append((first, last, segment.offsets[0], segment.offsets[-1], segment.route))
    return fetches


class CasRoutes:
    """Handlers of the xet store.

    Args:
        hub: For the endpoint.
        store: The store.
        signer: Checks tokens and signs links.
        find: Finds a file by hash, wider than the store itself: it also looks into buckets.
    """

    def __init__(self, hub: HubContext, store: XetStore, signer: Signer, find: FindContent) -> None:
        self.hub, self.store, self.signer, self.find = hub, store, signer, find

    def routes(self) -> list[BaseRoute]:
        """All routes below the store's path."""
        cas = cas_path(self.signer)
        return [
            CallRoute(["POST"], rf"{cas}/v1/xorbs/default/(?P<hash>{_HASH})", self.post_xorb),
            # hf_xet 1.4 has no version in this one path; it comes with Axolotl 0.19 (huggingface_hub 1.17).
            CallRoute(["POST"], rf"{cas}(/v1)?/shards", self.post_shard_v1),
            CallRoute(["POST"], rf"{cas}/v2/shards", self.post_shard_v2),
            CallRoute(["GET"], rf"{cas}/(?P<version>v1|v2)/reconstructions/(?P<hash>{_HASH})", self.reconstruction),
            # Nothing is deduplicated across clients, and direct xorb upload is the way: 404 says both (hf_xet goes on).
            CallRoute(["GET"], rf"{cas}/v1/chunks/[^/]+/{_HASH}", self.nothing),
            CallRoute(["POST"], rf"{cas}/v1/xorb-grants/.*", self.nothing),
            CallRoute(["POST"], rf"({cas})?/v1/telemetry", self.telemetry),
            CallRoute(["GET"], rf"{cas}/(?P<route>xorbs/(?P<hash>{_HASH}))", self.xorb_data),
            CallRoute(["GET"], rf"{cas}/(?P<route>plain/(?P<hash>{_HASH})/(?P<index>\d+))", self.plain_data),
        ]

    def _require(self, call: Call, scope: str) -> None:
        kind, _, token = (call.authorization or "").partition(" ")
        found = self.signer.xet_scope(token) if kind.lower() == "bearer" else None
        if found is None:
            raise HubError(401, "Missing, foreign or expired xet token")
        if scope == "write" and found != "write":
            raise HubError(403, "This xet token can only read")

    def post_xorb(self, call: Call) -> Response:
        """Keep a xorb."""
        self._require(call, "write")
        try:
            inserted = self.store.put_xorb(call.params["hash"], call.body)
        except XorbError as problem:
            raise HubError(400, str(problem)) from problem
        return JSONResponse({"was_inserted": inserted})

    def _keep_shard(self, call: Call) -> int:
        self._require(call, "write")
        try:
            return self.store.put_shard(call.body)
        except ShardError as problem:
            raise HubError(400, str(problem)) from problem

    def post_shard_v1(self, call: Call) -> Response:
        """Keep a shard."""
        self._keep_shard(call)
        return JSONResponse({"result": 1})

    def post_shard_v2(self, call: Call) -> Response:
        """Keep a shard; the answer is a stream of progress, one JSON object a line."""
        count = self._keep_shard(call)
        events: list[dict[str, Any]] = [
            {"type": "validating", "verified": count, "total": count},
            {"type": "committing", "stage": "syncing"},
            {"type": "result", "result": 1},
        ]
        body = "".join(json.dumps(event) + "\n" for event in events)
        return Response(body, media_type="application/x-ndjson")

    def nothing(self, _call: Call) -> Response:
        """404."""
        raise HubError(404, "Not found")

    def telemetry(self, _call: Call) -> Response:
        """Take a client's measurements and forget them."""
        return JSONResponse({})

    def reconstruction(self, call: Call) -> Response:
        """How to rebuild a file, or a part of it, from chunks of xorbs."""
        self._require(call, "read")
        content = self.find(call.params["hash"])
        if content is None:
            raise HubError(404, "File not found")
        part = parse_range(call.request.headers.get("range"), content.size)
        segments, skip = trim(content.segments(), *(part or (0, content.size)))
        terms = [
            {
                "hash": segment.xorb,
                "unpacked_length": sum(segment.sizes),
                "range": {"start": segment.first, "end": segment.first + len(segment.sizes)},
            }
            for segment in segments
        ]
        answer: dict[str, Any] = {"offset_into_first_range": skip, "terms": terms}
        if call.params["version"] == "v1":
            answer["fetch_info"] = {
                xorb: [
                    {"range": _span(first, last), "url": self._url(route), "url_range": _span(begin, end - 1)}
                    for first, last, begin, end, route in row
                ]
                for xorb, row in merged(segments).items()
            }
        else:
            answer["xorbs"] = {
                xorb: [
                    {
                        "url": self._url(route),
                        "ranges": [{"chunks": _span(first, last), "bytes": _span(begin, end - 1)}],
                    }
                    for first, last, begin, end, route in row
                ]
                for xorb, row in merged(segments).items()
            }
        return JSONResponse(answer)

    def _url(self, route: str) -> str:
        return f"{self.hub.endpoint}{cas_path(self.signer)}/{route}?signature={self.signer.sign(route)}"

    def _check_link(self, call: Call) -> None:
        if not self.signer.check(call.params["route"], call.request.query_params.get("signature", "")):
            raise HubError(403, "This link is not signed")

    def xorb_data(self, call: Call) -> Response:
        """Bytes of a xorb."""
        self._check_link(call)
        path = self.store.xorb_path(call.params["hash"])
        if not path.is_file():
            raise HubError(404, "Xorb not found")
        part = parse_range(call.request.headers.get("range"), path.stat().st_size) or (0, path.stat().st_size)
        with path.open("rb") as stream:
            stream.seek(part[0])
            return _bytes_answer(stream.read(part[1] - part[0]), part, path.stat().st_size)

    def plain_data(self, call: Call) -> Response:
        """Bytes of a xorb that stands for a part of a plain file."""
        self._check_link(call)
        content = self.store.content(call.params["hash"])
        if not isinstance(content, PlainContent):
            raise HubError(404, "File not found")
        data = content.xorb(int(call.params["index"]))
        part = parse_range(call.request.headers.get("range"), len(data)) or (0, len(data))
        return _bytes_answer(data[part[0] : part[1]], part, len(data))


def _span(start: int, end: int) -> dict[str, int]:
    return {"start": start, "end": end}


def _bytes_answer(data: bytes, part: tuple[int, int], size: int) -> Response:
    headers = {"Content-Range": f"bytes {part[0]}-{part[1] - 1}/{size}"}
    return Response(data, 206, headers=headers, media_type="application/octet-stream")

"""Pages for people: what a link in a report leads to. One plain page for a repo at a revision, one for a Job.

The links of a report (`/{repo}/tree/{sha}`, `/jobs/{namespace}/{id}`) have the shape that the Hub's own pages have.
Everything on a page is somebody's text, so everything is escaped, and nothing on a page may load or run.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.calls import Call, CallRoute, HubError
from hf_train.local_hub.jobs.machine import JobMachine
from hf_train.local_hub.repos.access import REVISION, RepoAccess
from hf_train.local_hub.repos.info import moment

TAIL_BYTES = 1 << 18
"""How much of a log's end a page shows."""
# Names that the Hub's own paths have, so no namespace can have them.
_REPO = (
    r"/(?:(?P<type>datasets|spaces|kernels)/)?"
    r"(?P<ns>(?!(?:api|jobs|buckets|settings|datasets|spaces|kernels|__admin)/)[^/]+)/(?P<name>[^/]+)"
)
_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'", "X-Frame-Options": "DENY"}
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "pre{overflow:auto;background:#f4f4f4;padding:1em}td{padding:.1em 1em .1em 0}"
)


class Pages:
    """Handlers.

    Args:
        access: Repos and who asks.
        machine: The Jobs.
        show_jobs: Whether Jobs are shown without a token: on loopback only, where whoever asks runs this Hub.
    """

    def __init__(self, access: RepoAccess, machine: JobMachine, *, show_jobs: bool) -> None:
        self._access, self._machine, self._show_jobs = access, machine, show_jobs

    def routes(self) -> list[BaseRoute]:
        """All of them; they stand last, for a repo's path looks like many others."""
        jobs = [CallRoute(["GET", "HEAD"], r"/jobs/(?P<ns>[^/]+)/(?P<id>[^/]+)", self.job)] if self._show_jobs else []
        tree = rf"{_REPO}(?:/(?:tree|commit)/{REVISION}(?P<path>/.*)?)?/?"
        return [*jobs, CallRoute(["GET", "HEAD"], tree, self.repo)]

    def repo(self, call: Call) -> Response:
        """A repo at a revision: the commit, its files, the card's text."""
        repo, _ = self._access.visible(call)
        revision = call.params.get("revision", "main")
        commit = self._access.commit(repo, revision)
        folder = call.params.get("path", "").strip("/")
        listing = repo.git.listing(commit)
        if folder and (folder not in listing or listing[folder].kind != "tree"):
            raise HubError(404, f"{folder} does not exist on {revision}", "EntryNotFound")
        last = repo.git.log(commit, count=1)[0]
        files = [
            (_link(f"/{repo.full_id}/resolve/{commit}/{quote(path)}", path), f"{entry.size} bytes")
            for path, entry in listing.items()
            if entry.kind == "blob" and path.startswith(f"{folder}/" if folder else "")
        ]
        facts = [
            ("commit", _text(commit)),
            ("title", _text(last.title)),
            ("author", _text(last.author)),
            ("date", _text(moment(last.time))),
            ("visibility", "private" if repo.private else "public"),
        ]
        body = f"{_table(facts)}<h2>Files</h2>{_table(files)}"
        readme = listing.get("README.md")
        if readme is not None and readme.kind == "blob" and not readme.sha256:
            card = repo.git.blobs([readme.oid])[readme.oid].decode("utf-8", "replace")
            body += f"<h2>README.md</h2><pre>{_text(card)}</pre>"
        return _page(repo.full_id, body, {"X-Repo-Commit": commit})

    def job(self, call: Call) -> Response:
        """A Job: its state, its spec without the values of secrets, and the end of its log."""
        job = self._machine.get(call.params["ns"], call.params["id"])
        info = job.info()
        status, durations = info["status"], info["durations"]
        facts = [
            ("stage", _text(f"{status['stage']} {status['message'] or ''}".strip())),
            ("image", _text(str(info.get("dockerImage") or info.get("spaceId")))),
            ("command", _text(json.dumps(info.get("command"), ensure_ascii=False))),
            ("flavor", _text(str(info.get("flavor")))),
            ("created", _text(str(info["createdAt"]))),
            ("ran for", f"{durations['runningSecs']} s"),
            ("labels", _text(json.dumps(info.get("labels") or {}, ensure_ascii=False))),
        ]
        log = "\n".join(_log_tail(job.log_path.read_bytes() if job.log_path.is_file() else b""))
        return _page(f"Job {job.namespace}/{job.id}", f"{_table(facts)}<h2>Log</h2><pre>{_text(log)}</pre>")


def _log_tail(stream: bytes) -> list[str]:
    """Lines of the last events of a stored log (`jobs.log` has the format)."""
    lines = []
    for event in stream[-TAIL_BYTES:].split(b"\n\n"):
        data = next((part[6:] for part in event.split(b"\n") if part.startswith(b"data: ")), b"")
        try:
            lines.append(str(json.loads(data)["data"]))
        except (ValueError, KeyError, TypeError):
            continue  # the first one may be cut
    return lines


def _text(value: str) -> str:
    return html.escape(value, quote=True)


def _link(target: str, text: str) -> str:
    return f'<a href="{_text(target)}">{_text(text)}</a>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of (name, value), both HTML already."""
    return "<table>" + "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows) + "</table>"


def _page(title: str, body: str, headers: dict[str, str] | None = None) -> Response:
    head = f"<!doctype html><meta charset=utf-8><title>{_text(title)}</title><style>{_STYLE}</style>"
    return HTMLResponse(f"{head}<h1>{_text(title)}</h1>{body}", headers={**_HEADERS, **(headers or {})})

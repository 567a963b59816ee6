"""The stub's routes: one function per resource, from a request to an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from support.github_stub import payloads
from support.github_stub.state import MAX_BODY, MAX_RELEASE, Comment, Pull, Repo, State, Token


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request, read and authenticated."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    token: Token
    api: str
    web: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One answer. A list is cut into pages by the server."""

    status: int = 200
    body: Any = None
    pages: list[Any] | None = None
    wrap: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


Route = Callable[[State, Repo, Request, "re.Match[str]"], Answer]
_CHECK_FILTERS = (("check_name", "name"), ("status", "status"))
_ROUTES: list[tuple[str, re.Pattern[str], Route]] = []


def _route(method: str, path: str) -> Callable[[Route], Route]:
    pattern = re.compile(r"/repos/(?P<repo>[^/]+/[^/]+)" + path)

    def add(handler: Route) -> Route:
        _ROUTES.append((method, pattern, handler))
        return handler

    return add


def answer(state: State, request: Request) -> Answer:
    """Answer one request, or raise a `Refusal`."""
    if request.path == "/user":
        if request.token.installation:
            raise Refusal(403, "Resource not accessible by integration")
        return Answer(body=payloads.user(request.token.login))
    if request.path == "/rate_limit":
        return Answer(body={"rate": {"limit": 5000, "remaining": 4999, "reset": 4102444800, "used": 1}})
    known = False
    for method, pattern, handler in _ROUTES:
        match = pattern.fullmatch(request.path)
        if not match:
            continue
        known = True
        if method != request.method:
            continue
        repo = state.repos.get(match["repo"])
        if repo is None:
            break
        if method != "GET" and not request.token.write:
            raise Refusal(403, "Resource not accessible by integration")
        return handler(state, repo, request, match)
    raise Refusal(405 if known and request.method not in {"GET", "POST", "PATCH", "DELETE"} else 404, "Not Found")


def _pull(repo: Repo, match: re.Match[str]) -> Pull:
    found = repo.pulls.get(int(match["number"]))
    if found is None:
        raise Refusal(404, "Not Found")
    return found


def _comment(repo: Repo, match: re.Match[str]) -> Comment:
    found = repo.comments.get(int(match["id"]))
    if found is None:
        raise Refusal(404, "Not Found")
    return found


def _text(request: Request) -> str:
    text = request.body.get("body")
    if not isinstance(text, str) or not text.strip():
        raise Refusal(422, "Validation Failed: body cannot be blank")
    if len(text) > MAX_BODY:
        raise Refusal(422, f"Validation Failed: body is too long (maximum is {MAX_BODY} characters)")
    return text


@_route("GET", "")
def _get_repo(_state: State, repo: Repo, request: Request, _match: re.Match[str]) -> Answer:
    return Answer(body=payloads.repository(repo, request.api))


@_route("GET", r"/issues/(?P<number>\d+)")
def _get_issue(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    return Answer(body=payloads.issue(repo, _pull(repo, match), request.api, request.web))


@_route("GET", r"/issues/(?P<number>\d+)/labels")
def _get_labels(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    return Answer(pages=[{"name": name} for name in _pull(repo, match).labels])


@_route("GET", r"/issues/(?P<number>\d+)/comments")
def _list_comments(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    number = _pull(repo, match).number
    found = [value for _, value in sorted(repo.comments.items()) if value.number == number]
    return Answer(pages=[payloads.comment(repo, value, request.api, request.web) for value in found])


@_route("POST", r"/issues/(?P<number>\d+)/comments")
def _create_comment(state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    pull = _pull(repo, match)
    if pull.locked:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    value = state.add_comment(repo, pull.number, _text(request), request.token.login)
    return Answer(status=201, body=payloads.comment(repo, value, request.api, request.web))


@_route("GET", r"/issues/comments/(?P<id>\d+)")
def _get_comment(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    return Answer(body=payloads.comment(repo, _comment(repo, match), request.api, request.web))


@_route("PATCH", r"/issues/comments/(?P<id>\d+)")
def _edit_comment(state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    value = _comment(repo, match)
    if value.login != request.token.login:
        raise Refusal(403, "Must have admin rights to Repository.")
    text = _text(request)
    value.edits.append(value.body)
    value.body, value.updated = text, state.now()
    return Answer(body=payloads.comment(repo, value, request.api, request.web))


@_route("DELETE", r"/issues/comments/(?P<id>\d+)")
def _delete_comment(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    del repo.comments[_comment(repo, match).id]
    return Answer(status=204)


@_route("POST", r"/issues/comments/(?P<id>\d+)/reactions")
def _react(state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    value = _comment(repo, match)
    content = request.body.get("content")
    if content not in {"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}:
        raise Refusal(422, "Validation Failed")
    reaction = {"id": state.new_id(), "content": content, "user": payloads.user(request.token.login)}
    value.reactions.append(reaction)
    return Answer(status=201, body=reaction)


@_route("GET", r"/issues/comments/(?P<id>\d+)/reactions")
def _list_reactions(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    return Answer(pages=_comment(repo, match).reactions)


@_route("GET", "/pulls")
def _list_pulls(_state: State, repo: Repo, request: Request, _match: re.Match[str]) -> Answer:
    wanted, head = request.query.get("state", "open"), request.query.get("head", "")
    owner = repo.name.split("/", 1)[0]
    found = [
        pull
        for pull in repo.pulls.values()
        if wanted in {"all", pull.state} and head in {"", f"{owner}:{pull.head_ref}"}
    ]
    return Answer(pages=[payloads.pull(repo, pull, request.api, request.web) for pull in found])


@_route("GET", r"/pulls/(?P<number>\d+)")
def _get_pull(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    return Answer(body=payloads.pull(repo, _pull(repo, match), request.api, request.web))


@_route("GET", r"/compare/(?P<base>.+)\.\.\.(?P<head>.+)")
def _compare(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    base, head = (repo.refs.get(unquote(name), unquote(name)) for name in (match["base"], match["head"]))
    history = repo.history(base)
    common = next((sha for sha in repo.history(head) if sha in history), None)
    if common is None:
        raise Refusal(404, "Not Found")
    return Answer(body={"status": "diverged", "merge_base_commit": {"sha": common}, "commits": [], "files": []})


@_route("GET", r"/commits/(?P<ref>(?:heads/|tags/)?[^/]+)")
def _get_commit(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    ref = unquote(match["ref"]).removeprefix("heads/").removeprefix("tags/")
    known = [sha for sha in repo.parents if sha.startswith(repo.refs.get(ref, ref))]
    if len(known) != 1:
        raise Refusal(422, f"No commit found for SHA: {ref}")
    return Answer(body={"sha": known[0]})


@_route("GET", r"/commits/(?P<sha>[0-9a-f]{40})/pulls")
def _pulls_of_commit(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    found = [pull for pull in repo.pulls.values() if pull.head_sha == match["sha"]]
    return Answer(pages=[payloads.pull(repo, pull, request.api, request.web) for pull in found])


@_route("GET", r"/collaborators/(?P<login>[^/]+)/permission")
def _permission(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    permission = repo.permissions.get(match["login"], "read")
    return Answer(body={"permission": permission, "role_name": permission, "user": payloads.user(match["login"])})


def _output(request: Request, before: Mapping[str, Any]) -> dict[str, Any]:
    """What a check run says. Annotations are added to those that it has (REST docs: update a check run)."""
    output = request.body.get("output")
    if output is None:
        return dict(before)
    if not (isinstance(output.get("title"), str) and isinstance(output.get("summary"), str)):
        raise Refusal(422, "Validation Failed: output needs a title and a summary")
    if len(output["summary"]) > MAX_BODY - 1:
        raise Refusal(422, "Validation Failed: summary is too long")
    new = output.get("annotations", [])
    for one in new:
        lines = [one.get("start_line"), one.get("end_line")]
        level = one.get("annotation_level")
        if not all(type(line) is int and line >= 0 for line in lines) or level not in {"notice", "warning", "failure"}:
            raise Refusal(422, "Validation Failed: annotation")
        if not (one.get("path") and one.get("message")) or len(one.get("title", "")) > 255 or len(new) > 50:
            raise Refusal(422, "Validation Failed: annotation")
    return {**output, "annotations": [*before.get("annotations", []), *new]}


@_route("POST", "/check-runs")
def _create_check(state: State, repo: Repo, request: Request, _match: re.Match[str]) -> Answer:
    if not request.body.get("name") or not re.fullmatch(r"[0-9a-f]{40}", str(request.body.get("head_sha"))):
        raise Refusal(422, "Validation Failed")
    number = state.new_id()
    run = {
        "id": number,
        "status": "queued",
        "conclusion": None,
        **request.body,
        "output": _output(request, {}),
        "url": f"{request.api}/repos/{repo.name}/check-runs/{number}",
        "html_url": f"{request.web}/{repo.name}/runs/{number}",
    }
    repo.checks[number] = run
    return Answer(status=201, body=run)


@_route("PATCH", r"/check-runs/(?P<id>\d+)")
def _edit_check(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    run = repo.checks.get(int(match["id"]))
    if run is None:
        raise Refusal(404, "Not Found")
    run.update({**request.body, "output": _output(request, run["output"])})
    return Answer(body=run)


@_route("GET", r"/check-runs/(?P<id>\d+)")
def _get_check(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    run = repo.checks.get(int(match["id"]))
    if run is None:
        raise Refusal(404, "Not Found")
    return Answer(body=run)


@_route("GET", r"/commits/(?P<sha>[0-9a-f]{40})/check-runs")
def _checks_of_commit(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    wanted = {"head_sha": match["sha"]}
    wanted |= {key: request.query[name] for name, key in _CHECK_FILTERS if name in request.query}
    found = [run for run in repo.checks.values() if all(run.get(key) == value for key, value in wanted.items())]
    return Answer(pages=found, wrap="check_runs")


@_route("GET", "/actions/runs")
def _list_runs(_state: State, repo: Repo, request: Request, _match: re.Match[str]) -> Answer:
    found = [
        run
        for run in sorted(repo.runs.values(), key=lambda run: -run.id)
        if request.query.get("head_sha", run.head_sha) == run.head_sha
        and request.query.get("event", run.event) == run.event
        and request.query.get("status", run.status) in {run.status, run.conclusion}
    ]
    shown = [payloads.workflow_run(repo, run, request.api, request.web) for run in found]
    return Answer(pages=shown, wrap="workflow_runs")


@_route("GET", r"/actions/runs/(?P<id>\d+)")
def _get_run(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    run = repo.runs.get(int(match["id"]))
    if run is None:
        raise Refusal(404, "Not Found")
    return Answer(body=payloads.workflow_run(repo, run, request.api, request.web))


@_route("POST", r"/actions/runs/(?P<id>\d+)/cancel")
def _cancel_run(_state: State, repo: Repo, _request: Request, match: re.Match[str]) -> Answer:
    run = repo.runs.get(int(match["id"]))
    if run is None:
        raise Refusal(404, "Not Found")
    if run.status == "completed":
        raise Refusal(409, "Cannot cancel a workflow run that is completed.")
    run.cancelled += 1
    run.status, run.conclusion = "completed", "cancelled"
    return Answer(status=202, body={})


@_route("GET", "/releases")
def _list_releases(_state: State, repo: Repo, request: Request, _match: re.Match[str]) -> Answer:
    found = sorted(repo.releases.values(), key=lambda one: one.published, reverse=True)
    return Answer(pages=[payloads.release(repo, one, request.api, request.web) for one in found])


@_route("GET", r"/releases/tags/(?P<tag>[^/]+)")
def _release_of_tag(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    tag = unquote(match["tag"])
    found = next((one for one in repo.releases.values() if one.tag == tag and not one.draft), None)
    if found is None:
        raise Refusal(404, "Not Found")
    return Answer(body=payloads.release(repo, found, request.api, request.web))


@_route("PATCH", r"/releases/(?P<id>\d+)")
def _edit_release(_state: State, repo: Repo, request: Request, match: re.Match[str]) -> Answer:
    found = repo.releases.get(int(match["id"]))
    if found is None:
        raise Refusal(404, "Not Found")
    if len(request.body.get("body") or "") > MAX_RELEASE:
        raise Refusal(422, f"Validation Failed: body is too long (maximum is {MAX_RELEASE} characters)")
    for key, value in request.body.items():
        setattr(found, {"tag_name": "tag"}.get(key, key), value)
    return Answer(body=payloads.release(repo, found, request.api, request.web))

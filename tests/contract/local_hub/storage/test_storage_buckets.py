"""Buckets over plain HTTP, and their live folders."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.storage_server import Server, token_of


@pytest.fixture
def live(server: Server, user: str) -> Path:
    """The live folder of a fresh bucket `USER/b`."""
    server.api(user).create_bucket("b", private=True)
    return server.data / "buckets" / user / "b" / "files"


def _batch(server: Server, user: str, *operations: dict[str, Any]) -> Any:
    body = "".join(json.dumps(operation) + "\n" for operation in operations)
    return server.ask("POST", f"/api/buckets/{user}/b/batch", token_of(user), content=body)


def _paths(server: Server, user: str, query: str = "") -> list[str]:
    answer = server.ask("GET", f"/api/buckets/{user}/b/tree{query}", token_of(user))
    return [item["path"] for item in answer.json()]


def test_an_existing_bucket_is_409_with_its_url(server: Server, user: str, live: Path) -> None:
    answer = server.ask("POST", f"/api/buckets/{user}/b", token_of(user), json={})
    assert answer.status_code == 409
    assert answer.json()["url"] == f"{server.url}/buckets/{user}/b"


def test_a_tree_comes_in_pages(server: Server, user: str, live: Path) -> None:
    for number in range(5):
        (live / f"{number} ü&.txt").write_text("x")
    seen, path, pages = [], f"/api/buckets/{user}/b/tree?limit=2", 0
    while path:
        answer = server.ask("GET", path, token_of(user))
        seen += [item["path"] for item in answer.json()]
        path = answer.links["next"]["url"].removeprefix(server.url) if "next" in answer.links else ""
        pages += 1
    assert (pages, seen) == (3, [f"{number} ü&.txt" for number in range(5)])


def test_one_level_shows_folders_once(server: Server, user: str, live: Path) -> None:
    for name in ("a/x", "a/y/z", "b"):
        (live / name).parent.mkdir(parents=True, exist_ok=True)
        (live / name).write_text("x")
    (live / "empty folder").mkdir()
    assert _paths(server, user, "?recursive=false") == ["a", "b"]
    assert _paths(server, user, "/a?recursive=false") == ["a/x", "a/y"]
    assert _paths(server, user) == ["a/x", "a/y/z", "b"]
    assert _paths(server, user, "/none") == []


@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [(None, 200, b"0123456789"), ("bytes=2-4", 206, b"234"), ("bytes=-3", 206, b"789"), ("bytes=20-", 416, None)],
)
def test_parts_of_a_file(
    server: Server, user: str, live: Path, asked: str | None, status: int, expected: bytes | None
) -> None:
    (live / "f").write_bytes(b"0123456789")
    headers = {"Range": asked} if asked else {}
    answer = server.ask("GET", f"/buckets/{user}/b/resolve/f", token_of(user), headers=headers)
    assert answer.status_code == status
    assert expected is None or answer.content == expected


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", "", ".", "..", "a\\..\\b", "a\0b", "/"])
def test_a_path_that_climbs_out_is_not_written(server: Server, user: str, live: Path, path: str) -> None:
    before = sorted(server.data.rglob("*"))
    answer = _batch(server, user, {"type": "addFile", "path": path, "xetHash": "0" * 64, "mtime": 0})
    assert answer.status_code == 422
    assert answer.json()["failed"][0]["path"] == path
    assert sorted(server.data.rglob("*")) == before


@pytest.mark.parametrize("path", ["..%2Fmeta.json", "%2E%2E/meta.json", "a/..%2F..%2Fmeta.json", "%2Fetc%2Fpasswd"])
def test_a_path_that_climbs_out_is_not_read(server: Server, user: str, live: Path, path: str) -> None:
    # By a raw socket: a client library would tidy the path up.
    address = urlsplit(server.url)
    assert address.hostname
    assert address.port
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        head = f"GET /buckets/{user}/b/resolve/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(user)}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        status = connection.makefile("rb").readline()
    assert status.split()[1] == b"400", status


@pytest.mark.parametrize("namespace", ["..", "%2E%2E", "%2E%2E%2F.."])
def test_a_bucket_id_that_climbs_out_is_refused(server: Server, user: str, namespace: str) -> None:
    answer = server.ask("POST", f"/api/buckets/{namespace}/x", token_of(user), json={})
    assert answer.status_code in {400, 403, 404}


def test_links_that_lead_out_are_not_there(server: Server, user: str, live: Path, tmp_path: Path) -> None:
    """A Job may write any link; requests must not follow it out of the bucket."""
    secret = tmp_path / "secret"
    secret.write_text("hidden words")
    (live / "inside").write_text("in")
    (live / "good").symlink_to("inside")
    (live / "out").symlink_to(secret)
    (live / "folder").symlink_to(tmp_path)
    os.mkfifo(live / "pipe")
    assert _paths(server, user) == ["good", "inside"]
    for path in ("out", "folder/secret"):
        answer = server.ask("GET", f"/buckets/{user}/b/resolve/{path}", token_of(user))
        assert answer.status_code in {400, 404}
        assert b"hidden" not in answer.content
    added = _batch(server, user, {"type": "addFile", "path": "folder/new", "xetHash": "0" * 64, "mtime": 0})
    assert added.status_code == 422
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]


def test_a_batch_says_what_failed(server: Server, user: str, live: Path) -> None:
    good = {"type": "addFile", "path": "empty", "xetHash": "0" * 64, "mtime": 1_700_000_000_000}
    bad = {"type": "addFile", "path": "none", "xetHash": "1" * 64, "mtime": 0}
    answer = _batch(server, user, good, bad)
    assert answer.status_code == 200
    assert (answer.json()["succeeded"], [one["path"] for one in answer.json()["failed"]]) == (1, ["none"])
    assert (live / "empty").stat().st_mtime == 1_700_000_000
    assert _batch(server, user, bad).status_code == 422


def test_a_file_where_a_folder_is_needed_fails_alone(server: Server, user: str, live: Path) -> None:
    (live / "a").write_text("x")
    answer = _batch(server, user, {"type": "addFile", "path": "a/b", "xetHash": "0" * 64, "mtime": 0})
    assert answer.status_code == 422
    assert _paths(server, user) == ["a"]


def test_settings_change_who_sees_it(server: Server, user: str, live: Path) -> None:
    assert server.ask("GET", f"/api/buckets/{user}/b").status_code == 401
    other = server.ask("GET", f"/api/buckets/{user}/b", token_of("someone"))
    assert (other.status_code, other.headers["X-Error-Code"]) == (404, "RepoNotFound")
    server.api(user).update_bucket_settings(f"{user}/b", private=False)
    assert server.ask("GET", f"/api/buckets/{user}/b").status_code == 200
    assert server.ask("DELETE", f"/api/buckets/{user}/b", token_of("someone")).status_code == 403
    assert server.ask("DELETE", f"/api/buckets/{user}/b").status_code == 401

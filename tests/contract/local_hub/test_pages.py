"""Pages for people: the links of a report lead somewhere, and what strangers wrote is only text there."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle

Run = Callable[..., dict[str, Any]]
HOSTILE = "<script>alert(1)</script>"


def get(hub: LocalHubHandle, path: str, token: str | None = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.get(hub.endpoint + path, headers=headers, timeout=10, follow_redirects=True)


def test_page_of_a_model_at_a_commit(local_hub: LocalHubHandle) -> None:
    api = HfApi(endpoint=local_hub.endpoint, token=local_hub.token)
    repo = api.create_repo("paged", exist_ok=True).repo_id
    card = f"---\nlicense: mit\n---\n# Hello {HOSTILE}".encode()
    commit = api.upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id=repo, commit_message=HOSTILE).oid
    api.upload_file(path_or_fileobj=b"later", path_in_repo="later.txt", repo_id=repo)
    page = get(local_hub, f"/{repo}/tree/{commit}")
    assert (page.status_code, page.headers["X-Repo-Commit"]) == (200, commit)
    assert commit in page.text
    assert "later.txt" not in page.text, "the page shows the commit, not the branch"
    assert HOSTILE not in page.text
    assert page.text.count(html.escape(HOSTILE)) == 2
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "later.txt" in get(local_hub, f"/{repo}").text
    assert get(local_hub, f"/{repo}/tree/{'0' * 40}").status_code == 404
    assert get(local_hub, f"/{repo}/tree/main/nowhere").status_code == 404


@pytest.mark.parametrize("kind", ["model", "dataset", "space"])
def test_a_private_page_needs_the_token_of_its_owner(local_hub: LocalHubHandle, kind: str) -> None:
    api = HfApi(endpoint=local_hub.endpoint, token=local_hub.token)
    sdk = "static" if kind == "space" else None
    url = api.create_repo(f"secret-{kind}", repo_type=kind, private=True, space_sdk=sdk, exist_ok=True)
    path = url.url.removeprefix(local_hub.endpoint)
    assert get(local_hub, path).status_code in {401, 404}
    assert get(local_hub, path, local_hub.token).status_code == 200


def test_page_of_a_job(local_hub: LocalHubHandle, run: Run) -> None:
    job = run(f"echo '{HOSTILE}'", secrets={"S": "hf_localHidden"}, labels={"team": "vision"})
    page = get(local_hub, f"/jobs/{local_hub.user}/{job['id']}")
    assert page.status_code == 200
    assert "COMPLETED" in page.text
    assert "vision" in page.text
    assert html.escape(HOSTILE) in page.text
    assert HOSTILE not in page.text
    assert "hf_localHidden" not in page.text
    assert get(local_hub, f"/jobs/{local_hub.user}/{'0' * 24}").status_code == 404

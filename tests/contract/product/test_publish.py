"""Publishing without a key: a step's identity becomes a token for one repo, and the Job needs none."""

from __future__ import annotations

import base64
import json
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import pytest

from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.hub.publish import HubPublisher, Identity
from hf_train.values import Secret
from support.local_hub_process import Hub
from support.product import Product

REQUEST_TOKEN = "local-request-token"
BEFORE = datetime.now(UTC) - timedelta(hours=1)
SUBJECT = "repo:octo/proj:environment:training"


class Runner:
    """The runner's endpoint that says who a step is."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": SUBJECT, "ref": "refs/heads/main"}
        self.given: list[str] = []
        self.fail = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = outer.answer(self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def identity(self) -> Identity:
        url = f"http://127.0.0.1:{self.server.server_port}/token?api-version=2.0"
        return Identity(url=url, token=Secret(REQUEST_TOKEN))

    def answer(self, path: str, authorization: str) -> tuple[int, dict[str, str]]:
        if authorization != f"Bearer {REQUEST_TOKEN}":
            return 401, {}
        if self.fail:
            self.fail -= 1
            return 500, {}
        query = parse_qs(urlsplit(path).query)
        assert query["api-version"] == ["2.0"], "what stood in the address stays"
        claims = {"aud": query["audience"][0], "exp": time.time() + 300, **self.claims}
        parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({}, claims)]
        self.given.append(".".join([*parts, "local-signature"]))
        return 200, {"value": self.given[-1]}


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def bucket(account: Hub) -> str:
    """A bucket with what a Job left in it, and the empty repo for it."""
    name = f"{account.user}/out"
    account.api.create_bucket(name, private=True)
    files = [(b"weights" * 1000, "run/model/model.safetensors"), (b"{}", "run/model/config.json")]
    account.api.batch_bucket_files(name, add=[*files, (b"no", "run/model-old/config.json")])
    account.api.create_repo(f"{account.user}/m", private=True)
    account.forget()
    return name


def publisher(account: Hub, runner: Runner | None, tmp_path: Path) -> HubPublisher:
    identity = runner.identity if runner else None
    return HubPublisher(account.url, Secret(account.token), identity, str(tmp_path))


@pytest.mark.case(29)
def test_the_identity_publishes_to_its_one_repo(account: Hub, runner: Runner, bucket: str, tmp_path: Path) -> None:
    repo = f"{account.user}/m"
    revision = publisher(account, runner, tmp_path).publish(bucket, "run/model", repo, "Job 123 of octo/proj", BEFORE)
    newest = account.api.list_repo_commits(repo)[0]
    assert (newest.commit_id, newest.title) == (revision, "Job 123 of octo/proj")
    assert set(account.api.list_repo_files(repo)) == {".gitattributes", "model.safetensors", "config.json"}
    (exchange,) = account.requests("POST", "/oauth/token")
    assert json.loads(exchange["body"])["resource"] == repo
    assert json.loads(exchange["body"])["subject_token"] == runner.given[0]
    commits = account.requests("POST", f"/api/models/{repo}/commit")
    assert len(commits) == 1
    assert not list(tmp_path.glob("hf-train-publish-*")), "nothing stays on this machine"
    account.api.create_repo(f"{account.user}/other")  # a token for one repo is no token for another
    ours = publisher(account, runner, tmp_path)
    with mock.patch("hf_train.hub.publish._member", side_effect=_member_for(repo)), pytest.raises(RefusedByHub):
        ours.publish(bucket, "run/model", f"{account.user}/other", "t", BEFORE)


def _member_for(repo: str) -> Any:
    """The exchange gives the token of another repo than the one that was asked for."""

    def member(answer: Any, name: str) -> str:
        value = str(answer.json()[name])
        prefix = "hf_jwt_local_"
        if value.startswith(prefix):
            value = prefix + base64.urlsafe_b64encode(repo.encode()).decode().rstrip("=")
        return value

    return member


def test_without_an_identity_the_launch_token_publishes(account: Hub, bucket: str, tmp_path: Path) -> None:
    publisher(account, None, tmp_path).publish(bucket, "run/model/", f"{account.user}/m", "t", BEFORE)
    assert not account.requests("POST", "/oauth/token")
    assert "config.json" in account.api.list_repo_files(f"{account.user}/m")


@pytest.mark.case(29)
@pytest.mark.parametrize("claims", [{"aud": "https://elsewhere.test"}, {"exp": 1}], ids=["another audience", "expired"])
def test_a_refused_identity_is_named_and_never_shown(
    account: Hub, runner: Runner, bucket: str, tmp_path: Path, claims: dict[str, Any]
) -> None:
    runner.claims |= claims
    with pytest.raises(RefusedByHub) as refused:
        publisher(account, runner, tmp_path).publish(bucket, "run/model", f"{account.user}/m", "t", BEFORE)
    text = f"{refused.value.title} {refused.value.message} {refused.value.hint}"
    assert f"sub {SUBJECT}" in text
    assert "trusted publisher" in text
    assert runner.given[0] not in text
    assert "local-signature" not in text


@pytest.mark.case(29)
def test_a_failure_that_passes_gets_a_fresh_identity(account: Hub, runner: Runner, bucket: str, tmp_path: Path) -> None:
    """The statement lives five minutes and is asked for again at each try."""
    ours = publisher(account, runner, tmp_path)
    account.fault("POST /oauth/token status=500 times=1")
    with pytest.raises(TransientHubError, match="exchange"):
        ours.publish(bucket, "run/model", f"{account.user}/m", "t", BEFORE)
    runner.fail = 1
    with pytest.raises(TransientHubError, match="identity of this step"):
        ours.publish(bucket, "run/model", f"{account.user}/m", "t", BEFORE)
    ours.publish(bucket, "run/model", f"{account.user}/m", "t", BEFORE)
    assert len(set(runner.given)) == 2


def test_a_job_without_a_token_has_its_model_on_the_hub(
    product: Product, account: Hub, runner: Runner, tmp_path: Path
) -> None:
    """The whole way: the Job writes to a bucket, this step publishes with its identity, the report links the commit."""
    account.api.create_bucket(f"{account.user}/out", private=True)
    shell = """
        test -z "$HF_TOKEN" && mkdir -p /out/m
        echo weights > /out/m/model.safetensors
        echo '{"acc": 0.5}' > /out/m/metrics.json
    """
    repo, volume = f"{account.user}/published", f"hf://buckets/{account.user}/out:/out:rw"
    env = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": runner.identity.url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN,
    }
    asked = ("--volumes", volume, "--publish", "/out/m", "--model-repo", repo, "--metrics-file", "metrics.json")
    done = product.run(*asked, "--", "sh", "-c", shell, env=env)
    assert done.code == 0, done.out
    newest = account.api.list_repo_commits(repo)[0]
    assert done.report["model-revision"] == newest.commit_id
    assert done.report["metrics"] == {"acc": 0.5}
    assert newest.title == f"Trained by Job {done.report['job-id']}"
    assert account.launches()[0].get("secrets", {}) == {}
    assert REQUEST_TOKEN not in done.out
    assert runner.given[0] not in done.out


def test_what_an_earlier_job_left_is_never_published_as_this_ones(
    product: Product, account: Hub, tmp_path: Path
) -> None:
    account.api.create_bucket(f"{account.user}/out", private=True)
    repo, volume = f"{account.user}/stale", f"hf://buckets/{account.user}/out:/out:rw"
    asked = ("--volumes", volume, "--publish", "/out/m", "--model-repo", repo, "--metrics-file", "metrics.json")
    gate = ("--gate", "acc >= 0.9", "--reuse", "never")
    good = "mkdir -p /out/m; echo w > /out/m/model.safetensors; echo '{\"acc\": 0.99}' > /out/m/metrics.json"
    first = product.run(*asked, *gate, "--", "sh", "-c", good)
    assert (first.code, first.report["gate"]) == (0, "pass"), first.out
    time.sleep(3)
    second = product.run(*asked, *gate, "--", "sh", "-c", "echo nothing")
    assert second.code in {6, 7}, second.out
    assert second.report["metrics"] == {}
    assert "files of earlier runs lie there" in second.out
    third = product.run(*asked, "--reuse", "never", "--", "sh", "-c", f"{good}; sleep 0")
    assert third.code == 0, third.out
    assert third.report["model-revision"] == first.report["model-revision"], "the repo holds these very files"


def test_what_cannot_be_published_is_said(account: Hub, runner: Runner, bucket: str, tmp_path: Path) -> None:
    ours, repo = publisher(account, runner, tmp_path), f"{account.user}/m"
    with pytest.raises(RefusedByHub, match="left no file"):
        ours.publish(bucket, "run/nothing", repo, "t", BEFORE)
    little = SimpleNamespace(total=1, used=0, free=1 << 20)
    with mock.patch.object(shutil, "disk_usage", return_value=little), pytest.raises(RefusedByHub, match="GB free"):
        ours.publish(bucket, "run/model", repo, "t", BEFORE)
    with pytest.raises(RefusedByHub):
        ours.publish(bucket, "run/model", "nobody/here", "t", BEFORE)
    assert runner.given == [] or len(runner.given) == 1, "who we are is asked at the end only"

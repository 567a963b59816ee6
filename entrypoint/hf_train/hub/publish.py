"""Adapter: publish what a Job wrote into a bucket, with a token for one repo and one hour; the Job needs none.

GitHub gives a step with `permissions: id-token: write` a signed statement of who it is; the Hub trades that for a token
that may write to a repo whose trusted publisher it is (hub-docs `trusted-publishers`, huggingface_hub 2.4.0 `_oidc.py`,
RFC 8693). Without that right the launch token publishes.

A bucket cannot be copied to a repo on the server (huggingface_hub 2.4.0 `copy_files`), so the files go over this
machine; the store takes only what it does not have.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

from huggingface_hub import BucketFile, HfApi
from huggingface_hub.utils._http import get_session
from huggingface_hub.utils.tqdm import disable_progress_bars

from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.hub_api import TRANSIENT, make_api, translated
from hf_train.values import Secret

CLOCK_SLACK = timedelta(seconds=2)
"""The Hub gives whole seconds at some places, and parts of them at others."""
SPARE_BYTES = 1 << 30
"""What stays free on this machine's disk."""
_CHECKPOINT = re.compile(r"checkpoint-[0-9]{1,12}")
_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105  (the name of a kind, not a token)


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Where the runner gives out the statement of who this step is.

    Attributes:
        url: `ACTIONS_ID_TOKEN_REQUEST_URL`.
        token: `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    """

    url: str
    token: Secret


class HubPublisher:
    """The `ports.Publisher` of a real run.

    Args:
        endpoint: The Hub.
        token: The launch token, which may read the bucket.
        identity: Who this step is; None without `id-token: write`.
        scratch: Folder with room for the model; the machine's own by default.
    """

    def __init__(
        self, endpoint: str, token: Secret | None, identity: Identity | None, scratch: str | None = None
    ) -> None:
        self._endpoint, self._token, self._identity, self._scratch = endpoint, token, identity, scratch

    def publish(self, bucket: str, folder: str, repo: str, title: str, since: datetime) -> str:
        """Push what a folder of a bucket got since a moment to a model repo, as one commit.

        Args:
            bucket: `namespace/name`.
            folder: Folder in it; empty for all of it.
            repo: Model repo, `owner/name`.
            title: Title of the commit.
            since: Start of the Job. What is older is another Job's, and is left out.

        Returns:
            The commit, 40 hex digits; when the repo holds these very files already, the one that does.

        Raises:
            RefusedByHub: Nothing is there, the disk is too small, or the Hub says no.
            TransientHubError: An answer that may be better next time.
        """
        disable_progress_bars()
        reader = make_api(self._endpoint, self._token)
        with tempfile.TemporaryDirectory(prefix="hf-train-publish-", dir=self._scratch) as scratch:
            with translated(f"the files of {bucket}/{folder}"):
                self._fetch(reader, bucket, folder, Path(scratch), since)
            token = self.token_for(repo)  # fresh: it lives an hour, and a training may have run for days
            with translated(f"the model repo {repo}"):
                commit = make_api(self._endpoint, token).upload_folder(
                    repo_id=repo, folder_path=scratch, commit_message=title, ignore_patterns=[".cache/**", ".git/**"]
                )
        return str(commit.oid)

    def _fetch(self, api: HfApi, bucket: str, folder: str, scratch: Path, since: datetime) -> None:
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        found = api.list_bucket_tree(bucket, folder.strip("/") or None, recursive=True)
        there = [item for item in found if item.type == "file" and item.path.startswith(prefix)]
        there = _of_the_model(there, prefix)
        items = [item for item in there if _moment(item) >= since - CLOCK_SLACK]
        if not items:
            older = f" ({len(there)} files of earlier runs lie there)" if there else ""
            raise RefusedByHub("Nothing to publish", f"This Job left no file in {bucket}/{prefix}{older}.", "")
        size, free = sum(item.size for item in items), shutil.disk_usage(scratch).free
        if size + SPARE_BYTES > free:
            words = f"The model has {size / 1e9:.1f} GB and this machine {free / 1e9:.1f} GB free."
            raise RefusedByHub("Disk too small", words, "Let the Job push it (job-token), or use a larger runner.")
        files: list[tuple[Any, str | Path]] = []
        for item in items:
            name = PurePosixPath(item.path.removeprefix(prefix))
            if name.is_absolute() or ".." in name.parts:  # names come from a Job
                raise RefusedByHub("Not published", f"The name {item.path!r} leaves its folder.", "")
            files.append((item, scratch / name))
        api.download_bucket_files(bucket, files)

    def token_for(self, repo: str) -> Secret | None:
        """A token that may write to the repo: the step's identity traded for one, else the one that was given.

        Raises:
            RefusedByHub: The step's identity is no trusted publisher of the repo.
            TransientHubError: An answer that may be better next time.
        """
        if self._identity is None:
            return self._token
        statement = self._statement(self._identity)
        body = {"grant_type": _GRANT, "subject_token_type": _ID_TOKEN, "subject_token": statement, "resource": repo}
        with translated("the exchange of the identity for a token"):
            answer = get_session().post(f"{self._endpoint.rstrip('/')}/oauth/token", json=body)
        if answer.status_code in TRANSIENT:
            raise TransientHubError(f"HTTP {answer.status_code} for the exchange of the identity for a token")
        token = _member(answer, "access_token")
        if not token:
            raise RefusedByHub(
                "Not a trusted publisher",
                f"The Hub answered {answer.status_code} to {_claims(statement)}, which wants to write to {repo}.",
                "Add this repository and workflow as a trusted publisher in the settings of the model repo.",
            )
        return Secret(token)

    def _statement(self, identity: Identity) -> str:
        # By hand: the client's `params` would take away the query that the address has.
        url = (
            f"{identity.url}{'&' if '?' in identity.url else '?'}{urlencode({'audience': self._endpoint.rstrip('/')})}"
        )
        with translated("the identity of this step"):
            answer = get_session().get(url, headers={"Authorization": f"Bearer {identity.token.reveal()}"})
        value = _member(answer, "value")
        if not value:
            raise TransientHubError(f"HTTP {answer.status_code} for the identity of this step")
        return value


def _of_the_model(items: list[BucketFile], prefix: str) -> list[BucketFile]:
    """Without our records, and without checkpoints (three times the model, with the optimizer) beside other files.

    The Trainer's own push leaves them out too (transformers 5.24.0 `push_to_hub`).
    """
    named = [(PurePosixPath(item.path.removeprefix(prefix)).parts, item) for item in items]
    kept = [(parts, item) for parts, item in named if parts[:1] != (".hf-train",)]
    model = [item for parts, item in kept if not any(map(_CHECKPOINT.fullmatch, parts[:-1]))]
    return model or [item for _, item in kept]


def _moment(item: Any) -> datetime:
    """When a file came into its bucket; long ago when the bucket does not say."""
    moments = [one for one in (item.uploaded_at, item.mtime) if one is not None]
    return max(moments, default=datetime.min.replace(tzinfo=UTC))


def _member(answer: Any, name: str) -> str:
    """A text of a JSON answer; empty when there is none."""
    try:
        value = answer.json().get(name) if answer.status_code == 200 else None
    except (ValueError, AttributeError):
        return ""
    return value if isinstance(value, str) else ""


def _claims(statement: str) -> str:
    """Who the statement says that we are, for people: what must stand in the trusted publisher. Never the statement."""
    try:
        payload = statement.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        shown = {name: str(claims[name])[:100] for name in ("sub", "ref", "workflow_ref") if name in claims}
    except (ValueError, IndexError, TypeError):
        shown = {}
    return ", ".join(f"{name} {value}" for name, value in shown.items()) or "an identity that cannot be read"

"""What a repo got during a Job. A name in a log proves nothing; a commit with a date inside the Job's life does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from huggingface_hub import HfApi, get_session
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import GitCommitInfo

from hf_train.ports import Published
from hf_train.values import ModelLink

BEFORE = timedelta(seconds=2)
AFTER = timedelta(seconds=60)
"""Both dates are the Hub's own; the margin covers its replicas, not a runner's clock."""
MAX_FILE_BYTES = 20 << 20
RESULT_FILES = (
    "all_results.json",
    "trainer_state.json",
    "eval_results.json",
    "train_results.json",
    "README.md",
)
_EVENTS = re.compile(r"(^|/)events\.out\.tfevents\.")
_WEIGHTS = re.compile(
    r"\.(safetensors|gguf|bin|pt|pth|ckpt|h5|keras|onnx|msgpack|npz|tflite|joblib)$",
)
_NOT_WEIGHTS = re.compile(r"(^|/)(training_args\.bin|optimizer\.(pt|bin)|scheduler\.pt|rng_state.*\.pth)$")


def published(api: HfApi, kind: str, repo: str, since: datetime, until: datetime, extra: Sequence[str]) -> Published:
    """Look for the newest commit inside the Job's life and read the result files at it.

    Args:
        api: A client whose token may read the repo.
        kind: `model`, `dataset` or `space`.
        repo: `owner/name`.
        since: Start of the Job.
        until: End of the Job.
        extra: Further paths to read.

    Raises:
        HfHubHTTPError: Any answer but a 404 on the repo; the caller translates.
    """
    try:
        commits = api.list_repo_commits(repo, repo_type=kind)
    except RepositoryNotFoundError:
        return Published(link=None, note=f"{repo} does not exist, or this token cannot see it")
    mine = [one for one in commits if since - BEFORE <= one.created_at <= until + AFTER]
    pushed = [one for one in mine if one.title.strip().lower() != "initial commit"]
    if not pushed:
        if mine:
            return Published(link=None, note=f"{repo} was created, but nothing was pushed to it")
        return Published(link=None, note=f"{repo} is unchanged: its newest commit is older than this Job")
    return _at(api, kind, repo, max(pushed, key=lambda one: one.created_at), extra)


def _at(api: HfApi, kind: str, repo: str, commit: GitCommitInfo, extra: Sequence[str]) -> Published:
    info = api.repo_info(repo, repo_type=kind, revision=commit.commit_id)
    names = _names(info)
    weights = [name for name in names if _WEIGHTS.search(name) and not _NOT_WEIGHTS.search(name)]
    prefix = {"dataset": "datasets/", "space": "spaces/"}.get(kind, "")
    page = f"{api.endpoint}/{prefix}{repo}"
    link = ModelLink(
        repo=repo,
        kind="dataset" if kind == "dataset" else "space" if kind == "space" else "model",
        revision=commit.commit_id,
        url=f"{page}/tree/{commit.commit_id}",
        title=commit.title,
        private=bool(info.private),
        has_weights=bool(weights) if kind == "model" else None,
    )
    events = [name for name in names if _EVENTS.search(name)]
    wanted = [*extra, *RESULT_FILES, *events[-3:]]
    files = {
        name: content
        for name in dict.fromkeys(wanted)
        if name in names and (content := _read(api, f"{page}/resolve/{commit.commit_id}/{name}")) is not None
    }
    return Published(link=link, files=files)


def _names(info: object) -> Sequence[str]:
    return [str(sibling.rfilename) for sibling in getattr(info, "siblings", None) or ()]


def _read(api: HfApi, url: str) -> bytes | None:
    """A file's content; None when it is too large or cannot be read."""
    headers: Mapping[str, str] = {"Authorization": f"Bearer {api.token}"} if isinstance(api.token, str) else {}
    with get_session().stream("GET", url, headers=dict(headers)) as answer:
        if answer.is_error:
            return None
        content = bytearray()
        for chunk in answer.iter_bytes():
            content += chunk
            if len(content) > MAX_FILE_BYTES:
                return None
        return bytes(content)

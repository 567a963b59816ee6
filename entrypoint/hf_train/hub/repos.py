"""What a repo got during a Job. A name in a log proves nothing; a commit by the Job's account inside its life does.

Files are read as bytes and their names are looked at; nothing here, or anywhere else in this package, unpickles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from huggingface_hub import HfApi, get_session
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import GitCommitInfo

from hf_train.ports import Published
from hf_train.values import CARD_TITLE, ModelLink

BEFORE = timedelta(seconds=1)
AFTER = timedelta(seconds=60)
"""Both dates are the Hub's own. A commit's has whole seconds; the later margin covers the Hub's replicas."""
MAX_FILE_BYTES = 20 << 20
MAX_REFS = 10
POINTER_BYTES = 300
RESULT_FILES = (
    "all_results.json",
    "trainer_state.json",
    "eval_results.json",
    "train_results.json",
    "README.md",
)
_EVENTS = re.compile(r"(^|/)events\.out\.tfevents\.")
_WEIGHTS = re.compile(
    r"\.(safetensors|gguf|bin|pt|pth|ckpt|h5|keras|weights|onnx|msgpack|npz|npy|tflite|joblib|pkl|pickle|skops|nemo|zip|"
    r"ubj|pdparams|params|mlmodel|mlpackage|engine|tar\.gz|orbax)$",
    re.IGNORECASE,
)
_NOT_WEIGHTS = re.compile(r"(^|/)(training_args\.bin|optimizer\.(pt|bin)|scheduler\.(pt|bin)|rng_state.*\.pth)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """A Job's life, as far as a commit can belong to it.

    Attributes:
        since: Its start.
        until: Its end.
        author: Account of the token that it got; empty when that is not known, and then nobody is ruled out.
    """

    since: datetime
    until: datetime
    author: str = ""

    def holds(self, commit: GitCommitInfo) -> bool:
        """Whether the commit is dated inside of it."""
        return self.since - BEFORE <= commit.created_at <= self.until + AFTER

    def wrote(self, commit: GitCommitInfo) -> bool:
        """Whether the Job's account made the commit."""
        return not self.author or self.author.lower() in {name.lower() for name in commit.authors}


def published(api: HfApi, kind: str, repo: str, life: Life, extra: Sequence[str]) -> Published:
    """Look for the newest commit of a Job and read the result files at it.

    Args:
        api: A client whose token may read the repo.
        kind: `model`, `dataset` or `space`.
        repo: `owner/name`.
        life: The Job's life.
        extra: Further paths to read.

    Raises:
        HfHubHTTPError: Any answer but a 404 on the repo; the caller translates.
    """
    try:
        commits = api.list_repo_commits(repo, repo_type=kind)
    except RepositoryNotFoundError:
        return Published(link=None, note=f"{repo} does not exist, or this token cannot see it")
    mine = _mine(commits, life)
    if mine:
        return _proven(api, kind, repo, mine[0], _before(commits, life), extra)
    for ref, others in _other_refs(api, kind, repo, {one.commit_id for one in commits}):
        mine = _mine(others, life)
        if mine:
            found = _proven(api, kind, repo, mine[0], _before([*others, *commits], life), extra)
            words = f"The commit {mine[0].commit_id[:7]} is on {ref}, and not on main."
            return replace(found, problems=(words, *found.problems)) if found.link else found
    return Published(link=None, note=_why_nothing(repo, commits, life))


def results(api: HfApi, repo: str, revision: str | None, extra: Sequence[str] = ()) -> Published:
    """The result files of a model repo at a revision, whoever pushed it.

    Raises:
        HfHubHTTPError: Any answer but a 404; the caller translates.
    """
    try:
        info = api.repo_info(repo, repo_type="model", revision=revision, files_metadata=True)
    except RepositoryNotFoundError:
        return Published(link=None, note=f"{repo} does not exist, or this token cannot see it")
    except RevisionNotFoundError:
        return Published(link=None, note=f"{repo} has no revision {revision}")
    link = _link(api, "model", repo, info, str(info.sha), "")
    link = replace(link, has_weights=bool(_weights(api, link, info)))
    return Published(link=link, files=_contents(api, link, _sizes(info), extra))


def _mine(commits: Sequence[GitCommitInfo], life: Life) -> list[GitCommitInfo]:
    """The Job's commits, newest first. The one that made the repo is none: the Trainer makes it when it starts."""
    made = {commits[-1].commit_id} if commits and _is_creation(commits[-1]) else set()
    found = [one for one in commits if life.holds(one) and life.wrote(one) and one.commit_id not in made]
    found = [one for one in found if not one.title.startswith(CARD_TITLE)]  # a step's own, of this Job or another
    return sorted(found, key=lambda one: one.created_at, reverse=True)


def _is_creation(commit: GitCommitInfo) -> bool:
    return commit.title.strip().lower() == "initial commit"


def _before(commits: Sequence[GitCommitInfo], life: Life) -> GitCommitInfo | None:
    """The newest commit that was there before the Job."""
    older = [one for one in commits if one.created_at < life.since - BEFORE]
    return max(older, key=lambda one: one.created_at, default=None)


def _other_refs(api: HfApi, kind: str, repo: str, known: set[str]) -> Iterator[tuple[str, list[GitCommitInfo]]]:
    """Branches and pull requests of the repo, with those of their commits that the main branch does not have."""
    refs = api.list_repo_refs(repo, repo_type=kind, include_pull_requests=True)
    there = [*refs.branches, *(refs.pull_requests or ())]
    for ref in [one for one in there if one.target_commit not in known][:MAX_REFS]:
        commits = api.list_repo_commits(repo, repo_type=kind, revision=ref.ref if "/pr/" in ref.ref else ref.name)
        yield ref.name, [one for one in commits if one.commit_id not in known]


def _why_nothing(repo: str, commits: Sequence[GitCommitInfo], life: Life) -> str:
    inside = [one for one in commits if life.holds(one)]
    foreign = [one for one in inside if not life.wrote(one)]
    if foreign:
        authors = ", ".join(foreign[0].authors) or "somebody"
        return f"{repo} got a commit ({foreign[0].commit_id[:7]}) by {authors}, not by {life.author}, whose Job this is"
    if inside or all(_is_creation(one) for one in commits):
        return f"{repo} was created, but nothing was pushed to it"
    return (
        f"{repo} is unchanged: its newest commit is older than this Job (a training that gives the very same files "
        "makes no commit; with require-model: false that is no failure)"
    )


def _proven(
    api: HfApi, kind: str, repo: str, commit: GitCommitInfo, before: GitCommitInfo | None, extra: Sequence[str]
) -> Published:
    info = api.repo_info(repo, repo_type=kind, revision=commit.commit_id, files_metadata=True)
    hashes = _hashes(info)
    old: Mapping[str, str] = {}
    if before is not None:
        old = _hashes(api.repo_info(repo, repo_type=kind, revision=before.commit_id, files_metadata=True))
        if old == hashes:
            note = f"{repo} is unchanged: commit {commit.commit_id[:7]} holds the same files as before this Job"
            return Published(link=None, note=note)
    link = _link(api, kind, repo, info, commit.commit_id, commit.title)
    files = _contents(api, link, _sizes(info), extra)
    if kind != "model":
        return Published(link=link, files=files)
    weights = _weights(api, link, info)
    link = replace(link, has_weights=bool(weights))
    return Published(link=link, files=files, problems=_remarks(link, weights, hashes, old, extra))


def _remarks(
    link: ModelLink,
    weights: Sequence[str],
    new: Mapping[str, str],
    old: Mapping[str, str],
    extra: Sequence[str],
) -> tuple[str, ...]:
    """What a commit lacks. The repo is not named: it may be private, and the report public."""
    name = f"The commit {link.revision[:7]}"
    if not weights:
        return (f"{name} holds no weights.",)
    if all(old.get(one) == new[one] for one in weights):
        return (f"{name} holds the same weights as before this Job; only other files changed.",)
    if not any(one in new for one in (*RESULT_FILES, *extra)):
        return (f"{name} holds weights only: no model card and no result file.",)
    return ()


def _link(api: HfApi, kind: str, repo: str, info: Any, revision: str, title: str) -> ModelLink:
    prefix = {"dataset": "datasets/", "space": "spaces/"}.get(kind, "")
    return ModelLink(
        repo=repo,
        kind="dataset" if kind == "dataset" else "space" if kind == "space" else "model",
        revision=revision,
        url=f"{api.endpoint}/{prefix}{repo}/tree/{revision}",
        title=title,
        private=bool(info.private),
    )


def _contents(api: HfApi, link: ModelLink, sizes: Mapping[str, int], extra: Sequence[str]) -> Mapping[str, bytes]:
    """The result files at that commit."""
    events = [name for name in sizes if _EVENTS.search(name)]
    wanted = [name for name in dict.fromkeys([*extra, *RESULT_FILES, *events[-3:]]) if name in sizes]
    page = link.url.replace("/tree/", "/resolve/")
    found = {name: read_file(api, f"{page}/{name}") for name in wanted if sizes[name] <= MAX_FILE_BYTES}
    return {name: content for name, content in found.items() if content is not None}


def _weights(api: HfApi, link: ModelLink, info: Any) -> list[str]:
    """Files of weights that are not empty and no pointers to what was never uploaded."""
    sizes = _sizes(info)
    names = [name for name in sizes if _WEIGHTS.search(name) and not _NOT_WEIGHTS.search(name) and sizes[name] > 0]
    page = link.url.replace("/tree/", "/resolve/")
    return [
        name
        for name in names
        if sizes[name] > POINTER_BYTES
        or not (read_file(api, f"{page}/{name}") or b"").startswith(b"version https://git-lfs")
    ]


def _sizes(info: Any) -> Mapping[str, int]:
    return {str(one.rfilename): one.size if isinstance(one.size, int) else 1 for one in info.siblings or ()}


def _hashes(info: Any) -> Mapping[str, str]:
    return {str(one.rfilename): (one.lfs.sha256 if one.lfs else one.blob_id) or "" for one in info.siblings or ()}


def read_file(api: HfApi, url: str) -> bytes | None:
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

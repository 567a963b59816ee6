"""Repos on disk: `repos/TYPEs/NAMESPACE/NAME/` with `repo.git`, `meta.json` and `discussions.json`."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_train.local_hub.http import iso, now, object_id
from hf_train.local_hub.repos.git import GitRepo, Put
from hf_train.local_hub.repos.upload_rules import default_attributes
from hf_train.local_hub.state import read_json, safe_join, write_json

TYPES = ("model", "dataset", "space", "kernel")


@dataclass(kw_only=True, slots=True)
class Repo:
    """One repo.

    Attributes:
        type: `model`, `dataset`, `space` or `kernel`.
        id: `NAMESPACE/NAME`.
        folder: Where it lies.
        git: Its repository.
        key: Unchanging id of 24 hex digits.
        private: Visible to its namespace only.
        gated: `auto`, `manual` or False.
        created: When it was made, as the Hub writes dates.
        extra: What a Space was made with (`sdk`, `hardware`, …).
        lock: Held while refs change.
    """

    type: str
    id: str
    folder: Path
    git: GitRepo
    key: str
    private: bool
    created: str
    gated: str | bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def namespace(self) -> str:
        """Its owner."""
        return self.id.split("/")[0]

    @property
    def full_id(self) -> str:
        """`acme/model`, `datasets/acme/x`, `spaces/acme/y`: also the path of its page."""
        return self.id if self.type == "model" else f"{self.type}s/{self.id}"

    def save(self) -> None:
        """Write `meta.json`."""
        names = ("key", "private", "created", "gated", "extra")
        write_json(self.folder / "meta.json", {name: getattr(self, name) for name in names})


class RepoStore:
    """All repos.

    Args:
        root: Their folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._open: dict[tuple[str, str], Repo] = {}  # one object for each repo: it holds the lock and the caches

    def get(self, repo_type: str, repo_id: str) -> Repo | None:
        """A repo, or None. Names differ by more than case only (as on the Hub), so another case finds it too."""
        if repo_type not in TYPES or repo_id.count("/") != 1:
            return None
        with self._lock:
            repo = self._load(repo_type, repo_id)
            if repo is None and (right := self._right_case(repo_type, repo_id)) is not None:
                repo = self._load(repo_type, right)
            return repo

    def _right_case(self, repo_type: str, repo_id: str) -> str | None:
        folder, found = self.root / f"{repo_type}s", []
        for part in repo_id.split("/"):
            if not folder.is_dir():
                return None
            name = next((item.name for item in folder.iterdir() if item.name.lower() == part.lower()), None)
            if name is None:
                return None
            found.append(name)
            folder /= name
        return "/".join(found)

    def _load(self, repo_type: str, repo_id: str) -> Repo | None:
        known = self._open.get((repo_type, repo_id))
        if known is not None:
            return known
        folder = safe_join(self.root / f"{repo_type}s", repo_id)
        meta = read_json(folder / "meta.json")
        if meta is None:
            return None
        repo = Repo(type=repo_type, id=repo_id, folder=folder, git=GitRepo(folder / "repo.git"), **meta)
        return self._open.setdefault((repo_type, repo_id), repo)

    def all(self, repo_type: str, namespace: str | None = None) -> Iterator[Repo]:
        """The repos of a type, of one namespace or of all."""
        root = self.root / f"{repo_type}s"
        pattern = f"{namespace}/*/meta.json" if namespace else "*/*/meta.json"
        if namespace:
            safe_join(root, namespace)
        for file in sorted(root.glob(pattern)):
            repo = self.get(repo_type, f"{file.parent.parent.name}/{file.parent.name}")
            if repo is not None:
                yield repo

    def create(
        self, repo_type: str, repo_id: str, *, author: str, private: bool, extra: dict[str, Any] | None = None
    ) -> Repo | None:
        """Make a repo with its first commit, as the Hub does; None when the name is taken."""
        with self._lock:
            if self.get(repo_type, repo_id) is not None:
                return None
            folder = safe_join(self.root / f"{repo_type}s", repo_id)
            repo = Repo(
                type=repo_type,
                id=repo_id,
                folder=folder,
                git=GitRepo(folder / "repo.git"),
                key=object_id(),
                private=private,
                created=iso(now()),
                extra=extra or {},
            )
            repo.git.init()
            files = [Put(".gitattributes", default_attributes(repo_type))]
            if repo_type == "space":
                files.append(Put("README.md", _space_card(repo_id, str(repo.extra.get("sdk", "static")))))
            repo.git.commit(
                "refs/heads/main", None, files, author=author, message="initial commit", time=int(time.time())
            )
            repo.save()
            self._open[repo_type, repo_id] = repo
            return repo

    def delete(self, repo: Repo) -> None:
        """Remove a repo. Its large files stay: other repos may have them too."""
        with self._lock, repo.lock:
            (repo.folder / "meta.json").unlink(missing_ok=True)
            shutil.rmtree(repo.folder, ignore_errors=True)
            self._open.pop((repo.type, repo.id), None)

    def move(self, repo: Repo, new_id: str) -> bool:
        """Give a repo another name; False when the name is taken."""
        with self._lock, repo.lock:
            if self.get(repo.type, new_id) is not None:
                return False
            target = safe_join(self.root / f"{repo.type}s", new_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            repo.folder.rename(target)
            self._open.pop((repo.type, repo.id), None)
            return True


def _space_card(repo_id: str, sdk: str) -> bytes:
    name = repo_id.split("/")[1]
    return f"---\ntitle: {name}\nemoji: 🚀\ncolorFrom: blue\ncolorTo: green\nsdk: {sdk}\npinned: false\n---\n".encode()

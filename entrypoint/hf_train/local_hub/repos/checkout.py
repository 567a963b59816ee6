"""Folders with the files of a repo at a commit, for read-only mounts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hf_train.local_hub.repos.git import TreeEntry
from hf_train.local_hub.repos.lfs import LfsStore
from hf_train.local_hub.repos.store import Repo
from hf_train.local_hub.state import safe_join

_BLOBS_AT_ONCE = 500


class Checkouts:
    """Makes a folder for a commit once, and gives it again afterwards.

    The files are copies: even an executor that cannot hold a mount read-only then spoils a checkout at most, never a
    repo.

    Args:
        root: Where the folders lie.
        lfs: The large files.
    """

    def __init__(self, root: Path, lfs: LfsStore) -> None:
        self.root, self.lfs = root, lfs

    def folder(self, repo: Repo, revision: str, path: str) -> Path:
        """The folder with the files of `repo` at `revision`, or of a path in it.

        Raises:
            KeyError: No such revision or folder.
            state.PathEscapesError: The path leads out.
        """
        commit = repo.git.resolve(revision)
        if commit is None:
            raise KeyError(revision)
        folder = self.root / repo.key / commit
        with repo.lock:
            if not folder.is_dir():
                self._fill(repo, commit, folder)
        inside = safe_join(folder, path.strip("/"))
        if not inside.is_dir():
            raise KeyError(path)
        return inside

    def _fill(self, repo: Repo, commit: str, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".tmp-") as name:
            temporary = Path(name) / "files"
            temporary.mkdir()
            files = [entry for entry in repo.git.listing(commit).values() if entry.kind == "blob"]
            for entry in files:
                safe_join(temporary, entry.path).parent.mkdir(parents=True, exist_ok=True)
                if entry.sha256:
                    shutil.copyfile(self.lfs.content(entry.sha256).path, temporary / entry.path)
            small = [entry for entry in files if not entry.sha256]
            for start in range(0, len(small), _BLOBS_AT_ONCE):
                self._write_blobs(repo, small[start : start + _BLOBS_AT_ONCE], temporary)
            temporary.rename(folder)

    def _write_blobs(self, repo: Repo, entries: list[TreeEntry], folder: Path) -> None:
        blobs = repo.git.blobs([entry.oid for entry in entries])
        for entry in entries:
            (folder / entry.path).write_bytes(blobs[entry.oid])

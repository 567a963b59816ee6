"""The folder that an image is built from, as git lists it: the `images.ports.Context` of a real run."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from hf_train.errors import BadInput
from hf_train.images.content import ContextFile
from hf_train.snapshot.gather import gather
from hf_train.snapshot.git import Git

MAX_TEXT = 1 << 20


class GitContext:
    """Reads a checkout for a build.

    Args:
        root: The checkout.
        committed: Take the bytes of the commit (in CI), not those of the work tree.
    """

    def __init__(self, root: Path, *, committed: bool) -> None:
        self._root = root
        self._committed = committed
        self._scratch: list[tempfile.TemporaryDirectory[str]] = []

    def read(self, path: str) -> str | None:
        """A text file of the repository; None when there is none, or it lies outside."""
        place = (self._root / path).resolve()
        if PurePosixPath(path).is_absolute() or not place.is_relative_to(self._root.resolve()):
            return None
        git = Git(self._root)
        try:
            if self._committed and git.is_work_tree():
                content = git.run("cat-file", "blob", f"HEAD:./{PurePosixPath(path)}")
            else:
                content = place.read_bytes()
        except (OSError, BadInput):
            return None
        return content.decode("utf-8", "replace") if len(content) <= MAX_TEXT else None

    def files(self, folder: str, exclude: Sequence[str]) -> Sequence[ContextFile]:
        """What git lists below a folder; every file of a folder that is no checkout.

        Raises:
            BadInput: The folder cannot be sent, in the words of the snapshot.
        """
        place = (self._root / folder).resolve()
        if not place.is_dir() or not place.is_relative_to(self._root.resolve()):
            raise BadInput([f"build-context: there is no folder {folder!r} in the repository"])
        scratch = tempfile.TemporaryDirectory(prefix="hf-train-context-")
        self._scratch.append(scratch)
        try:
            found = gather(place, exclude, Path(scratch.name), committed=self._committed)
        except BadInput as error:
            raise BadInput([problem.replace("path:", "build-context:", 1) for problem in error.problems]) from error
        files = [
            ContextFile(path=f.path, sha256=f.sha256, size=f.size, source=f.source, executable=f.executable)
            for f in found.files
        ]
        files += [
            ContextFile(path=path, sha256=hashlib.sha256(target.encode()).hexdigest(), target=target)
            for path, target in found.links
        ]
        # Builders put a list of their own in its place, and what it says was applied already.
        return [file for file in files if file.path != ".dockerignore"]

    def close(self) -> None:
        """Remove what was laid out on disk."""
        for scratch in self._scratch:
            scratch.cleanup()

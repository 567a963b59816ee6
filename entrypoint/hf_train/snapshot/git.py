"""What git says: which files belong to the commit, and their bytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hf_train.errors import BadInput

# The checkout is data here: none of its configuration may start a program, or say what a commit holds.
_OPTIONS = (
    *("-c", "safe.directory=*"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
)
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One tracked file, relative to the surveyed folder."""

    path: str
    mode: str
    oid: str

    @property
    def is_executable(self) -> bool:
        """Whether the execute bit is set."""
        return self.mode == "100755"

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository."""
        return self.mode == "160000"


class Git:
    """Git in one folder.

    The repository is the nearest `.git` at or above the folder, and git is told so. Git itself would also take a folder
    that is laid out as a bare repository, and a commit can hold such a folder (with a configuration that starts
    programs), but never something named `.git`.

    Args:
        folder: A folder in a work tree.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        here = folder.resolve()
        self._root = next((one for one in (here, *here.parents) if os.path.lexists(one / ".git")), None)

    def run(self, *words: str) -> bytes:
        """Output of a git command.

        Raises:
            BadInput: Git failed; its own words are passed on.
        """
        result = subprocess.run(
            self._command(*words),
            cwd=self._folder,
            env=_environment(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if result.returncode != 0:
            words_of_git = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise BadInput([f"path: git {words[0]} failed in {self._folder}: {' '.join(words_of_git)}"])
        return result.stdout

    def is_work_tree(self) -> bool:
        """Whether the folder lies in a work tree that has a commit."""
        if self._root is None:
            return False
        try:
            return self.run("rev-parse", "--is-inside-work-tree", "--verify", "HEAD").startswith(b"true")
        except (BadInput, FileNotFoundError):
            return False

    def _command(self, *words: str) -> list[str]:
        where = [f"--git-dir={self._root / '.git'}", f"--work-tree={self._root}"] if self._root else []
        return ["git", *_OPTIONS, *where, *words]

    def head(self) -> str:
        """The commit, 40 hex digits."""
        return self.run("rev-parse", "HEAD").decode().strip()

    def committed(self) -> Sequence[Entry]:
        """Files of the commit below the folder."""
        entries = []
        for row in self.run("ls-tree", "-r", "-z", "HEAD").split(b"\0"):
            if row:
                meta, _, path = row.partition(b"\t")
                mode, _, oid = meta.decode().split(" ")[:3]
                entries.append(Entry(_text(path), mode, oid))
        return entries

    def tracked(self) -> Sequence[Entry]:
        """Files of the index below the folder."""
        entries = []
        for row in self.run("ls-files", "-s", "-z").split(b"\0"):
            if row:
                meta, _, path = row.partition(b"\t")
                mode, oid = meta.decode().split(" ")[:2]
                entries.append(Entry(_text(path), mode, oid))
        return entries

    def changed(self) -> int:
        """Number of tracked files below the folder that differ from the commit."""
        return sum(1 for name in self.run("diff", "--name-only", "-z", "HEAD", "--", ".").split(b"\0") if name)

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        """Contents of blobs, in order, by one `cat-file --batch`."""
        with subprocess.Popen(
            self._command("cat-file", "--batch"),
            cwd=self._folder,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None  # noqa: S101  (a pipe was asked for)
            assert process.stdout is not None  # noqa: S101
            for oid in oids:
                process.stdin.write(oid.encode() + b"\n")
                process.stdin.flush()
                header = process.stdout.readline().split()
                if len(header) != 3:
                    raise BadInput([f"path: git has no object {oid}; is this a partial clone?"])
                content = process.stdout.read(int(header[2]))
                process.stdout.read(1)
                yield content
            process.stdin.close()


def _environment() -> dict[str, str]:
    """The environment without what could point git elsewhere, and without replaced objects: a commit is what it is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
    # Filters and the like of the machine's own configuration are programs too; what is sent needs none of them.
    return {**kept, **own, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}


def _text(path: bytes) -> str:
    try:
        text = path.decode()
    except UnicodeDecodeError:
        raise BadInput([f"path: the file name {path!r} is not UTF-8, so a bucket cannot hold it"]) from None
    check_name(text)
    return str(PurePosixPath(text))


def check_name(path: str) -> None:
    """Refuse a name that a bucket, or our lists of names by line, cannot hold.

    Raises:
        BadInput: There is such a character in it.
    """
    if any(sign in path for sign in "\n\r\\\t") or _is_broken(path):
        raise BadInput([f"path: the file name {path!r} holds a character that a bucket cannot hold"])


def _is_broken(path: str) -> bool:
    """Whether a name of the disk is not UTF-8 (Python keeps such bytes as lone surrogates)."""
    return any("\ud800" <= sign <= "\udfff" for sign in path)

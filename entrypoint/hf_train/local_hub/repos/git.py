"""A bare git repository, by git's plumbing commands."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d+)\n", re.DOTALL
)
_POINTER_BYTES = range(100, 200)  # a pointer has 120 to 145 bytes
_NOT_IN_NAME = re.compile(r"[<>\n]")
_NOT_IN_MAIL = re.compile(r"[^A-Za-z0-9._-]")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_REVISION = re.compile(r"(?!-)(?!.*(?:\.\.|@\{|//))[^\s~^:?*\[\\\x00-\x20\x7f]+(?<![./])")
# No configuration of the user or the machine takes part; whoever may open the data folder may use its repositories.
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "core.quotePath",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitError(RuntimeError):
    """Git refused."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file or folder of a commit.

    Attributes:
        path: Path in the repo.
        kind: `blob` or `tree`.
        oid: Git's hash of it.
        size: Length of the file, bytes (of the large file, not of its pointer); 0 for a folder.
        sha256: Of a large file; None for others.
        pointer_size: Length of the LFS pointer, bytes; 0 for others.
    """

    path: str
    kind: str
    oid: str
    size: int
    sha256: str | None = None
    pointer_size: int = 0


class Commit(NamedTuple):
    """A commit: hash, author, date (Unix time, seconds), first line and rest of its message."""

    oid: str
    author: str
    time: int
    title: str
    message: str


class Put(NamedTuple):
    """A change: the file at `path` gets this content."""

    path: str
    content: bytes


class Take(NamedTuple):
    """A change: the file at `path` becomes a blob that the repository has already."""

    path: str
    oid: str


class Drop(NamedTuple):
    """A change: the file or folder at `path` goes."""

    path: str


Change = Put | Take | Drop


def pointer(sha256: str, size: int) -> bytes:
    """The LFS pointer of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def is_ref_name(name: str) -> bool:
    """Whether git takes the name as (a part of) the name of a branch or tag."""
    if len(name.encode()) > 200 or _REVISION.fullmatch(name) is None:
        return False
    parts = name.split("/")
    return name != "@" and not any(part.startswith(".") or part.endswith(".lock") or not part for part in parts)


class GitRepo:
    """One bare repository.

    Args:
        path: Its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.listing = functools.lru_cache(maxsize=64)(self._listing)
        self.commit_at = functools.lru_cache(maxsize=256)(self._commit_at)

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        """Run git in the repository.

        Raises:
            GitError: It ends with another status than 0.
        """
        done = subprocess.run(
            ["git", "--git-dir", str(self.path), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env={**_ENVIRONMENT, **(env or {})},
            cwd=self.path if self.path.is_dir() else None,
        )
        if done.returncode != 0:
            message = f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}"
            raise GitError(message)
        return done.stdout

    def init(self) -> None:
        """Make the repository."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.run("init", "--bare", "--quiet", "--template=", "--initial-branch=main")

    def resolve(self, revision: str) -> str | None:
        """The commit that a branch, tag, full ref name or hash means; None when there is none."""
        if not is_ref_name(revision):
            return None
        names = [revision] if revision.startswith("refs/") else [f"refs/heads/{revision}", f"refs/tags/{revision}"]
        if _SHA.fullmatch(revision):
            names.append(revision)
        asked = "".join(f"{name}^{{commit}}\n" for name in names).encode()
        for line in (
            self.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=asked).decode().splitlines()
        ):
            oid, _, kind = line.partition(" ")
            if kind == "commit":
                return oid
        return None

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Full names of refs, and the commits they mean, oldest name first."""
        out = self.run("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", prefix).decode()
        found = {}
        for line in out.splitlines():
            name, oid, *peeled = line.split(" ")
            found[name] = peeled[0] if peeled and peeled[0] else oid
        return found

    def _listing(self, commit: str) -> dict[str, TreeEntry]:
        """All files and folders of a commit by path, in git's order."""
        entries: dict[str, TreeEntry] = {}
        for record in self.run("ls-tree", "-r", "-t", "-l", "-z", commit).split(b"\0")[:-1]:
            head, _, raw = record.partition(b"\t")
            _mode, kind, oid, length = head.decode().split()
            path = raw.decode(errors="surrogateescape")
            entries[path] = TreeEntry(path, kind, oid, int(length) if length != "-" else 0)
        small = [entry for entry in entries.values() if entry.size in _POINTER_BYTES]
        blobs = self.blobs([entry.oid for entry in small])
        for entry in small:
            if found := _POINTER.fullmatch(blobs[entry.oid]):
                sha, size = found[1].decode(), int(found[2])
                entries[entry.path] = TreeEntry(entry.path, "blob", entry.oid, size, sha, entry.size)
        return entries

    def blobs(self, oids: Sequence[str]) -> dict[str, bytes]:
        """The content of blobs by their hash.

        Raises:
            GitError: One of them is missing.
        """
        if not oids:
            return {}
        out = self.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
        found, place = {}, 0
        for _ in oids:
            end = out.index(b"\n", place)
            oid, kind, *size = out[place:end].decode().split(" ")
            if kind != "blob":
                message = f"no blob {oid}"
                raise GitError(message)
            found[oid] = out[end + 1 : end + 1 + int(size[0])]
            place = end + 2 + int(size[0])
        return found

    def commit(
        self,
        ref: str,
        parent: str | None,
        changes: Iterable[Change],
        *,
        author: str,
        message: str,
        time: int,
    ) -> str:
        """Make a commit and set a ref to it; its hash.

        Args:
            ref: Full name of the ref.
            parent: The commit it follows, None for a first one.
            changes: Done in order.
            author: Name of the author.
            message: Its whole message.
            time: Its date, Unix time, seconds.

        Raises:
            GitError: Git refused.
        """
        who = f"{_NOT_IN_NAME.sub('', author)} <{_NOT_IN_MAIL.sub('', author)}@users.noreply.localhost>"
        text = message.encode()
        lines = [b"feature done\n", f"commit {ref}\nmark :1\ncommitter {who} {time} +0000\n".encode()]
        lines.append(b"data %d\n%s\n" % (len(text), text))
        if parent is not None:
            lines.append(f"from {parent}\n".encode())
        for change in changes:
            path = _quoted(change.path)
            if isinstance(change, Put):
                lines.append(b"M 100644 inline %s\ndata %d\n" % (path, len(change.content)))
                lines += [change.content, b"\n"]
            elif isinstance(change, Take):
                lines.append(b"M 100644 %s %s\n" % (change.oid.encode(), path))
            else:
                lines.append(b"D %s\n" % path)
        lines.append(b"\nget-mark :1\ndone\n")
        return self.run("fast-import", "--quiet", "--date-format=raw", stdin=b"".join(lines)).decode().strip()

    def squash(self, commit: str, *, author: str, message: str, time: int) -> str:
        """A commit without a parent that has the tree of `commit`; its hash."""
        mail, date = f"{author}@users.noreply.localhost", f"{time} +0000"
        env = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", author), ("EMAIL", mail), ("DATE", date))
        }
        return self.run("commit-tree", f"{commit}^{{tree}}", stdin=message.encode(), env=env).decode().strip()

    def log(self, commit: str, *, skip: int = 0, count: int = 50) -> list[Commit]:
        """The commit and what came before it, newest first."""
        arguments = [f"--skip={skip}", f"--max-count={count}", "--format=%H%x1f%an%x1f%ct%x1f%s%x1f%b"]
        out = self.run("log", "-z", *arguments, commit).decode(errors="replace")
        commits = []
        for record in out.split("\0"):
            if record:
                oid, author, time, title, body = record.split("\x1f", 4)
                commits.append(Commit(oid, author, int(time), title, body.strip("\n")))
        return commits

    def _commit_at(self, commit: str) -> Commit:
        return self.log(commit, count=1)[0]

    def count(self, commit: str) -> int:
        """How many commits lead to this one, itself counted."""
        return int(self.run("rev-list", "--count", commit))

    def last_change(self, commit: str, path: str) -> Commit:
        """The newest commit that changed a path."""
        arguments = ["--max-count=1", "--format=%H%x1f%an%x1f%ct%x1f%s%x1f%b"]
        out = self.run("log", *arguments, commit, "--", f":(literal){path}").decode(errors="replace")
        oid, author, time, title, body = out.split("\x1f", 4)
        return Commit(oid, author, int(time), title, body.strip("\n"))

    def set_ref(self, ref: str, commit: str) -> None:
        """Set a ref."""
        self.run("update-ref", ref, commit)

    def delete_ref(self, ref: str) -> None:
        """Delete a ref."""
        self.run("update-ref", "-d", ref)

    def tag(self, name: str, commit: str, *, message: str, author: str, time: int) -> None:
        """Make an annotated tag."""
        mail = f"{author}@users.noreply.localhost"
        text = f"object {commit}\ntype commit\ntag {name}\ntagger {author} <{mail}> {time} +0000\n\n{message}\n"
        self.set_ref(f"refs/tags/{name}", self.run("mktag", stdin=text.encode()).decode().strip())

    def diff(self, base: str, head: str) -> str:
        """The changes from one commit to another, as `git diff` prints them."""
        return self.run("diff", base, head).decode(errors="replace")

    def merge_base(self, one: str, other: str) -> str:
        """The newest commit that came before both."""
        return self.run("merge-base", one, other).decode().strip()


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode(errors="surrogateescape")

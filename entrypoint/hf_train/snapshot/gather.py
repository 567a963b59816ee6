"""Gather the files of a folder: which are sent, with which bytes, and which may never be."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hf_train.errors import BadInput
from hf_train.snapshot.git import Entry, Git, check_name

MAX_BYTES = 500 << 20
MAX_FILES = 20_000
_DENIED = re.compile(
    r"""(?ix) (^|/) (
      \.env (\.(?!(example|sample|template|dist)$)[^/]*)? | \.envrc | [._]netrc | \.git-credentials | \.git/.*
    | id_(rsa|dsa|ecdsa|ed25519)(_sk)? | \.ssh/[^/]* | [^/]*\.(ppk|p12|pfx|jks|keystore|kdbx)
    | \.pypirc | \.pgpass | \.htpasswd | \.vault-token | \.terraformrc | [^/]*\.tfstate | \.streamlit/secrets\.toml
    | \.hf_token | \.?huggingface/(token|stored_tokens) | kaggle\.json | \.docker/config\.json | \.dockercfg
    | gha-creds-[^/]*\.json | \.config/gcloud/.* | application_default_credentials\.json | \.boto
    | \.aws/credentials | \.s3cfg | \.azure/[^/]* | \.kube/config | rclone\.conf
    ) $"""
)
_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One file that is sent.

    Attributes:
        path: POSIX path in the snapshot.
        source: Where its bytes lie on this machine.
        sha256: Hash of its bytes.
        size: Bytes.
        executable: Whether it has the execute bit.
    """

    path: str
    source: Path
    sha256: str
    size: int
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """Everything of one folder.

    Attributes:
        files: Files, by path.
        links: Symbolic links inside the folder, as (path, target).
        sha: The commit, empty outside git.
        dirty: Tracked files that differ from the commit.
        notes: What is worth knowing, in words.
    """

    files: tuple[File, ...]
    links: tuple[tuple[str, str], ...] = ()
    sha: str = ""
    dirty: int = 0
    notes: tuple[str, ...] = ()


def gather(folder: Path, exclude: Sequence[str], scratch: Path, *, committed: bool) -> Gathered:
    """Gather a folder.

    Args:
        folder: The folder to send.
        exclude: Patterns of files to leave out.
        scratch: An empty folder for bytes that only git has.
        committed: Take the bytes of the commit (in CI), not those of the work tree.

    Raises:
        BadInput: Something must not or cannot be sent; every such file is named.
    """
    git = Git(folder)
    if not git.is_work_tree():
        return _plain(folder, exclude)
    entries = [
        entry for entry in (git.committed() if committed else git.tracked()) if not _left_out(entry.path, exclude)
    ]
    _refuse(entry.path for entry in entries)
    dirty = git.changed()
    notes = [f"{entry.path} is a submodule and is not sent." for entry in entries if entry.is_submodule]
    if dirty:
        what = "the commit's version is sent" if committed else "the work tree's version is sent"
        notes.append(f"{dirty} tracked file(s) differ from the commit; {what}.")
    blobs = [entry for entry in entries if not entry.is_submodule]
    if committed:
        files, links = _from_commit(git, folder, blobs, scratch)
    else:
        files, links = _from_disk(folder, blobs)
    return _checked(Gathered(files=files, links=links, sha=git.head(), dirty=dirty, notes=tuple(notes)))


def _from_commit(
    git: Git, folder: Path, entries: Sequence[Entry], scratch: Path
) -> tuple[tuple[File, ...], tuple[tuple[str, str], ...]]:
    files, links, problems = [], [], []
    for number, (entry, content) in enumerate(zip(entries, git.blobs([e.oid for e in entries]), strict=True)):
        if entry.is_link:
            links.append((entry.path, _inside(entry.path, content.decode(errors="replace"))))
            continue
        on_disk = folder / entry.path
        if content.startswith(_LFS):
            if not _is_smudged(content, on_disk):
                problems.append(f"path: {entry.path} is a git-lfs pointer; check out with `lfs: true`")
                continue
            files.append(_file(entry.path, on_disk, executable=entry.is_executable))
            continue
        source = scratch / str(number)
        source.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files.append(
            File(path=entry.path, source=source, sha256=digest, size=len(content), executable=entry.is_executable)
        )
    if problems:
        raise BadInput(problems)
    return tuple(files), tuple(links)


def _from_disk(folder: Path, entries: Sequence[Entry]) -> tuple[tuple[File, ...], tuple[tuple[str, str], ...]]:
    files, links, problems = [], [], []
    for entry in entries:
        on_disk = folder / entry.path
        if on_disk.is_symlink():
            links.append((entry.path, _inside(entry.path, os.readlink(on_disk))))  # noqa: PTH115  (the text itself)
        elif on_disk.is_file() and _is_pointer(on_disk):
            problems.append(f"path: {entry.path} is a git-lfs pointer; get its content with `git lfs pull`")
        elif on_disk.is_file():
            files.append(_file(entry.path, on_disk, executable=os.access(on_disk, os.X_OK)))
    if problems:
        raise BadInput(problems)
    return tuple(files), tuple(links)


def _is_pointer(on_disk: Path) -> bool:
    with on_disk.open("rb") as stream:
        return stream.read(len(_LFS)) == _LFS


def _plain(folder: Path, exclude: Sequence[str]) -> Gathered:
    """A folder that no git knows: every regular file, without hidden folders and caches."""
    files, links = [], []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(names):
            on_disk = Path(root) / name
            path = on_disk.relative_to(folder).as_posix()
            if _left_out(path, exclude):
                continue
            _refuse([path])
            check_name(path)
            if on_disk.is_symlink():
                links.append((path, _inside(path, os.readlink(on_disk))))  # noqa: PTH115
            elif on_disk.is_file():
                files.append(_file(path, on_disk, executable=os.access(on_disk, os.X_OK)))
    return _checked(
        Gathered(files=tuple(files), links=tuple(links), notes=("Not a git checkout: all files are sent.",))
    )


def _file(path: str, source: Path, *, executable: bool) -> File:
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            size += len(block)
    return File(path=path, source=source, sha256=digest.hexdigest(), size=size, executable=executable)


def _is_smudged(pointer: bytes, on_disk: Path) -> bool:
    match = re.search(rb"^oid sha256:([0-9a-f]{64})$", pointer, re.MULTILINE)
    if match is None or on_disk.is_symlink() or not on_disk.is_file():
        return False
    return _file("", on_disk, executable=False).sha256 == match[1].decode()


def _inside(path: str, target: str) -> str:
    """The target of a link that stays in the folder; anything else would send what is not the repository's."""
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    outside = PurePosixPath(target).is_absolute() or resolved == ".." or resolved.startswith("../")
    if outside or any(sign in target for sign in "\t\r\n"):
        raise BadInput([f"path: the link {path} points out of the folder (to {target}); remove it or exclude it"])
    return target


def _left_out(path: str, exclude: Sequence[str]) -> bool:
    names = [path, *(str(parent) for parent in PurePosixPath(path).parents if str(parent) != ".")]
    return any(fnmatch.fnmatchcase(name, pattern.rstrip("/")) for pattern in exclude for name in names)


def _refuse(paths: Sequence[str] | Iterator[str]) -> None:
    problems = []
    for path in paths:
        if _DENIED.search(path):
            problems.append(f"path: {path} looks like a credential file and is never sent; remove it or exclude it")
        elif path.split("/")[0] == ".hf-train":
            problems.append(f"path: {path} stands where hf-train keeps its own files; rename the folder or exclude it")
    if problems:
        raise BadInput(problems)


def _checked(gathered: Gathered) -> Gathered:
    total = sum(file.size for file in gathered.files)
    if not gathered.files:
        raise BadInput(["path: there is nothing to send: git tracks no file there (git add), or all are excluded"])
    if total > MAX_BYTES or len(gathered.files) > MAX_FILES:
        biggest = sorted(gathered.files, key=lambda file: -file.size)[:10]
        listed = ", ".join(f"{file.path} ({file.size / 1e6:.1f} MB)" for file in biggest)
        message = (
            f"path: {len(gathered.files)} files, {total / 1e6:.0f} MB are more than is sent as code "
            f"({MAX_FILES} files, {MAX_BYTES >> 20} MiB); exclude some or mount a bucket. The biggest: {listed}"
        )
        raise BadInput([message])
    return gathered


def surveyed_digest(gathered: Gathered, extra: Mapping[str, bytes]) -> str:
    """Content address over every path, mode, link and byte, and over the files that are laid beside them."""
    digest = hashlib.sha256(b"hf-train snapshot 1\n")
    rows = [f"{'x' if file.executable else '-'} {file.sha256} {file.path}" for file in gathered.files]
    rows += [f"l {target} {path}" for path, target in gathered.links]
    rows += [f"+ {hashlib.sha256(content).hexdigest()} {path}" for path, content in extra.items()]
    for row in sorted(rows):
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()

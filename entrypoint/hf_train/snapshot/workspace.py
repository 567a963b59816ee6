"""The checkout as a `ports.Workspace`: look at folders, and bring them into the bucket once."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from huggingface_hub import HfApi

from hf_train import jobside
from hf_train.errors import BadInput, RefusedByPolicy
from hf_train.hub_api import translated
from hf_train.ports import Survey
from hf_train.snapshot.gather import Gathered, gather, surveyed_digest
from hf_train.snapshot.scan import problems_of
from hf_train.snapshot.upload import HOUSE, Uploader
from hf_train.values import Snapshot

BUCKET = "jobs-artifacts"
MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class _Ready:
    folder: str
    gathered: Gathered
    extra: Mapping[str, bytes]


class GitWorkspace:
    """The `ports.Workspace` of a real run.

    Args:
        root: The checkout.
        api: The client for the bucket.
        committed: Send the commit's bytes (in CI) and not the work tree's.
        repository: `owner/name` on GitHub, may be empty; names the pointer to the newest snapshot.
        private: Whether that repository is private; None when it is not known.
        known: Values of secrets of this step, which no file may hold.
    """

    def __init__(
        self,
        root: Path,
        api: HfApi,
        *,
        committed: bool,
        repository: str = "",
        private: bool | None = None,
        known: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._api = api
        self._committed = committed
        self._repository = repository
        self._private = private
        self._known = known
        self._ready: dict[str, _Ready] = {}
        self._scratch = Path(tempfile.mkdtemp(prefix="hf-train-snapshot-"))

    def close(self) -> None:
        """Remove what was put aside on this machine."""
        shutil.rmtree(self._scratch, ignore_errors=True)

    def is_file(self, path: str) -> bool:
        """Whether this file lies in the workspace."""
        found = self._inside(path)
        return found is not None and found.is_file()

    def is_folder(self, path: str) -> bool:
        """Whether this folder may be sent: on a runner one of the workspace only, for a pull request can name it."""
        found = self._inside(path) if self._committed else self._root / path
        return found is not None and found.is_dir()

    def read_text(self, path: str) -> str | None:
        """Content of a small text file of the workspace."""
        found = self._inside(path)
        if found is None or not found.is_file() or found.stat().st_size > MAX_TEXT:
            return None
        return found.read_text(encoding="utf-8", errors="replace")

    def sends(self, survey: Survey, path: str) -> bool:
        """Whether a surveyed folder has this file."""
        ready, wanted = self._ready.get(survey.digest), str(PurePosixPath(path))
        return ready is not None and any(file.path == wanted for file in ready.gathered.files)

    def survey(self, folder: str, exclude: Sequence[str], extra: Mapping[PurePosixPath, bytes]) -> Survey:
        """Gather a folder and compute its content address. An empty name stands for no folder: `extra` alone.

        Raises:
            BadInput: Something must not or cannot be sent; every such file is named.
        """
        if folder:
            scratch = Path(tempfile.mkdtemp(dir=self._scratch))
            gathered = gather(self._root / folder, exclude, scratch, committed=self._committed)
        else:
            gathered = Gathered(files=())
        laid = {str(path): content for path, content in extra.items()}
        self._check_content(gathered, laid)
        content = surveyed_digest(gathered, laid)
        laid |= {f"{HOUSE}/{name}": program for name, program in jobside.programs().items()}
        digest = surveyed_digest(gathered, laid)
        self._ready[digest] = _Ready(folder, gathered, laid)
        return Survey(
            digest=digest,
            files=len(gathered.files),
            size=sum(file.size for file in gathered.files),
            sha=gathered.sha,
            dirty=gathered.dirty,
            notes=gathered.notes,
            content=content,
        )

    def _check_content(self, gathered: Gathered, laid: Mapping[str, bytes]) -> None:
        files = [(file.path, file.source.read_bytes) for file in gathered.files]
        fetched = [(path, partial(bytes, content)) for path, content in laid.items()]
        if problems := problems_of([*files, *fetched], self._known):
            raise BadInput(problems)

    def upload(self, survey: Survey, namespace: str) -> Snapshot:
        """Bring a surveyed folder into the bucket, once.

        Raises:
            RefusedByPolicy: The bucket is public and the repository is not known to be.
            RefusedByHub: The token may not write there.
            TransientHubError: Worth another try; nothing half-written is ever taken for whole.
        """
        bucket = f"{namespace}/{BUCKET}"
        with translated(f"the bucket {bucket}"):
            self._api.create_bucket(bucket, private=True, exist_ok=True)
            self._check_visibility(bucket, "nothing was sent")
            ready = self._ready[survey.digest]
            uploader = Uploader(self._api, bucket, survey.digest, f"{self._repository or 'local'}/{ready.folder}")
            if uploader.bring(ready.gathered, self._files_beside(ready)):
                self._check_visibility(bucket, "somebody made it public while the code was sent; no Job was started")
        return Snapshot(
            digest=survey.digest,
            bucket=bucket,
            path=uploader.path,
            files=survey.files,
            size=survey.size,
            sha=survey.sha,
            dirty=survey.dirty,
        )

    def _check_visibility(self, bucket: str, so_far: str) -> None:
        if not self._api.bucket_info(bucket).private and self._private is not False:
            raise RefusedByPolicy(
                "Public bucket",
                f"{bucket} is public, and the code may not be: {so_far}.",
                f"Make it private (`hf buckets settings {bucket} --private`), or delete it.",
            )

    def _files_beside(self, ready: _Ready) -> Mapping[str, bytes]:
        """Our own files, with a checksum of every other one of the snapshot (fetched scripts too) in `SHA256SUMS`."""
        gathered = ready.gathered
        executables = "".join(f"{file.path}\n" for file in gathered.files if file.executable)
        links = "".join(f"{target}\t{path}\n" for path, target in gathered.links)
        beside = {
            **ready.extra,
            f"{HOUSE}/{jobside.EXECUTABLES}": executables.encode(),
            f"{HOUSE}/{jobside.LINKS}": links.encode(),
        }
        sums = [f"{file.sha256}  {file.path}\n" for file in gathered.files]
        sums += [f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in beside.items()]
        return {**beside, f"{HOUSE}/{jobside.SUMS}": "".join(sums).encode()}

    def _inside(self, path: str) -> Path | None:
        if PurePosixPath(path).is_absolute():
            return None
        found = (self._root / path).resolve()
        return found if found.is_relative_to(self._root.resolve()) else None

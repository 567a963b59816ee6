"""Into the bucket: what changed is uploaded, what did not is copied on the server, and the manifest comes last."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi
from huggingface_hub.utils.tqdm import disable_progress_bars

from hf_train.errors import TransientHubError
from hf_train.snapshot.gather import File, Gathered

HOUSE = ".hf-train"
MANIFEST = f"{HOUSE}/manifest.json"


class Uploader:
    """Writes one snapshot.

    A folder without a manifest is not a snapshot: the manifest is written last, after every other file was seen in the
    bucket with its size. The address is the content's hash, so two writers of one snapshot write the same bytes.

    Args:
        api: The client.
        bucket: `namespace/name`.
        digest: The content address.
        source: Repository and folder: names the pointer to its newest snapshot, whose files can be copied from.
    """

    def __init__(self, api: HfApi, bucket: str, digest: str, source: str) -> None:
        self._api = api
        self._bucket = bucket
        self.path = f"snapshots/{digest}"
        self._digest = digest
        self._pointer = f"snapshots/newest/{re.sub(r'[^A-Za-z0-9._-]', '-', source)[:200]}"

    def bring(self, gathered: Gathered, beside: Mapping[str, bytes]) -> bool:
        """Write what is missing. Returns whether anything was.

        Raises:
            TransientHubError: The bucket does not show what was written.
        """
        disable_progress_bars()
        if self._exists(f"{self.path}/{MANIFEST}"):
            return False
        known = self._known_hashes()
        copies, additions = [], []
        for file in gathered.files:
            target = f"{self.path}/{file.path}"
            if file.size and (xet_hash := known.get(file.sha256)):
                copies.append(("bucket", self._bucket, xet_hash, target))
            else:
                additions.append((str(file.source), target))
        small = [(content, f"{self.path}/{path}") for path, content in beside.items()]
        self._api.batch_bucket_files(self._bucket, add=[*additions, *small], copy=copies or None)
        hashes = self._verified(gathered, beside)
        manifest = json.dumps(_manifest(self._digest, gathered, hashes)).encode()
        self._api.batch_bucket_files(
            self._bucket,
            add=[(manifest, f"{self.path}/{MANIFEST}"), (self._digest.encode(), self._pointer)],
        )
        return True

    def _exists(self, path: str) -> bool:
        return any(True for _ in self._api.get_bucket_paths_info(self._bucket, [path]))

    def _known_hashes(self) -> Mapping[str, str]:
        """sha256 -> xet hash of the files of the newest snapshot of this repository; empty when there is none."""
        digest = self._download(self._pointer)
        if digest is None or not re.fullmatch(rb"[0-9a-f]{64}", digest):
            return {}
        manifest = self._download(f"snapshots/{digest.decode()}/{MANIFEST}")
        try:
            rows = json.loads(manifest or b"{}").get("files", [])
            return {row["sha256"]: row["xet"] for row in rows if row.get("xet")}
        except (ValueError, AttributeError, KeyError, TypeError):
            return {}

    def _download(self, path: str) -> bytes | None:
        if not self._exists(path):
            return None
        with tempfile.TemporaryDirectory(prefix="hf-train-") as folder:
            target = Path(folder) / "file"
            self._api.download_bucket_files(self._bucket, [(path, target)])
            return target.read_bytes() if target.is_file() else None

    def _verified(self, gathered: Gathered, beside: Mapping[str, bytes]) -> Mapping[str, str]:
        """Look at the bucket again. Returns path -> xet hash of the files of the code."""
        found: dict[str, tuple[int, str]] = {}
        for item in self._api.list_bucket_tree(self._bucket, self.path, recursive=True):
            if item.type == "file":
                found[item.path.removeprefix(f"{self.path}/")] = (item.size, item.xet_hash)
        wanted = {file.path: file.size for file in gathered.files}
        wanted |= {path: len(content) for path, content in beside.items()}
        wrong = [path for path, size in wanted.items() if found.get(path, (-1, ""))[0] != size]
        if wrong:
            raise TransientHubError(f"{len(wrong)} of {len(wanted)} files are not in the bucket yet ({wrong[0]})")
        return {file.path: found[file.path][1] for file in gathered.files}


def _manifest(digest: str, gathered: Gathered, hashes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "snapshot": digest,
        "sha": gathered.sha,
        "dirty": gathered.dirty,
        "files": [_row(file, hashes[file.path]) for file in gathered.files],
        "links": [{"path": path, "target": target} for path, target in gathered.links],
    }


def _row(file: File, xet_hash: str) -> dict[str, Any]:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "size": file.size,
        "executable": file.executable,
        "xet": xet_hash,
    }

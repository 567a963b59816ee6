"""Adapter: small files of ours in the private `jobs-artifacts` bucket: reports of earlier runs, records of Jobs.

No git history is needed to find an earlier run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from huggingface_hub import BucketFile, HfApi
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils.tqdm import disable_progress_bars

from hf_train.errors import RefusedByHub
from hf_train.hub_api import translated

MAX_BYTES = 4 << 20
_WHAT = "the bucket of reports"


class BucketReports:
    """The `ports.Reports` of a real run.

    Args:
        api: The client.
    """

    def __init__(self, api: HfApi) -> None:
        self._api = api

    def save(self, bucket: str, paths: Sequence[str], content: str) -> None:
        """Store one report under several paths; the bucket keeps its bytes once.

        Raises:
            RefusedByHub: The bucket is public, or may not be written.
            TransientHubError: An answer that may be better next time.
        """
        disable_progress_bars()
        with translated(_WHAT):
            self._api.create_bucket(bucket, private=True, exist_ok=True)  # a run without code has made none
            if not self._api.bucket_info(bucket).private:
                raise RefusedByHub("Public bucket", f"{bucket} is public, and reports may name what is private.")
            self._api.batch_bucket_files(bucket, add=[(content.encode(), path) for path in paths])

    def newest(self, bucket: str, folder: str, count: int) -> Sequence[str]:
        """The newest reports of a folder, whose names sort by age.

        Raises:
            RefusedByHub: The bucket may not be read.
            TransientHubError: An answer that may be better next time.
        """
        disable_progress_bars()
        with translated(_WHAT):
            try:
                items = list(self._api.list_bucket_tree(bucket, folder, recursive=True))
            except HfHubHTTPError as error:
                if error.response.status_code == 404:
                    return ()
                raise
            found = [item.path for item in items if item.type == "file" and item.size <= MAX_BYTES]
            newest = sorted(found, key=lambda path: PurePosixPath(path).name, reverse=True)
            return self._read(bucket, newest[:count])

    def contents(self, bucket: str, paths: Sequence[str], most: int) -> Mapping[str, bytes]:
        """What these files hold, by path; without those that are not there or have more than `most` bytes.

        Raises:
            RefusedByHub: The bucket may not be read.
            TransientHubError: An answer that may be better next time.
        """
        disable_progress_bars()
        with translated(f"files of the bucket {bucket}"):
            found = list(self._api.get_bucket_paths_info(bucket, paths))
            small = [one for one in found if one.path in paths and one.size <= most]
            return self._download(bucket, {one.path: one for one in small})

    def _read(self, bucket: str, paths: Sequence[str]) -> Sequence[str]:
        read = self._download(bucket, {path: path for path in paths})
        return tuple(content.decode("utf-8", "replace") for content in read.values())

    def _download(self, bucket: str, files: Mapping[str, str | BucketFile]) -> Mapping[str, bytes]:
        """Contents by path, in this order; without those that vanished."""
        if not files:
            return {}
        with tempfile.TemporaryDirectory(prefix="hf-train-") as scratch:
            targets = {path: Path(scratch) / str(number) for number, path in enumerate(files)}
            self._api.download_bucket_files(bucket, [(one, targets[path]) for path, one in files.items()])
            return {path: target.read_bytes() for path, target in targets.items() if target.is_file()}

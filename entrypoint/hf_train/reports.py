"""Adapter: reports of earlier runs, in the private `jobs-artifacts` bucket. No git history is needed to find them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import HfApi

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.hub_api import translated

MAX_BYTES = 4 << 20


class BucketReports:
    """The `ports.Reports` of a real run.

    Args:
        api: The client.
    """

    def __init__(self, api: HfApi) -> None:
        self._api = api

    def save(self, bucket: str, path: str, content: str) -> str:
        """Store one report. Returns the problem, empty when it went well."""
        try:
            with translated("the bucket of reports"):
                self._api.create_bucket(bucket, private=True, exist_ok=True)  # a run without code has made none
                self._api.batch_bucket_files(bucket, add=[(content.encode(), path)])
        except (TransientHubError, RefusedByHub, JobGone) as error:
            return str(error)
        return ""

    def newest(self, bucket: str, folder: str, count: int) -> Sequence[str]:
        """The newest reports of a folder, whose names sort by age; fewer or none when there are no more."""
        try:
            with translated("the bucket of reports"):
                items = self._api.list_bucket_tree(bucket, folder, recursive=True)
                found = [item.path for item in items if item.type == "file" and item.size <= MAX_BYTES]
                return self._read(bucket, sorted(found, reverse=True)[:count])
        except (TransientHubError, RefusedByHub, JobGone):
            return ()

    def _read(self, bucket: str, paths: Sequence[str]) -> Sequence[str]:
        if not paths:
            return ()
        with tempfile.TemporaryDirectory(prefix="hf-train-") as scratch:
            targets = [Path(scratch) / str(number) for number in range(len(paths))]
            self._api.download_bucket_files(bucket, list(zip(paths, targets, strict=True)))
            return [target.read_text(encoding="utf-8", errors="replace") for target in targets if target.is_file()]

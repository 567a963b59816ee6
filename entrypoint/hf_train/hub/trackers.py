"""Adapter: what trackio left in a bucket, read with the Job's own token, so nothing that it could not print itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils.tqdm import disable_progress_bars

from hf_train.hub.reports import BucketReports
from hf_train.hub_api import make_api, translated
from hf_train.values import Secret

FOLDER = "trackio"
MAX_FILES = 3


class HubTrackers:
    """The `ports.Trackers` of a real run.

    Args:
        endpoint: The Hub.
        job_token: The token that the Job got; None when it got none.
    """

    def __init__(self, endpoint: str, job_token: Secret | None) -> None:
        self._token = job_token
        self._api = make_api(endpoint, job_token)

    def databases(self, bucket: str, most: int) -> Sequence[bytes]:
        """The newest databases of a bucket, each with at most so many bytes."""
        if self._token is None:
            return ()
        disable_progress_bars()
        with translated(f"the bucket {bucket}"):
            try:
                items = list(self._api.list_bucket_tree(bucket, FOLDER))
            except HfHubHTTPError as error:
                if error.response.status_code == 404:
                    return ()
                raise
            files = [(one, PurePosixPath(one.path)) for one in items if one.type == "file"]
            found = [one for one, path in files if path.suffix == ".db" and str(path.parent) == FOLDER]
        newest = sorted(found, key=lambda one: one.uploaded_at or datetime.min.replace(tzinfo=UTC), reverse=True)
        paths = [one.path for one in newest if one.size <= most][:MAX_FILES]
        return tuple(BucketReports(self._api).contents(bucket, paths, most).values()) if paths else ()

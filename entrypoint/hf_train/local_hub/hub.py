"""One local Hub: its stores and its Job machine, and what they ask of each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hf_train.local_hub.settings import HubSettings


class VolumeSource(Protocol):
    """What the Job machine asks of the stores in order to mount a volume."""

    def bucket_folder(self, bucket_id: str, path: str) -> Path:
        """The live folder of a bucket (or of a path in it), created when missing.

        Bucket files lie on disk as plain files, so an executor can bind-mount this folder, read-only or read-write, and
        what a Job writes there is in the bucket at once.

        Raises:
            KeyError: No such bucket.
        """
        ...

    def repo_folder(self, repo_type: str, repo_id: str, revision: str | None, path: str) -> Path:
        """A folder with the files of a repo at a revision (`model`, `dataset` or `space`), for a read-only mount.

        Raises:
            KeyError: No such repo, revision or path.
        """
        ...


@dataclass(kw_only=True, slots=True)
class HubContext:
    """What every room of the local Hub can reach.

    Attributes:
        settings: How this Hub runs.
        endpoint: `http://127.0.0.1:PORT`, known once the socket is bound.
        data: The data folder.
    """

    settings: HubSettings
    endpoint: str
    data: Path

"""What is mounted into a Job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

VolumeKind = Literal["bucket", "model", "dataset", "space"]
_SPECIAL_REF = re.compile(r"refs/(?:convert/[\w.-]+|pr/\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Volume:
    """One volume of a Job, in the terms of the Hub's Job spec.

    Attributes:
        kind: What is mounted.
        source: `namespace/name`.
        mount: Absolute path in the Job.
        read_only: True, False, or None for the Hub's default of the kind.
        path: Folder inside the source; empty for its root.
        revision: Revision of a repo; None for its default branch, always None for a bucket.
    """

    kind: VolumeKind
    source: str
    mount: str
    read_only: bool | None = None
    path: str = ""
    revision: str | None = None

    def as_option(self) -> str:
        """The same volume in the grammar of `hf jobs run -v`."""
        # Only these refs may hold a slash as it is (huggingface_hub 2.4.0 `utils/_hf_uris.py`).
        safe = "/" if _SPECIAL_REF.fullmatch(self.revision or "") else ""
        revision = f"@{quote(self.revision, safe=safe)}" if self.revision else ""
        path = f"/{self.path}" if self.path else ""
        mode = {None: "", True: ":ro", False: ":rw"}[self.read_only]
        return f"hf://{self.kind}s/{self.source}{revision}{path}:{self.mount}{mode}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalVolume:
    """A folder of the workspace that is uploaded and then mounted.

    Attributes:
        folder: Path as the user wrote it, relative to the workspace.
        mount: Absolute path in the Job.
        read_only: Whether the Job may write to its mounted copy.
    """

    folder: str
    mount: str
    read_only: bool = True

    @property
    def key(self) -> str:
        """What is sent for it: a folder is sent once for all who read it, and once more for all who write to it."""
        return self.folder if self.read_only else f"{self.folder}:rw"

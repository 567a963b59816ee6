"""Which file is uploaded how: `regular` (into git) or `lfs`, and which are ignored.

As the Hub does it: what `.gitattributes` gives to `filter=lfs` and what has 10 MB or more is `lfs`. Both files are
read by git itself, so that every pattern means what it means there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hf_train.local_hub.repos.git import GitError, GitRepo

REGULAR_LIMIT_BYTES = 10 * 1000 * 1000

# What the Hub puts into a new model repo (hub-docs, "repositories-getting-started"; the same in every new repo).
_PATTERNS = (
    "*.7z", "*.arrow", "*.bin", "*.bz2", "*.ckpt", "*.ftz", "*.gz", "*.h5", "*.joblib", "*.lfs.*", "*.mlmodel",
    "*.model", "*.msgpack", "*.npy", "*.npz", "*.onnx", "*.ot", "*.parquet", "*.pb", "*.pickle", "*.pkl", "*.pt",
    "*.pth", "*.rar", "*.safetensors", "saved_model/**/*", "*.tar.*", "*.tar", "*.tflite", "*.tgz", "*.wasm",
    "*.xz", "*.zip", "*.zst", "*tfevents*",
)  # fmt: skip
_MEDIA = (
    "*.pcm", "*.sam", "*.raw", "*.aac", "*.flac", "*.mp3", "*.ogg", "*.wav", "*.bmp", "*.gif", "*.png", "*.tiff",
    "*.jpg", "*.jpeg", "*.webp", "*.mp4", "*.webm",
)  # fmt: skip


def default_attributes(repo_type: str) -> bytes:
    """The `.gitattributes` of a new repo."""
    patterns = [*_PATTERNS, *(_MEDIA if repo_type == "dataset" else [])]
    return "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in patterns).encode()


def lfs_paths(git: GitRepo, attributes: bytes, paths: Sequence[str]) -> set[str]:
    """The paths that `.gitattributes` gives to LFS."""
    if not attributes.strip() or not paths:
        return set()
    with tempfile.TemporaryDirectory(prefix="hf-local-hub-") as folder:
        file = Path(folder) / "attributes"
        file.write_bytes(attributes)
        out = git.run(
            "--work-tree", folder, "-c", f"core.attributesFile={file}", "check-attr", "-z", "--stdin", "filter",
            stdin=_listed(paths),
        )  # fmt: skip
    fields = out.decode(errors="surrogateescape").split("\0")
    return {path for path, value in zip(fields[0::3], fields[2::3], strict=False) if value == "lfs"}


def ignored_paths(git: GitRepo, ignore: bytes, paths: Sequence[str]) -> set[str]:
    """The paths that `.gitignore` names."""
    if not ignore.strip() or not paths:
        return set()
    with tempfile.TemporaryDirectory(prefix="hf-local-hub-") as folder:
        file = Path(folder) / "exclude"
        file.write_bytes(ignore)
        try:
            out = git.run(
                "--work-tree", folder, "-c", f"core.excludesFile={file}", "check-ignore", "-z", "--no-index", "--stdin",
                stdin=_listed(paths),
            )  # fmt: skip
        except GitError:  # status 1: none is ignored
            return set()
    return set(out.decode(errors="surrogateescape").split("\0")) - {""}


def _listed(paths: Sequence[str]) -> bytes:
    return "".join(f"{path}\0" for path in paths).encode(errors="surrogateescape")

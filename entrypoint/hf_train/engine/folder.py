"""A build context on disk: the files that the content hash was taken over, and no others."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hf_train.engine.buildx import Place
from hf_train.images.content import Recipe
from hf_train.images.problems import BuildFailed

WHEN = 1_577_836_800
"""2020-01-01: the date of every file, so that the same content makes the same layer."""
BLOCK = 1 << 20


@contextlib.contextmanager
def laid_out(recipe: Recipe) -> Iterator[Place]:
    """Write the context and the Dockerfile to a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="hf-train-build-") as folder:
        root = Path(folder)
        place = Place(dockerfile=root / "Dockerfile", context=root / "context", metadata=root / "metadata.json")
        place.context.mkdir()
        place.dockerfile.write_text(recipe.text, encoding="utf-8")
        for file in recipe.files:
            target = place.context / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.target:
                target.symlink_to(file.target)
                continue
            if file.source is not None:
                shutil.copyfile(file.source, target)
            target.chmod(0o755 if file.executable else 0o644)
        for path, folders, names in os.walk(place.context):
            Path(path).chmod(0o755)
            for name in (*folders, *names):
                os.utime(Path(path, name), (WHEN, WHEN), follow_symlinks=False)
        os.utime(place.context, (WHEN, WHEN))
        yield place


def check_secrets(recipe: Recipe, secrets: Sequence[str]) -> None:
    """Refuse to build what has a secret of this step in it: an image is for others to read.

    Raises:
        BuildFailed: The Dockerfile, an argument or a file holds one.
    """
    known = [secret.strip().encode() for secret in secrets if len(secret.strip()) >= 8]
    places = [
        (recipe.dockerfile, recipe.text.encode()),
        *((f"build-args: {n}", v.encode()) for n, v in recipe.args.items()),
    ]
    found = [name for name, content in places if any(secret in content for secret in known)]
    found += [file.path for file in recipe.files if file.source is not None and _holds(file.source, known)]
    if found:
        text = f"A secret of this step stands in {', '.join(found[:10])}; it would be in the image for all to read."
        raise BuildFailed("Secret in the image", text, "Take it out, and use build-secrets. No Job was started.")


def _holds(path: Path, known: Sequence[bytes]) -> bool:
    overlap = max((len(secret) for secret in known), default=0)
    before = b""
    with path.open("rb") as stream:
        while known and (block := stream.read(BLOCK)):
            window = before + block
            if any(secret in window for secret in known):
                return True
            before = window[-overlap:]
    return False

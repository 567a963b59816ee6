"""Build and push: the `images.ports.Builder` of a real run."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from hf_train.engine.buildx import EXPORTS, Place, buildx_words, classic_words
from hf_train.engine.command import Docker
from hf_train.engine.folder import check_secrets, laid_out
from hf_train.engine.login import logged_in
from hf_train.images.content import Recipe
from hf_train.images.model import Login
from hf_train.images.ports import Order
from hf_train.images.problems import BuildFailed, PushDenied
from hf_train.images.reference import Reference, parse_reference
from hf_train.values import Secret

BUILD_S = 3 * 3600.0
PUSH_S = 3600.0
UNPACKED = 2.5
"""Disk that an image takes against what is sent of it: the layers, packed and unpacked (reference case 117)."""
_FULL = re.compile(r"no space left on device|ENOSPC", re.IGNORECASE)
_DENIED = re.compile(
    r"denied|unauthorized|authentication required|no basic auth|insufficient_scope|\b40[13]\b|toomanyrequests|\b429\b",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
NOTHING = "No Job was started."
WITHOUT = "no registry cache, no SBOM, no provenance"
ELSEWHERE = (
    "Name an image (image: trl; hf-train image list), free some space, or let a Docker Space build it "
    f"(build-repository: hf.co/spaces/OWNER/NAME). {NOTHING}"
)


class DockerBuilder:
    """Builds with the engine of this machine.

    Args:
        secrets: Values that this step knows; none of them may be in an image.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._docker = Docker(environ={})

    def missing(self) -> str:
        """Why nothing can be built here; empty when it can."""
        if not self._docker.installed():
            return "there is no docker on this machine"
        done = self._docker.ask("version", "--format", "{{.Server.Version}} {{.Server.Os}}")
        if done.code != 0:
            return f"no container engine answers ({done.words})"
        return (
            ""
            if done.out.strip().endswith("linux")
            else f"the engine runs {done.out.split()[-1]} containers, not linux"
        )

    def image_id(self, image: str) -> str:
        """The engine's id of an image; empty when it has none of that name."""
        if not self._docker.installed():
            return ""
        done = self._docker.ask("image", "inspect", "--format", "{{.Id}}", image)
        found = _DIGEST.fullmatch(done.out.strip())
        return found[0] if done.code == 0 and found else ""

    def build(
        self, recipe: Recipe, target: Reference, login: Login | None, secrets: Mapping[str, Secret], order: Order
    ) -> str:
        """Build and push. Returns the digest that the registry has it by.

        Raises:
            BuildFailed: It could not be built or pushed.
        """
        if why := self.missing():
            raise BuildFailed("Nothing to build with", f"{recipe.dockerfile} cannot be built: {why}.", ELSEWHERE)
        values = {name: value.reveal() for name, value in secrets.items()}
        check_secrets(recipe, [*self._secrets, *values.values(), *([login.password.reveal()] if login else [])])
        self._check_disk(recipe)
        driver = self._driver()
        if recipe.secrets and not driver:
            text = f"build-secrets need BuildKit, and this machine has no docker buildx ({', '.join(recipe.secrets)})."
            raise BuildFailed("No BuildKit", text, f"Add docker/setup-buildx-action. {NOTHING}")
        with logged_in(login) as environ, laid_out(recipe) as place:
            if driver:
                return self._with_buildkit(recipe, target, order, place, driver, {**environ, **values})
            return self._classic(recipe, target, order, place, environ)

    def _with_buildkit(
        self, recipe: Recipe, target: Reference, order: Order, place: Place, driver: str, environ: Mapping[str, str]
    ) -> str:
        if driver not in EXPORTS:
            order.emit([f"hf-train: buildx has driver {driver}: {WITHOUT} (docker/setup-buildx-action brings them)"])
        words = buildx_words(recipe, target, order, place, driver)
        code, lines = Docker(environ=environ).follow(words, order.emit, BUILD_S)
        if code != 0:
            raise _failure(recipe, target, code, lines)
        try:
            digest = json.loads(place.metadata.read_text(encoding="utf-8"))["containerimage.digest"]
        except (OSError, ValueError, KeyError, TypeError):
            digest = ""
        if not _DIGEST.fullmatch(str(digest)):
            raise BuildFailed("Digest not known", f"buildx pushed {target} and named no digest.", NOTHING, lines)
        return str(digest)

    def _classic(
        self, recipe: Recipe, target: Reference, order: Order, place: Place, environ: Mapping[str, str]
    ) -> str:
        order.emit([f"hf-train: there is no docker buildx here; the classic builder builds: {WITHOUT}"])
        docker = Docker(environ={**environ, "DOCKER_BUILDKIT": "0"})
        code, lines = docker.follow(classic_words(recipe, target, order, place), order.emit, BUILD_S)
        if code != 0:
            raise _failure(recipe, target, code, lines)
        self._check_history(target, docker)
        code, lines = docker.follow(["push", str(target)], order.emit, PUSH_S)
        if code != 0:
            raise _push_failure(target, code, lines)
        done = docker.ask("image", "inspect", "--format", "{{json .RepoDigests}}", str(target))
        found = re.search(rf'"{re.escape(target.name)}@(sha256:[0-9a-f]{{64}})"', done.out)
        if found is None:
            raise BuildFailed(
                "Digest not known", f"{target} was pushed, and the engine names no digest.", NOTHING, lines
            )
        return found[1]

    def _driver(self) -> str:
        """The driver of buildx; empty when there is no buildx."""
        if self._docker.ask("buildx", "version").code != 0:
            return ""
        done = self._docker.ask("buildx", "inspect")
        found = re.search(r"^Driver:\s*(\S+)", done.out, re.MULTILINE)
        return found[1] if done.code == 0 and found else ""

    def _check_disk(self, recipe: Recipe) -> None:
        """The base must fit unpacked, and the context beside it; an engine elsewhere is not looked at."""
        host = os.environ.get("DOCKER_HOST", "")
        done = self._docker.ask("info", "--format", "{{.DockerRootDir}}")
        root = Path(done.out.strip() or "/")
        if done.code != 0 or not root.is_dir() or (host and not host.startswith("unix://")):
            return
        held = all(self._holds(image, digest) for image, digest in recipe.bases)
        packed = 0 if held else recipe.base_size
        context = sum(file.size for file in recipe.files)
        needed, free = packed * UNPACKED + 2 * context, shutil.disk_usage(root).free
        if free < needed:
            text = (
                f"{root} has {free / 1e9:.2f} GB free. The base image is {packed / 1e9:.2f} GB packed, about "
                f"{packed * UNPACKED / 1e9:.2f} GB with what it unpacks to, and the context {context / 1e9:.2f} GB."
            )
            raise BuildFailed("Not enough disk", text, ELSEWHERE)

    def _holds(self, image: str, digest: str) -> bool:
        return self.image_id(image) == digest or bool(self.image_id(parse_reference(image).pinned(digest)))

    def _check_history(self, target: Reference, docker: Docker) -> None:
        """No secret may be in what everybody can read of an image: its environment, labels and history."""
        seen = docker.ask("image", "inspect", str(target)).out
        seen += docker.ask("history", "--no-trunc", "--format", "{{.CreatedBy}}", str(target)).out
        if any(secret in seen for secret in self._secrets if len(secret) >= 8):
            docker.ask("image", "rm", str(target))
            text = f"A secret of this step can be read in the history of {target}; it was not pushed."
            raise BuildFailed("Secret in the image", text, f"Use build-secrets. {NOTHING}")


def _failure(recipe: Recipe, target: Reference, code: int, lines: list[str]) -> BuildFailed:
    tail = "\n".join(lines[-40:])
    if _FULL.search(tail):
        return BuildFailed(
            "Disk full", f"The disk of the engine is full: {recipe.dockerfile} needs more.", ELSEWHERE, lines
        )
    if re.search(r"failed to push|pushing layers|push access denied", tail) or _denied_at_export(tail):
        return _push_failure(target, code, lines)
    if code == 124:
        text = f"{recipe.dockerfile} was not built in {BUILD_S / 3600:.0f} hours."
        return BuildFailed("Build too slow", text, NOTHING, lines)
    hint = f"The lines of the build say why. {NOTHING}"
    return BuildFailed("Build failed", f"docker ended with {code} while building {recipe.dockerfile}.", hint, lines)


def _denied_at_export(tail: str) -> bool:
    return bool(re.search(r"exporting to image", tail) and _DENIED.search(tail.rsplit("exporting to image", 1)[-1]))


def _push_failure(target: Reference, code: int, lines: list[str]) -> BuildFailed:
    tail = "\n".join(lines[-8:])
    if _FULL.search(tail):
        return BuildFailed("Disk full", f"There is no space left while pushing {target}.", ELSEWHERE, lines)
    if _DENIED.search(tail):
        hint = f"Check build-user and build-token, on GHCR also `packages: write`. {NOTHING}"
        return PushDenied("Push denied", f"{target.host} does not take {target}.", hint, lines)
    text = f"{target} could not be pushed (docker ended with {code})."
    return PushDenied("Push failed", text, f"The lines of the push say why. {NOTHING}", lines)

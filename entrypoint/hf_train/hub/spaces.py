"""A Docker Space as the builder of an image: for teams without a registry, and for images that are nobody else's.

The Space holds exactly the build context and the Dockerfile; its newest commit is named by the content hash, so an
unchanged image is not pushed again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError

from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.hub_api import make_api, translated
from hf_train.images.content import Recipe
from hf_train.images.ports import Emit
from hf_train.images.problems import BuildFailed
from hf_train.values import Secret

BUILD_S = 2 * 3600.0
POLL_S = 2.0
LOG_SETTLES_S = 2.0
START_S = 30.0
"""How long a push may take to show as a build."""
BUILDING = frozenset({"BUILDING", "RUNNING_BUILDING"})
FAILED = frozenset({"BUILD_ERROR", "CONFIG_ERROR", "NO_APP_FILE", "DELETING"})
KEPT = frozenset({".gitattributes"})
HEAD = "---\ntitle: {title}\nemoji: 📦\nsdk: docker\npinned: false\n---\n\n"
MAX_PROBLEMS = 5


class SpaceBuilder:
    """The `images.ports.SpaceBuilder` of a real run.

    Args:
        endpoint: The Hub's address.
        token: A token that may write to the Space.
        poll_s: Seconds between two looks at the stage.
    """

    def __init__(self, endpoint: str, token: Secret | None, poll_s: float = POLL_S) -> None:
        self._api: HfApi = make_api(endpoint, token)
        self._poll_s = poll_s

    def holds(self, space: str, recipe: Recipe) -> bool:
        """Whether the Space was built from this very recipe.

        Raises:
            RefusedByHub: The token may not read it.
            TransientHubError: No clear answer.
        """
        return self._pushed(space, recipe) and self._stage(space) not in FAILED | BUILDING

    def build(self, space: str, recipe: Recipe, emit: Emit) -> None:
        """Push the context, when it is not there, and wait for the build.

        Raises:
            BuildFailed: The Space did not build it.
            RefusedByHub: The token may not write to it.
            TransientHubError: No clear answer.
        """
        sha = self._push(space, recipe) if not self._pushed(space, recipe) else ""
        emit([f"hf-train: {space} builds {recipe.tag}"])
        began, failures, seen = time.monotonic(), 0, not sha
        while True:
            try:
                stage, built = self._runtime(space)
                failures = 0
            except TransientHubError:
                failures += 1
                if failures > MAX_PROBLEMS:
                    raise
                stage, built = "", ""
            waited = time.monotonic() - began
            # Right after a push the stage may still be that of the build before.
            seen = seen or stage in BUILDING or built == sha or waited > START_S
            if seen and stage and stage not in BUILDING:
                break
            if waited > BUILD_S:
                text = f"{space} was not built in {BUILD_S / 3600:.0f} hours (stage {stage})."
                raise BuildFailed("Build too slow", text, "No Job was started.")
            time.sleep(self._poll_s)
        if stage in FAILED:
            lines = list(self._log(space))
            emit(lines)
            text = f"The Space {space} ended in stage {stage}."
            raise BuildFailed("Build failed", text, "The lines of the build say why. No Job was started.", lines)

    def _pushed(self, space: str, recipe: Recipe) -> bool:
        try:
            with translated(f"the Space {space}"):
                commits = self._api.list_repo_commits(space, repo_type="space")
        except RefusedByHub as error:
            if isinstance(error.__cause__, HfHubHTTPError) and error.__cause__.response.status_code == 404:
                return False
            raise
        return bool(commits) and commits[0].title == _title(recipe)

    def _push(self, space: str, recipe: Recipe) -> str:
        links = [file.path for file in recipe.files if file.target]
        if links:
            text = f"A Space holds no symbolic links, and the context has {', '.join(links[:5])}."
            raise BuildFailed("Not for a Space", text, "Exclude them. No Job was started.")
        with translated(f"the Space {space}"):
            self._api.create_repo(space, repo_type="space", space_sdk="docker", private=True, exist_ok=True)
            there = set(self._api.list_repo_files(space, repo_type="space"))
            files: dict[str, CommitOperationAdd] = {}
            card = HEAD.format(title=space.rpartition("/")[2]).encode()
            for file in recipe.files:
                if file.source is None:
                    continue
                content: bytes | str = str(file.source)
                if file.path == "README.md":
                    content = card + file.source.read_bytes()
                files[file.path] = CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=content)
            files["Dockerfile"] = CommitOperationAdd("Dockerfile", recipe.text.encode())
            files.setdefault("README.md", CommitOperationAdd("README.md", card))
            stale = [CommitOperationDelete(path) for path in sorted(there - files.keys() - KEPT)]
            done = self._api.create_commit(
                space, [*files.values(), *stale], commit_message=_title(recipe), repo_type="space"
            )
        return str(done.oid)

    def _stage(self, space: str) -> str:
        return self._runtime(space)[0]

    def _runtime(self, space: str) -> tuple[str, str]:
        with translated(f"the stage of {space}"):
            runtime = self._api.get_space_runtime(space)
        return str(getattr(runtime.stage, "value", runtime.stage)), str(runtime.raw.get("sha") or "")

    def _log(self, space: str) -> Iterator[str]:
        # The client stops at the first line that is younger than the server's clock says, by whole seconds.
        time.sleep(LOG_SETTLES_S)
        try:
            with translated(f"the build log of {space}"):
                for text in self._api.fetch_space_logs(space, build=True):
                    yield from (line for line in str(text).split("\n") if line)
        except (TransientHubError, RefusedByHub) as error:
            yield f"hf-train: the build log could not be read ({error})"


def _title(recipe: Recipe) -> str:
    return f"hf-train {recipe.tag}"

"""Images that no Job could run: one clear message each by the command line, and no Job. And what a build may read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hf_train.errors import BadInput
from hf_train.snapshot.context import GitContext
from support import registry as registries
from support.local_hub_process import Hub
from support.product import Product, commit, make_repo, on_github, write
from support.registry import Registry

FILES = {"train.py": "print(1)\n", "docker/Dockerfile": "FROM x\n", "src/a.py": "a\n", ".gitignore": "*.tmp\n"}


@pytest.fixture
def product(account: Hub, tmp_path: Path) -> Product:
    return Product(cwd=make_repo(tmp_path / "repo", FILES), environ=account.environ, scratch=tmp_path, fast=True)


@pytest.mark.case(45, 118, 119)
def test_one_message_each_and_no_job(product: Product, account: Hub, registry: Registry) -> None:
    registry.image("bad/arm", "v1", architecture="arm64")
    wanted = {
        f"{registry.host}/bad/arm:v1": (2, "is for linux/arm64, and Jobs run linux/amd64"),
        f"{registry.host}/bad/none:v1": (2, f"{registry.host} has no {registry.host}/bad/none:v1 (404)"),
    }
    with registries.stub() as stub:
        stub.always("/v2/private/manifests/v1", 401, WWW_Authenticate='Basic realm="x"')
        stub.always("/v2/busy/manifests/v1", 429, Retry_After="60")
        wanted[f"{stub.host}/private:v1"] = (3, "does not give")
        wanted[f"{stub.host}/busy:v1"] = (3, "429 (too many requests)")
        for image, (code, words) in wanted.items():
            done = product.run("--image", image, "--", "true")
            assert (done.code, words in done.out) == (code, True), done.out
            assert len([line for line in done.out.splitlines() if line.startswith("error:")]) == 1
    assert account.jobs() == []
    assert account.launches() == []


@pytest.mark.case(45)
def test_a_release_wants_a_digest(product: Product, account: Hub, registry: Registry, tmp_path: Path) -> None:
    digest = registry.image("good/train", "v1")
    name = f"{registry.host}/good/train"
    release = {**on_github(tmp_path), "GITHUB_EVENT_NAME": "release", "GITHUB_REF": "refs/tags/v1"}
    floating = product.run("--image", f"{name}:v1", "--", "true", env=release)
    assert floating.code == 2, floating.out
    assert f"image: {name}@{digest}" in floating.out
    assert account.jobs() == []
    pinned = product.call("plan", "--format", "json", "--image", f"{name}@{digest}", "--command", "true", env=release)
    plan = json.loads(pinned.out)
    assert plan["image"] == f"{name}@{digest}"
    assert plan["labels"]["hft-image"] == digest.replace(":", "-")
    floats = product.call("plan", "--format", "json", "--image", f"{name}:v1", "--command", "true")
    assert json.loads(floats.out)["image"] == f"{name}@{digest}"
    assert any("is a tag, which can be moved" in note for note in json.loads(floats.out)["notes"])


# ---- what a build may read ----


def test_a_build_reads_what_git_lists(product: Product, tmp_path: Path) -> None:
    repo = product.cwd
    write(repo, {"src/a.py": "changed\n", "src/b.tmp": "ignored", "src/new.py": "not added"})
    (repo / "src" / "link").symlink_to("a.py")
    disk, tree = GitContext(repo, committed=False), GitContext(repo, committed=True)
    try:
        assert [(file.path, file.size) for file in disk.files("src", ())] == [("a.py", 8)]
        assert [(file.path, file.size) for file in tree.files("src", ())] == [("a.py", 2)]
        assert disk.read("src/a.py") == "changed\n"
        assert tree.read("src/a.py") == "a\n"
        commit(repo)
        assert {file.path: file.target for file in tree.files("src", ["b.tmp"])} == {
            "a.py": "", "link": "a.py", "new.py": "",
        }  # fmt: skip
    finally:
        disk.close()
        tree.close()


def test_nothing_outside_the_repository_is_read(product: Product, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "Dockerfile").write_text("FROM x\n", encoding="utf-8")
    (product.cwd / "way-out").symlink_to(tmp_path / "outside")
    for committed in (False, True):
        context = GitContext(product.cwd, committed=committed)
        for path in (
            "../outside/Dockerfile",
            str(tmp_path / "outside" / "Dockerfile"),
            "way-out/Dockerfile",
            "nothing",
        ):
            assert context.read(path) is None
        for folder in ("..", "../outside", "way-out", "no-such-folder"):
            with pytest.raises(BadInput, match="build-context: there is no folder"):
                context.files(folder, ())
    done = product.run("--dockerfile", "../outside/Dockerfile", "--build-repository", "127.0.0.1:9/x", "--", "true")
    assert done.code == 2
    assert "dockerfile: there is no file '../outside/Dockerfile' in the repository" in done.out

"""A Docker Space as the builder, on the local Hub: what is pushed, what is not pushed again, how its build ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from hf_train.hub.spaces import SpaceBuilder
from hf_train.images.content import ContextFile, Recipe, content_hash
from hf_train.images.problems import BuildFailed
from hf_train.local_hub.pytest import LocalHubHandle, running
from hf_train.values import Secret
from support.docker_engine import Engine
from support.local_hub_process import Hub
from support.product import Product, commit, make_repo, write

FILES = {
    "train.Dockerfile": "FROM {base}\nCOPY src /opt/src\n",
    "src/train.py": "print('in the Space')\n",
    "README.md": "Hi\n",
}


def make(tmp_path: Path, text: str, **files: str) -> Recipe:
    rows = []
    for name, content in files.items():
        place = tmp_path / name
        place.write_text(content, encoding="utf-8")
        rows.append(
            ContextFile(
                path=name.replace("_", "."),
                sha256=hashlib.sha256(content.encode()).hexdigest(),
                size=len(content),
                source=place,
            )
        )
    recipe = Recipe(dockerfile="Dockerfile", text=text, files=tuple(rows))
    return replace(recipe, hash=content_hash(recipe))


@pytest.fixture
def builder(account: Hub) -> SpaceBuilder:
    return SpaceBuilder(account.url, Secret(account.token), poll_s=0.05)


def test_the_space_holds_the_context_and_the_dockerfile(account: Hub, builder: SpaceBuilder, tmp_path: Path) -> None:
    space, lines = f"{account.user}/train", list[str]()
    recipe = make(tmp_path, "FROM debian\n", a_py="one", README_md="# Mine\n", old_txt="old")
    assert not builder.holds(space, recipe)
    builder.build(space, recipe, lines.extend)
    api = account.api
    info = api.space_info(space)
    assert info.private
    assert sorted(api.list_repo_files(space, repo_type="space")) == [
        ".gitattributes", "Dockerfile", "README.md", "a.py", "old.txt",
    ]  # fmt: skip
    card = Path(api.hf_hub_download(space, "README.md", repo_type="space", cache_dir=tmp_path / "c")).read_text()
    assert card.startswith("---\ntitle: train\n")
    assert "sdk: docker" in card
    assert card.endswith("# Mine\n")
    assert builder.holds(space, recipe)
    commits = len(api.list_repo_commits(space, repo_type="space"))
    builder.build(space, recipe, lines.extend)
    assert len(api.list_repo_commits(space, repo_type="space")) == commits, "nothing has changed"
    other = make(tmp_path, "FROM debian\nRUN x\n", a_py="one")
    assert not builder.holds(space, other)
    builder.build(space, other, lines.extend)
    assert "old.txt" not in api.list_repo_files(space, repo_type="space")


def test_a_context_with_links_is_not_for_a_space(account: Hub, builder: SpaceBuilder, tmp_path: Path) -> None:
    recipe = replace(make(tmp_path, "FROM x\n"), files=(ContextFile(path="l", sha256="b" * 64, target="x"),))
    with pytest.raises(BuildFailed, match="no symbolic links"):
        builder.build(f"{account.user}/links", recipe, list[str]().extend)


@pytest.fixture(scope="module")
def docker_hub(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHubHandle]:
    """A Hub that builds Spaces and runs Jobs in the engine."""
    with running(tmp_path_factory.mktemp("space-hub"), "--executor", "docker") as handle:
        yield handle
    engine.run("image", "rm", f"hf.co/spaces/{handle.user}/train:latest", check=False)


@pytest.mark.docker
@pytest.mark.case(116)
def test_a_space_builds_and_the_job_runs_in_it(docker_hub: LocalHubHandle, base_image: str, tmp_path: Path) -> None:
    hub = docker_hub
    repo = make_repo(tmp_path / "repo", {name: text.replace("{base}", base_image) for name, text in FILES.items()})
    product = Product(cwd=repo, environ={"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": hub.token}, scratch=tmp_path)
    space = f"{hub.user}/train"
    words = ("--dockerfile", "train.Dockerfile", "--build-repository", f"hf.co/spaces/{space}", "--comment", "never")
    command = ("--", "python3", "/opt/src/train.py")
    done = product.run(*words, *command)
    assert done.code == 0, done.out
    assert "in the Space" in done.job_lines
    assert hub.job(done.report["job-id"])["spaceId"] == space
    api = HfApi(endpoint=hub.endpoint, token=hub.token)
    commits = len(api.list_repo_commits(space, repo_type="space"))
    again = product.run(*words, "--reuse", "never", *command)
    assert again.code == 0, again.out
    assert "nothing is built" in again.out
    assert len(api.list_repo_commits(space, repo_type="space")) == commits
    jobs = len(list(api.list_jobs(namespace=hub.user)))
    write(repo, {"train.Dockerfile": f"FROM {base_image}\nRUN echo '::error::x' && exit 7\n"})
    commit(repo)
    failed = product.run(*words, *command)
    assert failed.code == 2, failed.out
    assert "Build failed: The Space local-user/train ended in stage BUILD_ERROR." in failed.out
    assert "returned a non-zero code: 7" in failed.out
    assert not [line for line in failed.out.splitlines() if line.startswith("::")]
    assert len(list(api.list_jobs(namespace=hub.user))) == jobs, "no Job"

"""What a commit can hold, and what it must not do: start a program, say what a commit holds, write through a link."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hf_train.snapshot.gather import gather
from hf_train.snapshot.git import Git
from support.local_hub_process import Hub
from support.product import Product, on_github

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def git(folder: Path, *words: str) -> str:
    return subprocess.check_output(["git", *AUTHOR, *words], cwd=folder, text=True).strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A checkout whose folder `sub` is laid out as a repository that starts a program and has another commit."""
    inner, root, mark = tmp_path / "inner", tmp_path / "root", tmp_path / "STARTED"
    for folder in (inner, root):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / "train.py").write_text(f"print({folder.name!r})\n", encoding="utf-8")
    commit(inner)
    shutil.copytree(inner / ".git", root / "sub")
    shutil.rmtree(root / "sub" / "hooks")
    (root / "sub" / "train.py").write_text("print('mine')\n", encoding="utf-8")
    (root / "sub" / ".gitattributes").write_text("train.py filter=x\n", encoding="utf-8")
    config = f'[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch {mark}"\n'
    config += f'[filter "x"]\n\tclean = "touch {mark}; cat"\n'
    (root / "sub" / "config").write_text(config, encoding="utf-8")
    commit(root)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(clone))
    (clone / "sub" / "train.py").touch()
    return clone


@pytest.mark.case(18)
@pytest.mark.parametrize("committed", [True, False])
def test_a_folder_that_looks_like_a_repository_is_only_a_folder(
    trapped: Path, tmp_path: Path, *, committed: bool
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = gather(
        trapped / "sub", ["config", "HEAD", "index", "objects", "refs", "logs"], scratch, committed=committed
    )
    assert not (tmp_path / "STARTED").exists()
    assert found.sha == git(trapped, "rev-parse", "HEAD")
    (source,) = [file.source for file in found.files if file.path == "train.py"]
    assert source.read_text(encoding="utf-8") == "print('mine')\n"


@pytest.mark.case(18)
def test_a_commit_is_what_it_is_though_a_ref_replaces_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "train.py").write_text("print('theirs')\n", encoding="utf-8")
    other = commit(tmp_path)
    (tmp_path / "train.py").write_text("print('ours')\n", encoding="utf-8")
    ours = commit(tmp_path)
    git(tmp_path, "replace", ours, other)
    read = Git(tmp_path)
    assert read.head() == ours
    assert next(read.blobs([read.committed()[0].oid])) == b"print('ours')\n"


@pytest.mark.parametrize("name", ["job.log", "report.json", "comment.md", "summary.md"])
def test_a_link_in_the_report_folder_is_not_followed(product: Product, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim.py"
    victim.write_text("original\n", encoding="utf-8")
    folder = product.cwd / "out"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    done = product.call("run", "--report-dir", "out", "--path", "none", "--", "echo", "import os")
    assert done.code == 0, done.out
    assert victim.read_text(encoding="utf-8") == "original\n"
    assert not (folder / name).is_symlink()
    assert (folder / name).stat().st_size


def test_a_report_folder_that_is_a_link_of_the_repository_is_refused(
    product: Product, account: Hub, tmp_path: Path
) -> None:
    (product.cwd / "out").symlink_to(tmp_path)
    for words in ("out", "out/deeper"):
        done = product.call("run", "--report-dir", words, "--", "true", env={"GITHUB_WORKSPACE": str(product.cwd)})
        assert done.code == 2, done.out
        assert "report-dir: out is a link in the repository" in done.out + done.err
    assert account.requests() == []


@pytest.mark.case(21)
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("secrets: [WANDB_API_KEY]\n", "secrets: not read from this file"),
        ("build-secrets: [WANDB_API_KEY]\n", "build-secrets: not read from this file"),
        ("report-dir: out\n", "report-dir: not read from this file"),
        ("volumes: ['hf://buckets/alice/jobs-artifacts:/poison:rw']\n", "is where hf-train keeps code and reports"),
        ("env: &a [x]\nargs: *a\n", "no aliases"),
        ("args: " + "x" * 70_000 + "\n", "at most 65536 characters"),
    ],
)
def test_what_the_file_of_a_pull_request_may_not_say(
    product: Product, account: Hub, tmp_path: Path, config: str, says: str
) -> None:
    path = product.cwd / ".github" / "hf-train.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(config, encoding="utf-8")
    env = {**on_github(tmp_path), "GITHUB_WORKSPACE": str(product.cwd), "WANDB_API_KEY": "local-wandb-key"}
    done = product.call("run", "--", "true", env={**product.environ, **env})
    assert done.code == 2, done.out
    assert says in done.out
    assert account.requests() == []


@pytest.mark.case(20)
@pytest.mark.parametrize("name", ["HF_TRAIN_HF_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "GITHUB_TOKEN", "RUNNER_X"])
def test_credentials_of_the_step_never_leave_it(product: Product, account: Hub, name: str) -> None:
    done = product.call("run", "--secrets", name, "--", "true", env={name: "local-credential"})
    assert done.code == 2, done.out
    assert f"{name} belongs to this step or its runner" in done.out + done.err
    assert account.requests() == []


@pytest.mark.case(20)
def test_the_token_that_launches_does_not_leave_under_another_name(product: Product, account: Hub) -> None:
    env = {"HF_TRAIN_HF_TOKEN": account.token, "OTHER": account.token}
    done = product.call("run", "--secrets", "OTHER", "--", "true", env=env)
    assert done.code == 2, done.out
    assert "OTHER holds the token that launches" in done.out + done.err
    assert account.requests() == []

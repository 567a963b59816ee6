"""What one client does with the Hub, told as JSON. Runs under each client version, so it imports no tests."""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def folder_of(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and ".cache" not in path.parts)
    return {path.relative_to(root).as_posix(): sha(path.read_bytes()) for path in files}


def main(repo_name: str, scratch: Path) -> None:
    api = HfApi()
    told: dict[str, Any] = {"version": huggingface_hub.__version__, "user": api.whoami()["name"]}
    url = api.create_repo(repo_name, private=True)
    api.create_repo(repo_name, exist_ok=True)
    repo = url.repo_id
    told["repo"] = repo

    big = os.urandom(3_000_000)  # more than one chunk
    weights = b"\0\1\2\3" * 200_000  # what grouping of bytes is good at
    local = scratch / "upload"
    (local / "sub").mkdir(parents=True)
    (local / "README.md").write_text("---\nlicense: mit\ntags: [tiny]\n---\n# Model\n", encoding="utf-8")
    (local / "sub" / "ünï côde.txt").write_text("text", encoding="utf-8")
    (local / "sub" / "empty.bin").write_bytes(b"")
    (local / "model.safetensors").write_bytes(big)
    (local / "weights.bin").write_bytes(weights)

    one = api.upload_file(path_or_fileobj=b"{}", path_in_repo="config.json", repo_id=repo, commit_message="one file")
    folder = api.upload_folder(folder_path=local, repo_id=repo, commit_message="a folder")
    api.create_tag(repo, tag="v1", tag_message="first")
    api.create_branch(repo, branch="dev")
    operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
        CommitOperationCopy("model.safetensors", "copy.safetensors"),
        CommitOperationDelete("weights.bin"),
        CommitOperationAdd("more.txt", b"more"),
    ]
    last = api.create_commit(repo, operations, commit_message="three at once")

    info = api.model_info(repo, files_metadata=True)
    commits = api.list_repo_commits(repo)
    told["commits"] = [
        [commit.commit_id, commit.title, commit.authors, commit.created_at.timestamp()] for commit in commits
    ]
    told["oids"] = [one.oid, folder.oid, last.oid]
    told["sha"] = info.sha
    told["tags"] = info.tags
    told["sizes"] = {sibling.rfilename: sibling.size for sibling in info.siblings or ()}
    told["lfs"] = {sibling.rfilename: sibling.lfs.sha256 for sibling in info.siblings or () if sibling.lfs}
    told["files"] = sorted(api.list_repo_files(repo))
    told["files at v1"] = sorted(api.list_repo_files(repo, revision="v1"))
    told["refs"] = sorted(ref.ref for ref in [*api.list_repo_refs(repo).branches, *api.list_repo_refs(repo).tags])

    told["one"] = sha(Path(api.hf_hub_download(repo, "model.safetensors")).read_bytes())
    told["old one"] = sha(Path(api.hf_hub_download(repo, "weights.bin", revision="v1")).read_bytes())
    told["snapshot"] = folder_of(Path(api.snapshot_download(repo, local_dir=scratch / "snapshot")))
    told["sent"] = folder_of(local)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

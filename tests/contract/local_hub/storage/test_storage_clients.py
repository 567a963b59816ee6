"""Whole rounds of real clients: this huggingface_hub and two older ones, over xet and over LFS."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import support
from support.storage_server import OLD_CLIENTS, Server, run_client

SCRIPT = Path(support.__file__).with_name("client_round.py")
FILES = [
    ".gitattributes",
    "README.md",
    "config.json",
    "copy.safetensors",
    "model.safetensors",
    "more.txt",
    "sub/empty.bin",
    "sub/ünï côde.txt",
]


@pytest.mark.parametrize("mode", ["xet", "lfs"])
@pytest.mark.parametrize("version", ["current", *OLD_CLIENTS])
def test_a_client_writes_and_reads_a_repo(
    server: Server, user: str, tmp_path: Path, python_with: Callable[[str], str], version: str, mode: str
) -> None:
    began = time.time()
    told = _round(server, user, tmp_path, python_with(version), mode)

    assert told["user"] == user
    assert version in {"current", told["version"]}
    assert told["files"] == FILES
    assert told["files at v1"] == sorted({*FILES, "weights.bin"} - {"copy.safetensors", "more.txt"})
    assert told["refs"] == ["refs/heads/dev", "refs/heads/main", "refs/tags/v1"]
    sent = told["sent"]
    assert told["one"] == sent["model.safetensors"]
    assert told["old one"] == sent["weights.bin"]
    expected = {
        **sent,
        "copy.safetensors": sent["model.safetensors"],
        "more.txt": hashlib.sha256(b"more").hexdigest(),
        "config.json": hashlib.sha256(b"{}").hexdigest(),
    }
    del expected["weights.bin"]
    assert {path: sha for path, sha in told["snapshot"].items() if path != ".gitattributes"} == expected
    assert told["lfs"] == dict.fromkeys(("copy.safetensors", "model.safetensors"), sent["model.safetensors"])
    assert told["sizes"]["model.safetensors"] == 3_000_000
    assert {"license:mit", "tiny"} <= set(told["tags"])
    _check_history(told, user, began)
    _check_by_git(server, told, user)


def _round(server: Server, user: str, scratch: Path, python: str, mode: str) -> dict[str, Any]:
    more = {"HF_HUB_DISABLE_XET": "1"} if mode == "lfs" else {}
    done = run_client(server, scratch / "home", python, str(SCRIPT), "model", str(scratch), user=user, more=more)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _check_history(told: dict[str, Any], user: str, began: float) -> None:
    titles = [commit[1] for commit in told["commits"]]
    assert titles == ["three at once", "a folder", "one file", "initial commit"]
    assert [commit[0] for commit in told["commits"][:3]] == told["oids"][::-1]
    assert told["sha"] == told["oids"][-1]
    for _oid, _title, authors, moment in told["commits"]:
        assert authors == [user]
        assert int(began) <= moment <= time.time() + 1


def _check_by_git(server: Server, told: dict[str, Any], user: str) -> None:
    """Git itself finds the repository sound, and the same commit at its head."""
    path = server.data / "repos" / "models" / user / "model" / "repo.git"
    git = ["git", "-c", "safe.directory=*", "--git-dir", str(path)]
    subprocess.run([*git, "fsck", "--strict", "--full"], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "main"], check=True, capture_output=True, text=True).stdout.strip()
    assert head == told["sha"]


def test_large_files_go_in_parts_over_lfs(server: Server, user: str, tmp_path: Path) -> None:
    """40 MB: more than `MULTIPART_BYTES`, and more than one xorb of 32 MiB when it is read over xet afterwards."""
    script = (
        "import sys,os,hashlib;from pathlib import Path;from huggingface_hub import HfApi\n"
        "api=HfApi();r=api.create_repo('parts',exist_ok=True).repo_id\n"
        "if sys.argv[1]=='put':\n"
        "  d=os.urandom(40_000_000);api.upload_file(path_or_fileobj=d,path_in_repo='x.bin',repo_id=r)\n"
        "else:\n"
        "  d=Path(api.hf_hub_download(r,'x.bin')).read_bytes()\n"
        "print(hashlib.sha256(d).hexdigest())"
    )
    python = ("-c", script)
    put = run_client(
        server, tmp_path / "a", sys.executable, *python, "put", user=user, more={"HF_HUB_DISABLE_XET": "1"}
    )
    by_lfs = run_client(
        server, tmp_path / "b", sys.executable, *python, "get", user=user, more={"HF_HUB_DISABLE_XET": "1"}
    )
    by_xet = run_client(server, tmp_path / "c", sys.executable, *python, "get", user=user)
    assert put.returncode == by_lfs.returncode == by_xet.returncode == 0, put.stderr + by_lfs.stderr + by_xet.stderr
    assert put.stdout.strip() == by_lfs.stdout.strip() == by_xet.stdout.strip() != ""

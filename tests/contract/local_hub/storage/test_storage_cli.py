"""The real `hf` command on accounts, buckets and repos."""

from __future__ import annotations

import json
import os
from pathlib import Path

from support.storage_server import Server, hf, serving


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_auth_whoami_names_the_account(server: Server, user: str, tmp_path: Path) -> None:
    told = json.loads(hf(server, tmp_path / "home", "auth", "whoami", "--json", user=user))
    assert told["user"] == user
    assert told["endpoint"] == server.url


def test_buckets_from_creation_to_removal(server: Server, user: str, tmp_path: Path) -> None:
    home, bucket = tmp_path / "home", f"{user}/b"
    files = {"a.txt": b"a", "deep/er/b.bin": os.urandom(300_000), "deep/empty": b"", "deep/sp ace.txt": b"\xff\0"}
    local = _write(tmp_path / "local", files)

    hf(server, home, "buckets", "create", "b", "--private", user=user)
    assert bucket in hf(server, home, "buckets", "list", user=user)
    hf(server, home, "buckets", "sync", str(local), f"hf://buckets/{bucket}/run", user=user)
    listed = hf(server, home, "buckets", "list", bucket, "-R", "-q", user=user).split("\n")
    assert {line for line in listed if line} == {f"run/{name}" for name in files}
    # On disk they are plain files: this is what a Job sees.
    assert _read(server.data / "buckets" / user / "b" / "files" / "run") == files

    hf(server, home, "buckets", "cp", f"hf://buckets/{bucket}/run/deep/er/b.bin", str(tmp_path / "b.bin"), user=user)
    assert (tmp_path / "b.bin").read_bytes() == files["deep/er/b.bin"]
    hf(server, home, "buckets", "sync", f"hf://buckets/{bucket}/run", str(tmp_path / "back"), user=user)
    assert _read(tmp_path / "back") == files
    again = hf(server, home, "buckets", "sync", str(local), f"hf://buckets/{bucket}/run", user=user)
    assert "Nothing to sync" in again or "Uploads: 0" in again

    hf(server, home, "buckets", "rm", f"{bucket}/run/deep", "--recursive", "-y", user=user)
    assert hf(server, home, "buckets", "list", bucket, "-R", "-q", user=user).split() == ["run/a.txt"]
    assert not (server.data / "buckets" / user / "b" / "files" / "run" / "deep").exists()
    hf(server, home, "buckets", "delete", bucket, "-y", user=user)
    assert bucket not in hf(server, home, "buckets", "list", user=user)


def test_what_a_job_writes_is_in_the_bucket_at_once(server: Server, user: str, tmp_path: Path) -> None:
    """Nobody uploaded these files: their xet hash and xorbs come from the plain files."""
    server.api(user).create_bucket("out")
    live = server.data / "buckets" / user / "out" / "files"
    files = {"log.txt": b"step 1\n", "ckpt/model.bin": os.urandom(5_000_000), "ckpt/zero": b""}
    _write(live, files)
    hf(server, tmp_path / "home", "buckets", "sync", f"hf://buckets/{user}/out", str(tmp_path / "got"), user=user)
    assert _read(tmp_path / "got") == files
    files["log.txt"] += b"step 2\n"
    _write(live, files)
    hf(server, tmp_path / "home", "buckets", "sync", f"hf://buckets/{user}/out", str(tmp_path / "got"), user=user)
    assert _read(tmp_path / "got") == files


def test_upload_and_download_of_a_repo(server: Server, user: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    files = {"README.md": b"# hi\n", "model.safetensors": os.urandom(200_000)}
    local = _write(tmp_path / "local", files)
    hf(server, home, "repos", "create", "m", user=user)
    hf(server, home, "upload", f"{user}/m", str(local), ".", user=user)
    hf(server, home, "download", f"{user}/m", "--local-dir", str(tmp_path / "got"), user=user)
    got = _read(tmp_path / "got")
    assert {name: got[name] for name in files} == files


def test_a_restart_keeps_everything(user: str, tmp_path: Path) -> None:
    """With the client's home too: hf_xet remembers what it sent, and must find it again."""
    home, data = tmp_path / "home", tmp_path / "data"
    content = os.urandom(400_000)
    local = _write(tmp_path / "local", {"x.bin": content})
    with serving(data) as first:
        hf(first, home, "buckets", "create", "b", user=user)
        hf(first, home, "buckets", "sync", str(local), f"hf://buckets/{user}/b", user=user)
        hf(first, home, "repos", "create", "m", user=user)
        hf(first, home, "upload", f"{user}/m", str(local), ".", user=user)
        sha = first.api(user).model_info(f"{user}/m").sha
    with serving(data) as second:
        assert second.api(user).model_info(f"{user}/m").sha == sha
        hf(second, home, "download", f"{user}/m", "x.bin", "--local-dir", str(tmp_path / "m"), user=user)
        hf(second, home, "buckets", "cp", f"hf://buckets/{user}/b/x.bin", str(tmp_path / "x.bin"), user=user)
        hf(second, home, "buckets", "cp", str(local / "x.bin"), f"hf://buckets/{user}/b/again.bin", user=user)
    assert (tmp_path / "m" / "x.bin").read_bytes() == (tmp_path / "x.bin").read_bytes() == content
    assert (data / "buckets" / user / "b" / "files" / "again.bin").read_bytes() == content


def test_another_data_folder_on_the_same_port(user: str, tmp_path: Path) -> None:
    """The client remembers what it sent to the first Hub; the second must get it all the same."""
    local = _write(tmp_path / "local", {"x.bin": os.urandom(400_000)})
    port = 0
    for name in ("one", "two"):
        with serving(tmp_path / name, port) as server:
            port = server.port
            hf(server, tmp_path / "home", "buckets", "create", "b", user=user)
            hf(server, tmp_path / "home", "buckets", "sync", str(local), f"hf://buckets/{user}/b", user=user)
        assert _read(tmp_path / name / "buckets" / user / "b" / "files") == _read(local)

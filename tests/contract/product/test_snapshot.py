"""The commit under test as a content-addressed folder of the bucket: what is sent, and what the Job gets of it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from hf_train.snapshot import upload
from support.local_hub_process import Hub
from support.product import Product, commit, git, make_repo, on_github, write

DETACH = ("--mode", "detach", "--reuse", "never")
AGAIN = ("--reuse", "never")
# Prints what the Job sees in its working folder, one line per entry.
LISTING = """\
import hashlib, os, stat, sys

for root, folders, names in os.walk("."):
    for name in sorted(names + [f for f in folders if os.path.islink(os.path.join(root, f))]):
        path = os.path.join(root, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            print("link", ascii(os.path.relpath(path)), os.readlink(path))
        else:
            digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
            print("exec" if mode & 0o100 else "file", ascii(os.path.relpath(path)), digest)
"""


def listing(folder: Path) -> list[str]:
    """What LISTING prints for a folder of this machine, without git's own files."""
    rows = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] == ".git":
            continue
        if path.is_symlink():
            rows.append(f"link {name!a} {path.readlink()}")
        elif path.is_file():
            kind = "exec" if path.stat().st_mode & stat.S_IXUSR else "file"
            rows.append(f"{kind} {name!a} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return sorted(rows)


def batches(hub: Hub) -> list[dict[str, Any]]:
    """Operations of all batch requests so far."""
    bodies = [one["body"] for one in hub.requests("POST", "/api/buckets/") if one["path"].endswith("/batch")]
    return [json.loads(line) for body in bodies for line in body.splitlines()]


def sent(hub: Hub) -> list[str]:
    """Requests that carry content or change a bucket."""
    found = [f"{one['method']} {one['path']}" for one in hub.requests()]
    return [one for one in found if one.startswith("POST /cas/") or one.endswith(("/batch", "/xet-write-token"))]


def snapshot_files(hub: Hub, digest: str) -> dict[str, Any]:
    """Files of a snapshot in the bucket."""
    tree = hub.api.list_bucket_tree(f"{hub.user}/jobs-artifacts", f"snapshots/{digest}", recursive=True)
    prefix = f"snapshots/{digest}/"
    return {item.path.removeprefix(prefix): item for item in tree if item.type == "file"}


def put(hub: Hub, digest: str, path: str, content: bytes) -> None:
    """Change a file of a snapshot behind its back."""
    hub.api.batch_bucket_files(f"{hub.user}/jobs-artifacts", add=[(content, f"snapshots/{digest}/{path}")])


@pytest.mark.case(105)
def test_the_same_tree_is_not_sent_again_and_one_changed_file_is_sent_alone(
    product: Product, account: Hub, repo: Path
) -> None:
    write(repo, {f"src/module_{number}.py": f"VALUE = {number}\n" for number in range(40)})
    commit(repo)
    first = product.run(*DETACH, "--", "true")
    assert first.code == 0, first.out
    assert len([one for one in batches(account) if one["type"] == "addFile"]) >= 40
    account.forget()

    assert product.run(*DETACH, "--", "true").report["snapshot"] == first.report["snapshot"]
    # What a detached run leaves for `collect` lies beside the code.
    assert [one["path"] for one in batches(account) if one["path"].startswith("snapshots/")] == []
    account.forget()

    write(repo, {"src/module_7.py": "VALUE = 'changed'\n", "src/new.py": "NEW = 1\n"})
    commit(repo)
    second = product.run(*DETACH, "--", "true")
    prefix = f"snapshots/{second.report['snapshot']}/"
    ours = [one for one in batches(account) if one["path"].startswith(prefix)]
    rows = [(one["type"], one["path"].removeprefix(prefix)) for one in ours]
    added = {path for kind, path in rows if kind == "addFile" and not path.startswith(".hf-train/")}
    copied = {path for kind, path in rows if kind == "copyFile"}
    assert added == {"src/module_7.py", "src/new.py"}
    assert copied == {"train.py", "rate.txt", *(f"src/module_{n}.py" for n in range(40) if n != 7)}


@pytest.mark.case(105, 114)
def test_the_job_gets_every_byte_mode_and_link_of_a_thousand_files(product: Product, repo: Path) -> None:
    write(repo, {f"many/{number % 31}/file {number}.txt": f"{number}\n" * (number % 7) for number in range(1000)})
    write(
        repo,
        {
            "list.py": LISTING,
            "run.sh": "#!/bin/sh\necho it runs\n",
            "-dash.sh": "#!/bin/sh\n",
            "dir/Ünï ✓ 日本.txt": "ü\n",
        },
    )
    (repo / "binary.bin").write_bytes(bytes(range(256)) * 300)
    (repo / "empty").touch()
    (repo / "e\u0301.txt").write_text("decomposed")
    (repo / "a 'quoted' \"name\"; $(x) #.txt").write_text("odd")
    for name in ("run.sh", "-dash.sh"):
        (repo / name).chmod(0o755)
    (repo / "link").symlink_to("dir/Ünï ✓ 日本.txt")
    (repo / "dir" / "up").symlink_to("../run.sh")
    (repo / "folder-link").symlink_to("dir")
    commit(repo)
    done = product.run("--", "sh", "-c", "./run.sh && python list.py")
    assert done.code == 0, done.out[-2000:]
    head, *rows = done.job_lines
    assert head == "it runs"
    assert sorted(rows) == listing(repo)
    assert done.report["stage"] == "COMPLETED"
    assert len(rows) > 1000


@pytest.mark.case(105)
@pytest.mark.parametrize("what", ["changed", "removed", "added", "our-own"])
def test_a_mount_that_is_not_the_commit_is_not_run(what: str, product: Product, account: Hub, repo: Path) -> None:
    first = product.run(*DETACH, "--command", "true")
    digest = first.report["snapshot"]
    if what == "changed":
        put(account, digest, "rate.txt", b"9.9\n")
    elif what == "added":
        put(account, digest, "sitecustomize.py", b"print('not of this commit')\n")
    elif what == "our-own":
        put(account, digest, ".hf-train/links", b"/etc/passwd\tpasswd\n")
    else:
        account.api.batch_bucket_files(f"{account.user}/jobs-artifacts", delete=[f"snapshots/{digest}/rate.txt"])
    done = product.run(*AGAIN, "--", "sh", "-c", "echo it ran; cat rate.txt")
    assert done.code == 1, done.out
    assert "it ran" not in done.job_lines
    assert "does not match its manifest" in "\n".join(done.job_lines)
    assert "exit code: 78" in account.jobs()[0]["status"]["message"]


@pytest.mark.case(105)
def test_the_mount_is_read_only_and_the_working_folder_is_not(product: Product, repo: Path) -> None:
    script = """
        touch /code/x 2>/dev/null && echo wrote
        touch /code/train.py 2>/dev/null && echo touched
        echo y > rate.txt
        cat rate.txt /code/rate.txt
        ls -d .hf-train"""
    done = product.run("--", "sh", "-c", script)
    assert done.job_lines[:2] == ["y", "1.5"]
    assert "No such file" in done.job_lines[2]


@pytest.mark.case(105, 115)
def test_on_github_the_commit_is_sent_and_elsewhere_the_work_tree(product: Product, repo: Path, tmp_path: Path) -> None:
    write(repo, {"rate.txt": "9\n", "untracked.txt": "u\n"})
    (repo / "train.py").unlink()
    show = ("--", "sh", "-c", "cat rate.txt; ls")
    there = product.run(*show, env=on_github(tmp_path))
    assert there.job_lines == ["1.5", "rate.txt", "train.py"]
    assert "2 tracked file(s) differ from the commit; the commit's version is sent" in there.out
    here = product.run(*show)
    assert here.job_lines == ["9", "rate.txt"]
    assert "the work tree's version is sent" in here.out


def test_exclude_leaves_files_and_folders_out(product: Product, repo: Path) -> None:
    write(repo, {"data/big.bin": "b", "docs/a/b.md": "m", "notes.md": "n", ".env": "SECRET=1"})
    commit(repo)
    done = product.run("--exclude", "data/", "--exclude", "*.md", "--exclude", ".env", "--", "find", ".", "-type", "f")
    assert sorted(done.job_lines) == ["./rate.txt", "./train.py"]


@pytest.mark.case(104)
@pytest.mark.parametrize(
    "name",
    [
        ".env",
        "app/.env.production",
        ".netrc",
        "deep/.git-credentials",
        ".pypirc",
        "keys/id_rsa",
        "id_ed25519",
        "gha-creds-1a2b.json",
        ".hf_token",
        ".docker/config.json",
        ".hf-train/start.sh",
    ],
)
def test_credential_files_and_our_own_names_are_refused(name: str, product: Product, account: Hub, repo: Path) -> None:
    write(repo, {name: "secret", ".env.example": "fine", "id_rsa.pub": "fine"})
    commit(repo)
    done = product.run("--", "true")
    assert done.code == 2
    assert f"path: {name} " in done.out
    assert "example" not in done.out
    assert account.requests() == []


@pytest.mark.case(104)
def test_a_secret_in_a_file_stops_the_run_and_reaches_nobody(product: Product, account: Hub, repo: Path) -> None:
    token = "ghp_" + "qW3rT5yU7iO9pA1sD2fG4hJ6kL8zX0cVbNmQ"
    write(repo, {"conf/settings.py": f"A = 1\nTOKEN = '{token}'\n", "train.py": f"key = '{account.token}'\n"})
    commit(repo)
    done = product.run("--", "true")
    assert done.code == 2, done.out
    assert "path: conf/settings.py:2 holds what looks like a secret (GitHub Token)" in done.out
    assert "path: train.py:1 holds the value of a secret of this step" in done.out
    assert token not in done.out
    assert account.requests() == []
    write(repo, {"conf/settings.py": f"TOKEN = '{token}'  # pragma: allowlist secret\n", "train.py": "print(1)\n"})
    commit(repo)
    assert product.run(*DETACH, "--", "true").code == 0


@pytest.mark.case(107)
def test_a_bucket_that_is_made_public_while_the_code_is_sent_gets_no_job(
    product: Product, account: Hub, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring = upload.Uploader.bring

    def slow(self: upload.Uploader, *words: Any) -> bool:
        account.ask(f"/api/buckets/{account.user}/jobs-artifacts/settings", "PUT", {"private": False})
        return bring(self, *words)

    monkeypatch.setattr(upload.Uploader, "bring", slow)
    done = product.run("--", "true", env={"GITHUB_EVENT_PATH": ""})
    assert done.code == 2, done.out
    assert "made it public while the code was sent" in done.out
    assert account.launches() == []


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n"


@pytest.mark.case(109)
def test_a_git_lfs_pointer_is_refused_and_its_content_is_taken(
    product: Product, account: Hub, repo: Path, tmp_path: Path
) -> None:
    content = b"real weights"
    write(repo, {"w.bin": POINTER.format(oid=hashlib.sha256(content).hexdigest(), size=len(content))})
    commit(repo)
    for env, hint in ((on_github(tmp_path), "check out with `lfs: true`"), ({}, "`git lfs pull`")):
        done = product.run("--", "true", env=env)
        assert done.code == 2, done.out
        assert "path: w.bin is a git-lfs pointer" in done.out
        assert hint in done.out
    assert account.requests() == []
    (repo / "w.bin").write_bytes(content)  # as `git lfs` leaves it in the work tree
    assert product.run("--", "cat", "w.bin", env=on_github(tmp_path)).job_lines == ["real weights"]


@pytest.mark.case(108)
@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "dir/../../outside", ".."])
@pytest.mark.parametrize("github", [False, True])
def test_a_link_out_of_the_tree_is_refused(
    target: str, github: bool, product: Product, account: Hub, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("not of this repository")
    (repo / "escape").symlink_to(target)
    commit(repo)
    done = product.run("--", "true", env=on_github(tmp_path) if github else {})
    assert done.code == 2
    assert "the link escape points out of the folder" in done.out
    assert account.requests() == []


@pytest.mark.case(115)
def test_a_submodule_is_named_and_not_sent(product: Product, repo: Path, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other", {"lib.py": "x = 1\n"})
    git(repo, "submodule", "--quiet", "add", str(other), "vendor/lib")
    commit(repo)
    for env in ({}, on_github(tmp_path)):
        done = product.run("--", "ls", env=env)
        assert done.code == 0, done.out
        assert "vendor/lib is a submodule and is not sent" in done.out
        assert done.job_lines == ["rate.txt", "train.py"]


def test_a_folder_without_git_is_sent_whole(product: Product, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    write(folder, {"a.py": "", "sub/b.py": "", ".cache/x": "", "sub/__pycache__/b.pyc": ""})
    product.cwd = folder
    done = product.run("--", "find", ".", "-type", "f")
    assert sorted(done.job_lines) == ["./a.py", "./sub/b.py"]
    assert "Not a git checkout" in done.out


def test_a_part_of_the_repository_is_sent_from_its_own_root(product: Product, repo: Path) -> None:
    write(repo, {"pkg/main.py": "", "pkg/deep/x.py": ""})
    commit(repo)
    done = product.run("--path", "pkg", "--mount", "/src", "--", "sh", "-c", "find . -type f; ls /src/main.py")
    assert sorted(done.job_lines) == ["./deep/x.py", "./main.py", "/src/main.py"]


@pytest.mark.case(113)
def test_nothing_to_send_is_an_error(product: Product, account: Hub, repo: Path) -> None:
    done = product.run("--exclude", "*", "--", "true")
    assert (done.code, account.requests()) == (2, [])
    assert "there is nothing to send" in done.out


def test_a_script_by_url_needs_no_code(product: Product, account: Hub, repo: Path) -> None:
    api = account.api
    api.create_repo(f"{account.user}/scripts")
    api.upload_file(
        path_or_fileobj=b"import os; print(os.listdir())", path_in_repo="s.py", repo_id=f"{account.user}/scripts"
    )
    url = f"{account.url}/{account.user}/scripts/resolve/main/s.py"
    done = product.run("--path", "none", "--script", url)
    assert (done.code, done.job_lines) == (0, ["[]"]), done.out
    put(account, done.report["snapshot"], ".hf-train/scripts/s.py", b"print('another script')")
    again = product.run(*AGAIN, "--path", "none", "--script", url)
    assert again.code == 1
    assert "another script" not in again.job_lines


@pytest.mark.case(107)
def test_a_public_bucket_is_refused_unless_the_repository_is_public(
    product: Product, account: Hub, repo: Path, tmp_path: Path
) -> None:
    account.api.create_bucket(f"{account.user}/jobs-artifacts", private=False)
    event = tmp_path / "event.json"
    for private, code in ((None, 2), (True, 2), (False, 0)):
        event.write_text(json.dumps({"repository": {"private": private}}))
        env = {**on_github(tmp_path), "GITHUB_EVENT_PATH": str(event)} if private is not None else {}
        account.forget()
        done = product.run("--", "true", env=env)
        assert done.code == code, done.out
        assert bool(account.launches()) is (code == 0)
        if code:
            assert "is public" in done.out
            assert sent(account) == []


@pytest.mark.case(110)
def test_a_half_written_snapshot_is_completed(product: Product, account: Hub, repo: Path) -> None:
    digest = product.run(*DETACH, "--", "true").report["snapshot"]
    bucket = f"{account.user}/jobs-artifacts"
    gone = [f"snapshots/{digest}/.hf-train/manifest.json", f"snapshots/{digest}/rate.txt"]
    account.api.batch_bucket_files(bucket, delete=gone)
    put(account, digest, "train.py", b"half")
    done = product.run(*AGAIN, "--", "cat", "rate.txt")
    assert (done.code, done.job_lines) == (0, ["1.5"])
    assert {"rate.txt", "train.py", ".hf-train/manifest.json"} <= set(snapshot_files(account, digest))


@pytest.mark.case(110)
def test_an_upload_that_fails_is_tried_again_and_the_job_is_one(product: Product, account: Hub, repo: Path) -> None:
    account.fault(
        "POST /api/buckets/*/*/batch status=503 nth=1 times=1",
        "POST /api/buckets/*/*/batch drop=after nth=2 times=1",
    )
    done = product.run("--", "cat", "rate.txt")
    assert (done.code, done.job_lines) == (0, ["1.5"]), done.out
    assert len(account.launches()) == 1


@pytest.mark.case(110)
@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("GET /api/buckets/*/*/xet-write-token status=403", 3, "Not allowed"),
        ("GET /api/buckets/*/*/xet-write-token status=404", 3, "Not found"),
        ("POST /api/buckets/*/*/batch status=507", 3, "507"),
        ("POST /cas/** drop=before times=1", 0, "completed"),
    ],
)
def test_a_store_that_fails_is_never_a_bug_of_ours(
    fault: str, code: int, says: str, product: Product, account: Hub
) -> None:
    account.fault(fault)
    done = product.run("--", "true")
    assert done.code == code, done.out
    assert says in done.out
    assert len(account.launches()) == (code == 0)


def test_the_manifest_tells_what_was_sent(product: Product, account: Hub, repo: Path, tmp_path: Path) -> None:
    digest = product.run(*DETACH, "--", "true").report["snapshot"]
    target = tmp_path / "manifest.json"
    path = f"snapshots/{digest}/.hf-train/manifest.json"
    account.api.download_bucket_files(f"{account.user}/jobs-artifacts", [(path, target)])
    manifest = json.loads(target.read_text())
    files = snapshot_files(account, digest)
    assert (manifest["snapshot"], manifest["sha"], manifest["dirty"]) == (digest, git(repo, "rev-parse", "HEAD"), 0)
    for row in manifest["files"]:
        assert row["sha256"] == hashlib.sha256((repo / row["path"]).read_bytes()).hexdigest()
        assert (row["size"], row["xet"]) == (files[row["path"]].size, files[row["path"]].xet_hash)


def test_a_volume_that_the_job_may_write_to_does_not_change_what_others_read(
    product: Product, account: Hub, repo: Path
) -> None:
    write(repo, {"data/d.txt": "clean\n"})
    commit(repo)
    volumes = ("--volumes", "./data:/mine:rw", "--volumes", "./data:/data")
    for _ in range(2):
        script = "cat /mine/d.txt /data/d.txt; echo dirty > /mine/d.txt; touch /data/d.txt 2>/dev/null; true"
        done = product.run(*AGAIN, *volumes, "--", "sh", "-c", script)
        assert (done.code, done.job_lines) == (0, ["clean", "clean"]), done.out
    keys = {body["labels"]["hft-key"] for body in account.launches()}
    assert len(keys) == 1


@pytest.mark.case(106)
def test_a_same_sized_edit_with_an_old_date_is_sent(product: Product, repo: Path) -> None:
    assert product.run("--", "cat", "rate.txt").job_lines == ["1.5"]
    (repo / "rate.txt").write_text("2.5\n")
    past = time.time() - 300
    os.utime(repo / "rate.txt", (past, past))
    assert product.run("--", "cat", "rate.txt").job_lines == ["2.5"]


def test_on_a_runner_only_folders_of_the_workspace_are_sent(
    product: Product, account: Hub, tmp_path: Path, repo: Path
) -> None:
    """A pull request can edit the config file; it may not name the runner's own folders there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "credentials").write_text("mine")
    before = len(account.requests())
    for folder in (str(outside), "../outside"):
        done = product.run("--volumes", f"{folder}:/x", "--", "true", env=on_github(tmp_path))
        assert done.code == 2, done.out
        assert "there is no folder" in done.out
    assert len(account.requests()) == before

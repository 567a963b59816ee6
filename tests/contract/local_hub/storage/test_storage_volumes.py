"""What the Job machine asks of the stores: folders to mount."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.settings import HubSettings
from hf_train.local_hub.state import PathEscapesError
from hf_train.local_hub.storage import Storage, open_storage
from support.storage_server import serving, token_of


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """A bucket `u/b` and a model `u/m`: `a.txt` in git, `w/x.bin` in LFS, a tag `v1` before `late.txt`."""
    data = tmp_path_factory.mktemp("volumes") / "data"
    with serving(data) as server:
        api = server.api("u")
        api.create_bucket("b")
        api.create_repo("m")
        api.upload_file(path_or_fileobj=b"a", path_in_repo="a.txt", repo_id="u/m")
        api.upload_file(path_or_fileobj=b"x" * 1000, path_in_repo="w/x.bin", repo_id="u/m")
        api.create_tag("u/m", tag="v1")
        api.upload_file(path_or_fileobj=b"late", path_in_repo="late.txt", repo_id="u/m")
        assert server.ask("GET", "/api/models/u/m", token_of("u")).status_code == 200
    return open_storage(HubContext(settings=HubSettings(data=data), endpoint="http://127.0.0.1:1", data=data))


def test_a_bucket_folder_is_live_and_made_when_missing(storage: Storage) -> None:
    folder = storage.bucket_folder("u/b", "run/1")
    assert list(folder.iterdir()) == []
    (folder / "f").write_text("x")
    bucket = storage.buckets.get("u/b")
    assert bucket is not None
    assert [entry.path for entry in storage.buckets.entries(bucket)] == ["run/1/f"]


def test_an_empty_folder_that_is_mounted_stays(storage: Storage) -> None:
    folder = storage.bucket_folder("u/b", "kept")
    (folder / "f").write_text("x")
    bucket = storage.buckets.get("u/b")
    assert bucket is not None
    assert storage.buckets.remove(bucket, "kept/f")
    assert folder.is_dir()


def test_a_repo_folder_has_the_files_of_its_revision(storage: Storage) -> None:
    main = storage.repo_folder("model", "u/m", None, "")
    assert (main / "late.txt").read_bytes() == b"late"
    tagged = storage.repo_folder("model", "u/m", "v1", "")
    assert not (tagged / "late.txt").exists()
    assert (tagged / "w" / "x.bin").read_bytes() == b"x" * 1000
    assert storage.repo_folder("model", "u/m", "v1", "w") == tagged / "w"


@pytest.mark.parametrize(
    ("repo_type", "repo_id", "revision", "path"),
    [
        ("model", "u/none", None, ""),
        ("dataset", "u/m", None, ""),
        ("model", "u/m", "none", ""),
        ("model", "u/m", None, "none"),
        ("model", "u/m", None, "a.txt"),
        ("model", "m", None, ""),
    ],
)
def test_what_is_not_there_is_a_key_error(
    storage: Storage, repo_type: str, repo_id: str, revision: str | None, path: str
) -> None:
    with pytest.raises(KeyError):
        storage.repo_folder(repo_type, repo_id, revision, path)


def test_a_bucket_that_is_not_there_is_a_key_error(storage: Storage) -> None:
    with pytest.raises(KeyError):
        storage.bucket_folder("u/none", "")


def test_paths_that_climb_out_are_refused(storage: Storage, tmp_path: Path) -> None:
    live = storage.bucket_folder("u/b", "")
    (live / "link").symlink_to(tmp_path)
    for path in ("../..", "link", "link/x"):
        with pytest.raises(PathEscapesError):
            storage.bucket_folder("u/b", path)
    with pytest.raises(PathEscapesError):
        storage.repo_folder("model", "u/m", None, "../..")
    assert list(tmp_path.iterdir()) == []

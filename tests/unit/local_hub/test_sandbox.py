"""The root of a Job: which folders are made anew and which are bound, with the system calls noted instead of made."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_train.local_hub.executors import sandbox


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What would be bind-mounted."""
    calls: list[tuple[str, str]] = []
    monkeypatch.setattr(sandbox, "bind", lambda source, target: calls.append((source, target)))
    return calls


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    for folder in ("usr/lib/python", "usr/bin", "data/old", "tmp"):
        (root / folder).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "bin").symlink_to("usr/bin")
    (root / "file").write_text("x")
    return root


def mirrored(host: Path, copy: Path, *targets: str) -> None:
    copy.mkdir()
    sandbox.mirror(str(host), str(copy), frozenset(str(host / target) for target in targets), str(copy))


def test_without_volumes_everything_is_bound_at_the_top(
    host: Path, tmp_path: Path, bound: list[tuple[str, str]]
) -> None:
    copy = tmp_path / "copy"
    mirrored(host, copy)
    assert sorted(Path(source).name for source, _ in bound) == ["data", "file", "tmp", "usr"]
    assert (copy / "bin").is_symlink()
    assert (copy / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_folders_above_a_mount_path_are_made_anew(host: Path, tmp_path: Path, bound: list[tuple[str, str]]) -> None:
    copy = tmp_path / "copy"
    mirrored(host, copy, "usr/lib/new", "data")
    sources = {str(Path(source).relative_to(host)) for source, _ in bound}
    assert sources == {"file", "tmp", "usr/bin", "usr/lib/python"}, "not usr, not usr/lib; data is covered"
    assert not (copy / "data").exists()
    assert (copy / "usr/lib").is_dir()


def test_the_host_is_not_touched(host: Path, tmp_path: Path, bound: list[tuple[str, str]]) -> None:
    before = sorted(host.rglob("*"))
    mirrored(host, tmp_path / "copy", "a/b/c", "usr/lib/new")
    assert sorted(host.rglob("*")) == before
    assert all(Path(target).is_relative_to(tmp_path / "copy") for _, target in bound)


def test_a_file_is_covered_by_a_file(tmp_path: Path) -> None:
    source = tmp_path / "hosts"
    source.write_text("x")
    sandbox.make_place(str(source), str(tmp_path / "root" / "etc" / "hosts"))
    sandbox.make_place(str(tmp_path), str(tmp_path / "root" / "data"))
    assert (tmp_path / "root" / "etc" / "hosts").is_file()
    assert (tmp_path / "root" / "data").is_dir()

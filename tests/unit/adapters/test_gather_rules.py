"""What may be sent, under which names, and the address of what is sent."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.errors import BadInput
from hf_train.snapshot import gather as room
from hf_train.snapshot.gather import File, Gathered, surveyed_digest

FILE = File(path="train.py", source=Path("x"), sha256="a" * 64, size=1)
ONE = Gathered(files=(FILE,), links=(("latest", "train.py"),))


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "sub/.env",
        ".env.local",
        ".env.production",
        ".netrc",
        "a/.git-credentials",
        ".pypirc",
        "id_rsa",
        "keys/id_ed25519",
        "gha-creds-0123abcd.json",
        ".hf_token",
        ".docker/config.json",
        ".hf-train/start.sh",
        ".ENV",
        ".envrc",
        "_netrc",
        ".pgpass",
        "id_ecdsa_sk",
        "key.ppk",
        "cert.p12",
        "a/b.pfx",
        "x.jks",
        "a.keystore",
        "pw.kdbx",
        "kaggle.json",
        ".kaggle/kaggle.json",
        ".huggingface/token",
        ".cache/huggingface/token",
        "huggingface/stored_tokens",
        ".dockercfg",
        ".aws/credentials",
        ".azure/accessTokens.json",
        ".kube/config",
        ".ssh/known",
        ".config/gcloud/a/b.db",
        "application_default_credentials.json",
        ".boto",
        ".s3cfg",
        ".vault-token",
        ".terraformrc",
        "prod.tfstate",
        ".streamlit/secrets.toml",
        ".htpasswd",
        "rclone.conf",
        "sub/.git/config",
    ],
)
@pytest.mark.case(48, 104)
def test_a_credential_is_never_sent(path: str) -> None:
    with pytest.raises(BadInput, match=r"remove it or exclude it|rename the folder or exclude it"):
        room._refuse([path])


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "sub/.env.template",
        "env",
        "my.env.py",
        "id_rsa.pub",
        "docker/config.json",
        "creds.json",
        "x/.hf-train",
    ],
)
def test_what_only_looks_like_one_is_sent(path: str) -> None:
    room._refuse([path])


def test_every_refused_file_is_named() -> None:
    with pytest.raises(BadInput) as caught:
        room._refuse(["a/.env", "ok.py", ".netrc"])
    assert [problem.split(" ")[1] for problem in caught.value.problems] == ["a/.env", ".netrc"]


@pytest.mark.parametrize(
    ("path", "pattern", "out"),
    [
        ("data/a.bin", "data", True),
        ("data/a.bin", "data/", True),
        ("data/a.bin", "data/*", True),
        ("deep/er/a.ckpt", "*.ckpt", True),
        ("a.ckpt2", "*.ckpt", False),
        ("database/a", "data", False),
        ("A.CKPT", "*.ckpt", False),
        ("sub/data/a", "sub/*", True),
    ],
)
def test_a_pattern_leaves_out(path: str, pattern: str, out: bool) -> None:
    assert room._left_out(path, [pattern]) is out


@pytest.mark.parametrize(("path", "target"), [("a", "b"), ("d/a", "../b"), ("d/a", "./x/../y"), ("d/e/a", "../../b")])
def test_a_link_inside_is_kept(path: str, target: str) -> None:
    assert room._inside(path, target) == target


@pytest.mark.case(108)
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "/etc/passwd"),
        ("a", ".."),
        ("a", "../x"),
        ("d/a", "../../x"),
        ("a", "x/../../y"),
        ("a", "b\tc"),
        ("a", "b\nc"),
    ],
)
def test_a_link_that_leaves_is_refused(path: str, target: str) -> None:
    with pytest.raises(BadInput, match="points out of the folder"):
        room._inside(path, target)


@pytest.mark.case(105)
@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, files=(replace(FILE, path="train2.py"),)),
        replace(ONE, files=(replace(FILE, sha256="b" * 64),)),
        replace(ONE, files=(replace(FILE, executable=True),)),
        replace(ONE, files=(FILE, replace(FILE, path="b"))),
        replace(ONE, files=()),
        replace(ONE, links=(("latest", "other.py"),)),
        replace(ONE, links=(("newest", "train.py"),)),
        replace(ONE, links=()),
    ],
)
def test_another_content_has_another_address(other: Gathered) -> None:
    assert surveyed_digest(other, {}) != surveyed_digest(ONE, {})


def test_what_lies_beside_counts_and_what_is_said_does_not() -> None:
    digest = surveyed_digest(ONE, {"s.sh": b"1"})
    assert digest != surveyed_digest(ONE, {"s.sh": b"2"})
    assert digest != surveyed_digest(ONE, {"t.sh": b"1"})
    assert digest != surveyed_digest(ONE, {})
    told = replace(ONE, sha="c" * 40, dirty=3, notes=("x",), files=(replace(FILE, source=Path("y")),))
    assert surveyed_digest(told, {"s.sh": b"1"}) == digest
    assert len(digest) == 64


@given(st.permutations([replace(FILE, path=name) for name in "abcd"]))
def test_the_order_of_the_files_does_not_count(files: list[File]) -> None:
    straight = Gathered(files=tuple(replace(FILE, path=name) for name in "abcd"))
    assert surveyed_digest(Gathered(files=tuple(files)), {}) == surveyed_digest(straight, {})


def test_a_plain_folder_is_sent_without_caches(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "t.py").write_bytes(b"print(1)")
    for hidden in (".git", "__pycache__", ".venv"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "x").write_bytes(b"x")
    (tmp_path / "run.sh").write_bytes(b"#!")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "latest").symlink_to("src/t.py")
    (tmp_path / "big.ckpt").write_bytes(b"x")
    found = room._plain(tmp_path, ["*.ckpt"])
    assert [(file.path, file.size, file.executable) for file in found.files] == [
        ("run.sh", 2, True),
        ("src/t.py", 8, False),
    ]
    assert found.files[1].sha256 == hashlib.sha256(b"print(1)").hexdigest()
    assert found.links == (("latest", "src/t.py"),)


@pytest.mark.case(114)
@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\\b", b"a\xffb".decode("utf-8", "surrogateescape")])
def test_a_name_that_a_bucket_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(BadInput, match="a bucket cannot hold"):
        room._plain(tmp_path, [])


@pytest.mark.case(113)
def test_nothing_to_send_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to send"):
        room._plain(tmp_path, [])


@pytest.mark.case(112)
def test_too_much_is_refused_with_the_biggest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_BYTES", 20)
    for i in range(12):
        (tmp_path / f"f{i:02}").write_bytes(b"x" * (i + 1))
    with pytest.raises(BadInput) as caught:
        room._plain(tmp_path, [])
    assert "12 files" in caught.value.message
    assert "f11" in caught.value.message
    assert "f01" not in caught.value.message, "the ten biggest"


@pytest.mark.case(109)
def test_a_pointer_is_told_from_its_content(tmp_path: Path) -> None:
    content = b"weights"
    digest = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n".encode()
    path = tmp_path / "w.bin"
    path.write_bytes(content)
    assert room._is_smudged(pointer, path)
    path.write_bytes(pointer)
    assert not room._is_smudged(pointer, path)
    assert not room._is_smudged(pointer.replace(b"oid", b"odd"), path)
    assert not room._is_smudged(pointer, tmp_path / "absent")

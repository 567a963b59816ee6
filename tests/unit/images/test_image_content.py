"""`.dockerignore`, and the content hash of a build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hf_train.images.content import ContextFile, Recipe, content_hash, secret_args, secret_text, seen
from hf_train.images.ignore import ignorer, read_ignore

A, B = "a" * 64, "b" * 64
RECIPE = Recipe(
    dockerfile="Dockerfile",
    text="FROM debian",
    files=(ContextFile(path="src/a.py", sha256=A), ContextFile(path="b", sha256=B, executable=True)),
    target="t",
    args={"X": "1", "Y": "2"},
    secrets=("S",),
    bases=(("debian", f"sha256:{A}"),),
)


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "FROM debian\n"},
        {"target": ""},
        {"args": {"X": "1", "Y": "3"}},
        {"args": {"X": "1"}},
        {"secrets": ()},
        {"bases": (("debian", f"sha256:{B}"),)},
        {"files": RECIPE.files[:1]},
        {"files": (replace(RECIPE.files[0], sha256=B), RECIPE.files[1])},
        {"files": (replace(RECIPE.files[0], path="src/c.py"), RECIPE.files[1])},
        {"files": (replace(RECIPE.files[0], executable=True), RECIPE.files[1])},
        {"files": (replace(RECIPE.files[0], target="x"), RECIPE.files[1])},
    ],
)
@pytest.mark.case(45)
def test_what_makes_another_image_makes_another_hash(changes: dict[str, Any]) -> None:
    assert content_hash(replace(RECIPE, **changes)) != content_hash(RECIPE)


def test_what_makes_no_other_image_makes_no_other_hash() -> None:
    same = replace(
        RECIPE, dockerfile="docker/x", files=RECIPE.files[::-1], args={"Y": "2", "X": "1"}, base_size=5, hash="z"
    )
    assert content_hash(same) == content_hash(RECIPE)
    moved = replace(RECIPE, files=tuple(replace(file, size=9) for file in RECIPE.files))
    assert content_hash(moved) == content_hash(RECIPE)
    assert len(content_hash(RECIPE)) == 64


def test_only_what_copy_names_is_seen() -> None:
    files = [ContextFile(path=path, sha256=A) for path in ("src/a.py", "src/deep/b.py", "srcs", "data1.csv", "README")]
    link = ContextFile(path="link", sha256=A, target="src")
    assert [file.path for file in seen([*files, link], ("src", "data?.csv"))] == [
        "data1.csv",
        "link",
        "src/a.py",
        "src/deep/b.py",
    ]
    assert len(seen([*files, link], ("nothing", "."))) == 6


# Rows of moby's own tests (patternmatcher_test.go) and of Docker's documentation.
@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("**", "file", True),
        ("**/", "dir/file", True),
        ("dir/**", "dir/dir2/file", True),
        ("**/dir2/*", "dir/dir2/file", True),
        ("**/file", "dir/dir/file", True),
        ("**file", "dir/file", True),
        ("**/**/*.txt", "dir/dir/file.txt", True),
        ("a*/b", "a/b", True),
        ("a**/*.txt", "a/file/dir/file.txt", True),
        ("a[b-d]e", "ace", True),
        ("a[b-d]e", "aae", False),
        ("*/temp*", "somedir/temporary.txt", True),
        ("*/*/temp*", "somedir/temporary.txt", False),
        ("temp?", "tempa", True),
        ("temp?", "temp", False),
        ("**/*.go", "x.go", True),
        ("*", "a/b", True),
        ("*\n!a", "a/b", False),
        ("*\n!a\na/b", "a/b", True),
        ("*.md\n!README.md", "README.md", False),
        ("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", True),
        ("# comment", "# comment", False),
        ("/abs", "abs", True),
        ("./a//b/../c/", "a/c", True),
        ("\n  \n", "x", False),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("é+(x)", "é+(x)", True),
    ],
)
def test_dockerignore(text: str, path: str, ignored: bool) -> None:
    assert ignorer(read_ignore(text))(path) is ignored


@pytest.mark.case(46)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "x"),
        ("api_key", "x"),
        ("DB_PASSWORD", ""),
        ("X", "hf_" + "a" * 34),
        ("X", "ghs_" + "a" * 36),
        ("X", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_a_secret_is_no_build_argument(name: str, value: str) -> None:
    (problem,) = secret_args({name: value, "PYTHON": "3.12", "TORCH_VERSION": "2.13.0"})
    assert name in problem
    assert "build-secrets" in problem
    assert not value or value not in problem


@pytest.mark.case(46)
def test_a_token_in_a_dockerfile_is_seen() -> None:
    assert secret_text(f"FROM x\nENV T=hf_{'a' * 34}\n")
    assert not secret_text("FROM x\nENV HF_HOME=/tmp/hf HF_TOKEN_PATH=/x\n")

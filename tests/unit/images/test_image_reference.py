"""Image references."""

from __future__ import annotations

import pytest

from hf_train.images.reference import parse_reference, space_of

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "host", "repository", "tag", "digest", "again"),
    [
        ("python", "docker.io", "library/python", "latest", "", "python:latest"),
        ("python:3.12", "docker.io", "library/python", "3.12", "", "python:3.12"),
        ("docker.io/library/python:3.12", "docker.io", "library/python", "3.12", "", "python:3.12"),
        ("index.docker.io/a/b", "docker.io", "a/b", "latest", "", "a/b:latest"),
        ("huggingface/trl", "docker.io", "huggingface/trl", "latest", "", "huggingface/trl:latest"),
        (f"ghcr.io/a/b@{DIGEST}", "ghcr.io", "a/b", "", DIGEST, f"ghcr.io/a/b@{DIGEST}"),
        (f"ghcr.io/a/b:c@{DIGEST}", "ghcr.io", "a/b", "c", DIGEST, f"ghcr.io/a/b:c@{DIGEST}"),
        ("localhost:5000/x", "localhost:5000", "x", "latest", "", "localhost:5000/x:latest"),
        ("127.0.0.1:5000/x/y:z", "127.0.0.1:5000", "x/y", "z", "", "127.0.0.1:5000/x/y:z"),
        ("[::1]:5000/x", "[::1]:5000", "x", "latest", "", "[::1]:5000/x:latest"),
    ],
)
def test_it_is_read_as_docker_reads_it(
    text: str, host: str, repository: str, tag: str, digest: str, again: str
) -> None:
    found = parse_reference(text)
    assert (found.host, found.repository, found.tag, found.digest) == (host, repository, tag, digest)
    assert str(found) == again
    assert parse_reference(str(found)) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not an image reference"),
        ("Python", "lower case"),
        ("python:", "a tag that no registry takes"),
        ("python:a/b", "a tag that no registry takes"),
        ("python@sha256:12", "64 hex digits"),
        ("python@md5:aa", "64 hex digits"),
        ("-python", "not an image reference"),
        ("a b", "not an image reference"),
        ("ghcr.io/", "not an image reference"),
        ("ghcr.io/a/../b", "not an image reference"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_reference(text)


def test_a_pinned_image_has_no_tag() -> None:
    assert parse_reference("python:3.12").pinned(DIGEST) == f"python@{DIGEST}"
    assert parse_reference("ghcr.io/a/b:c").pinned(DIGEST) == f"ghcr.io/a/b@{DIGEST}"


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:5000/x", True),
        ("localhost/x", True),
        ("[::1]:1/x", True),
        ("127.evil.example/x", False),
        ("python", False),
    ],
)
def test_a_registry_on_this_machine(text: str, loopback: bool) -> None:
    assert parse_reference(text).on_loopback is loopback


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("hf.co/spaces/a/b", "a/b"),
        ("https://huggingface.co/spaces/a/b", "a/b"),
        ("huggingface.co/spaces/a/b/", "a/b"),
        ("ghcr.io/spaces/a/b", ""),
    ],
)
def test_a_space_is_an_image(text: str, space: str) -> None:
    assert space_of(text) == space

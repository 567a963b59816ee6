"""What a Dockerfile builds on, and what it can see of its context."""

from __future__ import annotations

import pytest

from hf_train.images.dockerfile import Base, expand, instructions, pin_bases, read_dockerfile

WHOLE = r"""# syntax=docker/dockerfile:1
ARG BASE=python:3.12
ARG VERSION=1
# FROM comment
FROM --platform=linux/amd64 ${BASE} AS Build
RUN apt-get install \
    # a comment inside
    git \

    curl
COPY <<EOF /etc/x
COPY inside-a-document /y
EOF
COPY pyproject.toml ./src/ /app/
COPY --chown=1000:1000 ["with blank", "other", "/app/"]
ADD https://example.org/file /z
ADD --checksum=sha256:1 data*.csv /data/
FROM nvidia/cuda:${VERSION:-9}-runtime
COPY --from=build /app /app
COPY --from=0 /app /app
COPY --from=ghcr.io/astral-sh/uv:0.12 /uv /bin/
RUN --mount=type=bind,source=lock,target=/l --mount=type=cache,target=/c --mount=type=bind,from=build,target=/b x
FROM build
FROM scratch
"""


def test_bases_sources_and_stages() -> None:
    reading = read_dockerfile(WHOLE, {})
    assert reading.problems == ()
    assert reading.stages == ("build", "1", "2", "3")
    assert reading.bases == (
        Base(line=5, image="python:3.12"),
        Base(line=18, image="nvidia/cuda:1-runtime"),
        Base(line=0, image="ghcr.io/astral-sh/uv:0.12"),
    )
    assert reading.sources == ("pyproject.toml", "src", "with blank", "other", "data*.csv", "lock")


def test_build_arguments_win_over_defaults() -> None:
    reading = read_dockerfile(WHOLE, {"BASE": "debian:13", "VERSION": ""})
    assert [base.image for base in reading.bases][:2] == ["debian:13", "nvidia/cuda:9-runtime"]


@pytest.mark.case(45)
def test_every_base_is_rewritten_to_its_digest_and_nothing_else() -> None:
    digests = {"python:3.12": "python@sha256:aa", "ghcr.io/astral-sh/uv:0.12": "ghcr.io/astral-sh/uv@sha256:bb"}
    pinned = pin_bases(WHOLE, {}, digests)
    assert "\nFROM --platform=linux/amd64 python@sha256:aa AS build\n" in pinned
    assert "\nCOPY --from=ghcr.io/astral-sh/uv@sha256:bb /uv /bin/\n" in pinned
    assert "\nFROM nvidia/cuda:${VERSION:-9}-runtime\n" in pinned
    different = [a for a, b in zip(WHOLE.split("\n"), pinned.split("\n"), strict=True) if a != b]
    assert len(different) == 2


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("COPY . /app", (".",)),
        ("COPY ./ /app", (".",)),
        ("COPY $WHAT /app", (".",)),
        ("COPY ../../a/../b /app", ("b",)),
        ("COPY /abs/path /app", ("abs/path",)),
        ("COPY a\\\n  b \\\n  /app/", ("a", "b")),
        ("add a /app", ("a",)),
        ("ADD git@github.com:a/b.git /app", ()),
        ("RUN --mount=type=bind,target=/x y", (".",)),
        ("RUN --mount=target=/x y", (".",)),
        ("RUN cp COPY me", ()),
        ('RUN ["COPY", "x"]', ()),
        ("COPY --from=other/image:1 a b", ()),
        ("COPY <<A <<B /x/\nCOPY p /q\nA\nCOPY r /s\nB\nCOPY t /u", ("t",)),
    ],
)
def test_sources(text: str, sources: tuple[str, ...]) -> None:
    assert read_dockerfile(f"FROM debian\n{text}\n", {}).sources == sources


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no FROM"),
        ("# only\n", "it has no FROM"),
        ("RUN x\nFROM y", "line 1: RUN stands before the first FROM"),
        ("ARG BASE\nFROM $BASE", "line 2: FROM names no image; give its variable as a build argument"),
        ("FROM", "line 1: FROM names no image"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    assert why in read_dockerfile(text, {}).problems[0]


def test_another_escape_character() -> None:
    text = "# escape=`\nFROM debian\nCOPY a `\n  b /c\nCOPY d\\ /e\n"
    assert [one.name for one in instructions(text)] == ["FROM", "COPY", "COPY"]
    assert read_dockerfile(text, {}).sources[:2] == ("a", "b")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$A", "1"),
        ("${A}x", "1x"),
        ("${B:-2}", "2"),
        ("${E:-2}", "2"),
        ("${E-2}", ""),
        ("${A:+3}", "3"),
        ("${B:+3}", ""),
        ("$B", None),
        ("${A:?x}", None),
        ("plain", "plain"),
    ],
)
def test_variables(text: str, value: str | None) -> None:
    assert expand(text, {"A": "1", "E": ""}) == value

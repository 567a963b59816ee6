"""Where an image is pushed, with which labels and cache; the table of known images."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from hf_train.images.listing import as_data, flavors_for, table
from hf_train.images.pins import Pin
from hf_train.images.release import caches_for, is_release, labels_for, repository_for
from unit.makers import FLAVORS, ON_GITHUB, PULL

MAIN = replace(ON_GITHUB, event="push", ref="refs/heads/feat/x y", pull=None)
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
PINS = (
    Pin(name="gpu", reference="a/b:c", digest=A, date=date(2026, 11, 30), size=7_400_000_000, cuda="13.0"),
    Pin(name="uv", reference="ghcr.io/u/v:w", digest=B, date=date(2026, 12, 2), python="3.12"),
)


@pytest.mark.parametrize(
    ("event", "ref", "release"),
    [
        ("release", "refs/tags/v1", True),
        ("push", "refs/tags/v1", True),
        ("push", "refs/heads/main", False),
        ("pull_request", "refs/pull/7/merge", False),
        ("workflow_dispatch", "refs/heads/release", False),
    ],
)
def test_what_is_a_release(event: str, ref: str, release: bool) -> None:
    assert is_release(replace(ON_GITHUB, event=event, ref=ref)) is release


def test_the_repository_is_ours_unless_one_is_named() -> None:
    ours = repository_for(None, replace(ON_GITHUB, repository="Octo/Proj"))
    assert ours is not None
    assert ours.name == "ghcr.io/octo/proj/train"
    named = repository_for("registry.example:5000/a/b", ON_GITHUB)
    assert named is not None
    assert str(named.tagged("hft-1")) == "registry.example:5000/a/b:hft-1"
    assert repository_for(None, replace(ON_GITHUB, repository="")) is None


@pytest.mark.parametrize("name", ["ghcr.io/a/b:tag", f"ghcr.io/a/b@sha256:{'a' * 64}", "Upper/case"])
def test_a_repository_has_no_tag(name: str) -> None:
    with pytest.raises(ValueError, match=r"tag or a digest|lower case"):
        repository_for(name, ON_GITHUB)


def test_labels_say_where_an_image_comes_from() -> None:
    assert labels_for(ON_GITHUB, "h") == {
        "org.opencontainers.image.source": "https://github.com/octo/proj",
        "org.opencontainers.image.revision": "b" * 40,
        "hf-train.run": "https://github.com/octo/proj/actions/runs/1658821493",
        "hf-train.content": "h",
    }


@pytest.mark.case(47)
def test_a_pull_requests_cache_is_its_own() -> None:
    assert caches_for(ON_GITHUB) == ("hft-cache-pr-7", ("hft-cache-pr-7", "hft-cache-main"))
    assert caches_for(MAIN) == ("hft-cache-feat-x-y", ("hft-cache-feat-x-y",))
    assert caches_for(replace(ON_GITHUB, pull=replace(PULL, base_ref=""))) == ("hft-cache-pr-7", ("hft-cache-pr-7",))
    for release in (replace(MAIN, event="release"), replace(MAIN, ref="refs/tags/v1")):
        assert caches_for(release) == ("", ())
    assert caches_for(replace(MAIN, on_github=False)) == ("", ())


def test_the_table() -> None:
    lines = table(PINS, FLAVORS, date(2026, 12, 2)).split("\n")
    assert [line.split()[0] for line in lines] == ["name", "gpu", "uv"]
    assert lines[1].endswith("2 d  7.40 GB  -       13.0  with a GPU (2)")
    assert lines[2].endswith("0 d  -        3.12    -     all (4)")
    assert "\n" not in lines[1]


def test_flavors_that_fit() -> None:
    assert flavors_for(PINS[0], FLAVORS) == ["t4-small", "a10g-largex4"]
    assert as_data(PINS, FLAVORS, date(2026, 12, 2))[0]["age-days"] == 2
    assert as_data(PINS, FLAVORS, date(2026, 12, 2))[1]["size"] is None

"""Indexes, manifests and configs, as registries give them and as hostile ones would."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.images.manifest import Manifest, ManifestError, choose, read_config

AMD, ARM, PROOF = (f"sha256:{digit * 64}" for digit in "abc")


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def row(digest: str, system: str, architecture: str) -> dict[str, Any]:
    return {"digest": digest, "size": 1, "platform": {"os": system, "architecture": architecture}}


INDEX = {"manifests": [row(ARM, "linux", "arm64"), row(AMD, "linux", "amd64"), row(PROOF, "unknown", "unknown")]}


def test_of_an_index_the_one_for_jobs_is_taken() -> None:
    assert choose(dump(INDEX)) == AMD


@pytest.mark.case(118)
def test_an_index_without_amd64_says_what_it_has() -> None:
    only_arm = {"manifests": [row(ARM, "linux", "arm64"), row(PROOF, "unknown", "unknown")]}
    with pytest.raises(ManifestError, match=r"nothing for linux/amd64, which Jobs run; it has linux/arm64$"):
        choose(dump(only_arm))


def test_a_manifest_gives_its_config_and_what_is_sent() -> None:
    layers = [{"digest": ARM, "size": 10}, {"digest": PROOF, "size": 5}]
    assert choose(dump({"config": {"digest": AMD}, "layers": layers})) == Manifest(
        config=AMD, size=15, layers=(ARM, PROOF)
    )


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"<html>", "no JSON object"),
        (b"[]", "no JSON object"),
        (b"[" * 100_000, "no JSON object"),
        (dump({"schemaVersion": 1, "fsLayers": []}), "schema 1"),
        (dump({"config": {"digest": AMD}}), "not an image"),
        (dump({"config": {"digest": "sha256:../../x"}, "layers": []}), "without a sha256 digest"),
        (dump({"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}}]}), "without a sha256 digest"),
        (dump({"manifests": ["x", {"platform": 3}]}), "nothing for linux/amd64"),
    ],
)
def test_what_is_no_image_says_so(document: bytes, why: str) -> None:
    with pytest.raises(ManifestError, match=why):
        choose(document)


@pytest.mark.case(118)
def test_a_config_for_another_platform_is_refused() -> None:
    with pytest.raises(ManifestError, match="is for linux/arm64, and Jobs run linux/amd64"):
        read_config(dump({"os": "linux", "architecture": "arm64"}))
    with pytest.raises(ManifestError, match=r"is for linux/a\?\?command, and Jobs"):
        read_config(dump({"os": "linux", "architecture": "a::command"}))


def test_a_config_says_what_is_in_the_image() -> None:
    config = read_config(
        dump(
            {
                "os": "linux",
                "architecture": "amd64",
                "created": "2026-11-30T10:11:12.123456789Z",
                "config": {
                    "Env": ["PYTHON_VERSION=3.12.11", "CUDA_VERSION=13.0.1", "NOTHING"],
                    "User": "trainer",
                    "Entrypoint": ["/nvidia"],
                    "Labels": {"a": 1},
                },
            }
        )
    )
    assert config.created == datetime(2026, 11, 30, 10, 11, 12, 123456, tzinfo=UTC)
    assert (config.python, config.cuda, config.user, config.entrypoint) == (
        "3.12.11",
        "13.0.1",
        "trainer",
        ("/nvidia",),
    )
    assert config.labels == {"a": "1"}


def test_a_config_that_says_little() -> None:
    bare = read_config(
        dump({"os": "linux", "architecture": "amd64", "created": "0001-01-01T00:00:00Z", "config": None})
    )
    assert (bare.created, bare.python, bare.cuda, bare.entrypoint) == (None, "", "", ())


NAMES = st.sampled_from(["manifests", "config", "layers", "platform", "digest", "os", "Env"])
PLAIN = st.none() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_no_document_breaks_the_reader(value: Any) -> None:
    for read in (choose, read_config):
        try:
            read(dump(value))
        except ManifestError:
            continue

"""What a Job spec may say."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.jobs.hardware import HARDWARE
from hf_train.local_hub.jobs.spec import answer, check_labels, checked

GOOD: dict[str, Any] = {"command": ["true"], "arguments": [], "environment": {}, "dockerImage": "i"}
BUCKET = {"type": "bucket", "source": "a/b", "mountPath": "/x"}


def test_the_smallest_one() -> None:
    spec = checked({"command": ["true"], "dockerImage": "i"})
    info = answer(spec)
    assert (info["flavor"], info["timeout"], info["attempts"], info["retry"], info["arch"]) == (
        "cpu-basic",
        1800,
        1,
        0,
        "amd64",
    )


def test_secrets_come_back_as_names() -> None:
    info = answer(checked({**GOOD, "secrets": {"B": "x", "A": "hf_local_value"}}))
    assert info["secrets"] == ["A", "B"]
    assert "hf_local_value" not in str(info)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"command": []}, "command: a non-empty list"),
        ({"command": "true"}, "command: a non-empty list"),
        ({"command": [1]}, "command: a list of strings"),
        ({"dockerImage": None}, "either dockerImage or spaceId"),
        ({"spaceId": "a/b"}, "either dockerImage or spaceId"),
        ({"flavor": "abacus"}, "flavor: invalid value 'abacus'"),
        ({"environment": {"A": 1}}, "environment: strings by name"),
        ({"environment": {"A=B": "x"}}, "a name is empty or has '='"),
        ({"secrets": {"A": "x\0"}}, "a NUL stands somewhere"),
        ({"timeoutSeconds": 0}, "timeoutSeconds: a number greater than 0"),
        ({"timeoutSeconds": -5}, "timeoutSeconds: a number greater than 0"),
        ({"timeoutSeconds": True}, "timeoutSeconds: a number greater than 0"),
        ({"attempts": 0}, "attempts: a number from 1 to 100"),
        ({"labels": {"a b": "c"}}, "labels: 'a b'"),
        ({"labels": {"a": "ü"}}, "labels: 'a'"),
        ({"labels": {"a": "x" * 101}}, "labels: 'a'"),
        ({"volumes": [{"type": "bucket"}]}, "type, source and mountPath"),
        ({"volumes": [{**BUCKET, "type": "disk"}]}, "type, source and mountPath"),
        ({"volumes": [{**BUCKET, "source": "a/b/c"}]}, "is not NAMESPACE/NAME"),
        ({"volumes": [BUCKET, {**BUCKET, "mountPath": "/x/"}]}, "/x is mounted twice"),
        ({"volumes": [{**BUCKET, "mountPath": "x"}]}, "bad path 'x'"),
        ({"volumes": [{**BUCKET, "mountPath": "/"}]}, "bad path '/'"),
        ({"volumes": [{**BUCKET, "mountPath": "//"}]}, "bad path '//'"),
        ({"volumes": [{**BUCKET, "mountPath": "/x/../etc"}]}, "bad path"),
        ({"volumes": [{**BUCKET, "mountPath": "/proc/x"}]}, "a folder of the system"),
        ({"network": {"group": "Not This"}}, "network.group"),
        ({"network": {"group": "g", "aliases": ["A"]}}, "network.aliases"),
        ({"network": {"group": "g" * 47}}, "network.group"),
        ({"network": {"group": "g", "aliases": ["a" * 35]}}, "network.aliases"),
        ({"network": {"group": "g", "aliases": ["a", "a"]}}, "one stands there twice"),
        ({"network": {"aliases": ["a"]}}, "network.group"),
        ({"expose": {"ports": [0]}}, "expose.ports"),
        ({"expose": {"ports": [80], "portsPublic": [81]}}, "not among expose.ports"),
    ],
)
def test_bad_ones(change: dict[str, Any], words: str) -> None:
    with pytest.raises(HubError) as caught:
        checked({**GOOD, **change})
    assert caught.value.status == 400
    assert words in caught.value.message


def test_mount_paths_are_made_plain() -> None:
    spec = checked({**GOOD, "volumes": [{**BUCKET, "mountPath": "/a//b/./c/"}]})
    assert spec["volumes"][0]["mountPath"] == "/a/b/c"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(["command", "arguments", "environment", "secrets", "labels", "volumes", "network", "expose"]), JSON
)
def test_any_json_is_a_spec_or_a_400(key: str, value: object) -> None:
    with contextlib.suppress(HubError):
        answer(checked({**GOOD, key: value}))


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9._-]{1,100}", fullmatch=True), st.just("v"), max_size=3))
def test_good_labels(labels: dict[str, str]) -> None:
    assert check_labels(labels) == labels


def test_prices() -> None:
    """hub-docs jobs-pricing.md; `unitCostUSD` is a minute."""
    one = HARDWARE["a10g-small"].as_json()
    assert (one["unitCostMicroUSD"], one["unitCostUSD"], one["unitLabel"]) == (16667, 0.016667, "minute")
    assert one["accelerator"]["vram"] == "24 GB"
    assert HARDWARE["cpu-basic"].as_json()["accelerator"] is None
    assert len(HARDWARE) == 26

"""The registry adapter against a real docker-registry, and against one with bad days."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hf_train.images.model import Login
from hf_train.images.problems import BadImage, ImageRefused, NoSuchImage, RegistryNotReached
from hf_train.images.reference import parse_reference
from hf_train.registry import OciRegistry
from hf_train.values import Secret
from support import registry as registries
from support.registry import Registry, Seen, StubRegistry, sha256

OURS = OciRegistry(loopback=True)
CONFIG = json.dumps({"os": "linux", "architecture": "amd64", "config": {}}).encode()
MANIFEST = json.dumps({"config": {"digest": sha256(CONFIG)}, "layers": [{"digest": sha256(b""), "size": 7}]}).encode()


@pytest.fixture
def stub() -> Iterator[StubRegistry]:
    with registries.stub() as one:
        one.always("/v2/x/manifests/t", 200, MANIFEST)
        one.always(f"/v2/x/blobs/{sha256(CONFIG)}", 200, CONFIG)
        yield one


@pytest.mark.case(45)
def test_a_tag_becomes_the_digest_that_it_has_now(registry: Registry) -> None:
    first = registry.image("team/train", "v1", env=("PYTHON_VERSION=3.12.1", "CUDA_VERSION=13.0.1"))
    reference = parse_reference(f"{registry.host}/team/train:v1")
    found = OURS.look(reference)
    assert found is not None
    assert found.digest == first
    assert found.pinned == f"{registry.host}/team/train@{first}"
    assert (found.python, found.cuda, found.layers) == ("3.12.1", "13.0.1", 1)
    assert found.created == datetime(2026, 11, 30, 10, 11, 12, tzinfo=UTC)
    assert found.size > 0
    moved = registry.image("team/train", "v1", env=("PYTHON_VERSION=3.13.0",))
    again = OURS.look(reference)
    assert again is not None
    assert again.digest == moved != first
    pinned = OURS.look(parse_reference(f"{registry.host}/team/train@{first}"))
    assert pinned is not None
    assert pinned.python == "3.12.1"


@pytest.mark.case(118)
def test_an_index_is_pinned_as_a_whole_and_checked_for_our_platform(registry: Registry) -> None:
    digest = registry.index("team/both", "v1", ("arm64", "amd64"))
    found = OURS.look(parse_reference(f"{registry.host}/team/both:v1"))
    assert found is not None
    assert found.digest == digest
    registry.index("team/arm", "v1", ("arm64",))
    with pytest.raises(BadImage, match="nothing for linux/amd64, which Jobs run; it has linux/arm64"):
        OURS.look(parse_reference(f"{registry.host}/team/arm:v1"))
    registry.image("team/arm-only", "v1", architecture="arm64")
    with pytest.raises(BadImage, match="is for linux/arm64, and Jobs run linux/amd64"):
        OURS.look(parse_reference(f"{registry.host}/team/arm-only:v1"))


@pytest.mark.case(119)
def test_a_tag_or_repository_that_is_not_there(registry: Registry) -> None:
    for name in ("team/train:no-such-tag", "no/such/repository:v1"):
        with pytest.raises(NoSuchImage) as caught:
            OURS.look(parse_reference(f"{registry.host}/{name}"))
        assert caught.value.exit_code == 2
        assert name in caught.value.message


@pytest.mark.case(119)
def test_a_private_image_is_not_seen_without_a_password(stub: StubRegistry) -> None:
    def token(seen: Seen) -> tuple[int, dict[str, str], bytes]:
        known = seen.headers.get("authorization") == "Basic " + base64.b64encode(b"mona:ghs_local").decode()
        return (200, {}, b'{"token": "t0k"}') if known else (401, {}, b"")

    def manifest(seen: Seen) -> tuple[int, dict[str, str], bytes]:
        if seen.headers.get("authorization") == "Bearer t0k":
            return 200, {}, MANIFEST
        return 401, {"WWW-Authenticate": f'Bearer realm="http://{stub.host}/token",service="reg"'}, b""

    stub.answers["/token"] = token
    stub.answers["/v2/x/manifests/t"] = manifest
    reference = parse_reference(f"{stub.host}/x:t")
    with pytest.raises(ImageRefused) as caught:
        OURS.look(reference)
    assert caught.value.exit_code == 3
    assert "without a password (401)" in caught.value.message
    assert "Jobs pull without credentials" in caught.value.hint
    assert OURS.look(reference, Login(host=stub.host, user="mona", password=Secret("ghs_local"))) is not None
    asked = [one for one in stub.seen if one.path.startswith("/token")]
    assert all("service=reg" in one.path and "scope=repository%3Ax%3Apull" in one.path for one in asked)
    foreign = Login(host="ghcr.io", user="mona", password=Secret("ghs_local"))
    stub.seen.clear()
    with pytest.raises(ImageRefused):
        OURS.look(reference, foreign)
    assert not [one for one in stub.seen if "authorization" in one.headers], "another registry's password"


@pytest.mark.case(119)
def test_a_registry_that_has_had_enough_of_us(stub: StubRegistry) -> None:
    stub.always("/v2/x/manifests/t", 429, Retry_After="3600")
    with pytest.raises(ImageRefused) as caught:
        OURS.look(parse_reference(f"{stub.host}/x:t"))
    assert caught.value.exit_code == 3
    assert "429 (too many requests)" in caught.value.message
    assert "Retry-After: 3600 s" in caught.value.message
    assert len(stub.seen) == 1, "an hour is not waited for"


def test_a_moment_is_waited_for(stub: StubRegistry) -> None:
    left = [429, 503]

    def manifest(_: Seen) -> tuple[int, dict[str, str], bytes]:
        return (left.pop(0), {"Retry-After": "0"}, b"") if left else (200, {}, MANIFEST)

    stub.answers["/v2/x/manifests/t"] = manifest
    assert OURS.look(parse_reference(f"{stub.host}/x:t")) is not None


def test_a_registry_that_is_down_is_not_reached(stub: StubRegistry) -> None:
    stub.always("/v2/x/manifests/t", 500)
    with pytest.raises(RegistryNotReached, match="answered 500"):
        OURS.look(parse_reference(f"{stub.host}/x:t"))
    with pytest.raises(RegistryNotReached, match="ConnectError"):
        OURS.look(parse_reference("127.0.0.1:9/x:t"))


@pytest.mark.parametrize("path", ["/v2/x/manifests/t", f"/v2/x/blobs/{sha256(CONFIG)}"])
def test_an_answer_without_end_is_cut(stub: StubRegistry, path: str) -> None:
    stub.always(path, 200, b" " * (9 << 20))
    with pytest.raises(BadImage, match="MiB"):
        OURS.look(parse_reference(f"{stub.host}/x:t"))


def test_what_is_given_must_be_what_the_digest_says(stub: StubRegistry) -> None:
    wanted = sha256(b"other")
    stub.always(f"/v2/x/manifests/{wanted}", 200, MANIFEST)
    with pytest.raises(BadImage, match="another hash"):
        OURS.look(parse_reference(f"{stub.host}/x@{wanted}"))
    stub.always(f"/v2/x/blobs/{sha256(CONFIG)}", 200, CONFIG + b" ")
    with pytest.raises(BadImage, match="another hash"):
        OURS.look(parse_reference(f"{stub.host}/x:t"))


def test_redirects_are_followed_and_see_no_token(stub: StubRegistry) -> None:
    with registries.stub() as store:
        store.always("/blob", 200, CONFIG)
        stub.always(f"/v2/x/blobs/{sha256(CONFIG)}", 307, Location=f"http://{store.host}/blob")
        challenge = f'Bearer realm="http://{stub.host}/token"'
        stub.always("/token", 200, b'{"token": "t0k"}')

        def manifest(seen: Seen) -> tuple[int, dict[str, str], bytes]:
            return (
                (200, {}, MANIFEST) if "authorization" in seen.headers else (401, {"WWW-Authenticate": challenge}, b"")
            )

        stub.answers["/v2/x/manifests/t"] = manifest
        assert OURS.look(parse_reference(f"{stub.host}/x:t")) is not None
        assert ["authorization" in one.headers for one in store.seen] == [False]
    stub.always(f"/v2/x/blobs/{sha256(CONFIG)}", 307, Location="/v2/x/blobs/again*")
    stub.always("/v2/x/blobs/again*", 307, Location="/v2/x/blobs/again*")
    with pytest.raises(RegistryNotReached, match="circle"):
        OURS.look(parse_reference(f"{stub.host}/x:t"))


@pytest.mark.parametrize(
    "place", ["http://192.0.2.1/blob", "https://10.1.2.3/blob", "https://169.254.169.254/latest", "file:///etc/passwd"]
)
def test_no_other_address_is_asked(stub: StubRegistry, place: str) -> None:
    stub.always(f"/v2/x/blobs/{sha256(CONFIG)}", 307, Location=place)
    with pytest.raises(BadImage, match="leads to"):
        OURS.look(parse_reference(f"{stub.host}/x:t"))


def test_a_registry_of_this_machine_is_for_a_hub_of_this_machine(stub: StubRegistry) -> None:
    with pytest.raises(BadImage, match="is on this machine, where no Job can reach it"):
        OciRegistry(loopback=False).look(parse_reference(f"{stub.host}/x:t"))
    with pytest.raises(BadImage, match="a private address"):
        OciRegistry(loopback=False).look(parse_reference("10.0.0.1/x:t"))
    assert stub.seen == []
    assert OciRegistry(loopback=True, elsewhere=False).look(parse_reference("python:3.12")) is None

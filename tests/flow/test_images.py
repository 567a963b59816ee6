"""Which image a Job gets: known names, tags, digests, Dockerfiles; and what is refused before there is a Job."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, report_json, request
from hf_train.console import PlainConsole
from hf_train.context import Context
from hf_train.errors import BadInput, UserError
from hf_train.flow import pipeline
from hf_train.flow.prepare import Request, prepare
from hf_train.images.problems import BadImage, BuildFailed, ImageRefused, RegistryNotReached
from hf_train.report import Report
from hf_train.text.redact import Redactor
from hf_train.values import Secret
from support.fake_images import FakeImages, build_failed, digest
from support.fakes import World

RELEASE = replace(ON_GITHUB, event="release", ref="refs/tags/v1", pull=None)
DOCKERFILE = "FROM debian:12\nCOPY src /src\n"
BASE, NEXT = digest("debian"), digest("debian of next week")


@pytest.fixture
def images() -> FakeImages:
    fake = FakeImages()
    fake.registry.images = {
        "python:3.12": digest("python"),
        "ghcr.io/a/b:1": digest("ab"),
        "x": digest("trl"),
        "debian:12": BASE,
    }
    fake.context.texts = {"Dockerfile": DOCKERFILE, "src/a.py": "a", "README.md": "r"}
    return fake


def go(world: World, images: FakeImages, asked: Request) -> Report:
    return pipeline.run(asked, replace(world.ports, images=images.ports))


def refused(world: World, images: FakeImages, asked: Request, kind: type[UserError]) -> UserError:
    with pytest.raises(kind) as caught:
        go(world, images, asked)
    assert world.hub.submitted == [], "no Job"
    return caught.value


@pytest.mark.case(45)
def test_a_tag_becomes_a_digest_in_spec_plan_label_output_and_report(world: World, images: FakeImages) -> None:
    go(world, images, request(image="ghcr.io/a/b:1"))
    ((spec, _),) = world.hub.submitted
    image = f"ghcr.io/a/b@{digest('ab')}"
    assert spec.image == image
    assert spec.labels["hft-image"] == digest("ab").replace(":", "-")
    assert world.files.output_values["image"] == image
    assert report_json(world)["image"] == image
    assert f"image        ghcr.io/a/b:1 = {image}" in world.console.said
    (note,) = [text for _, _, text in world.console.annotations if "image:" in text]
    assert "is a tag, which can be moved" in note
    assert note.endswith(f"image: {image}")


def test_a_digest_is_taken_as_it_is(world: World, images: FakeImages) -> None:
    image = f"ghcr.io/a/b@{digest('ab')}"
    go(world, images, request(image=image))
    assert world.hub.submitted[0][0].image == image
    assert not [text for _, _, text in world.console.annotations if "image:" in text]


def test_a_known_name_is_its_pin(world: World, images: FakeImages) -> None:
    go(world, images, request(image="trl"))
    assert world.hub.submitted[0][0].image == f"huggingface/trl@{digest('trl')}"


def test_a_space_is_left_to_the_hub(world: World, images: FakeImages) -> None:
    go(world, images, request(image="hf.co/spaces/a/b"))
    assert world.hub.submitted[0][0].image == "hf.co/spaces/a/b"
    assert images.registry.asked == []


def test_nothing_named_is_looked_up_and_not_talked_about(world: World, images: FakeImages) -> None:
    go(world, images, request())
    assert world.hub.submitted[0][0].image == f"python@{digest('python')}"
    assert not [text for _, _, text in world.console.annotations if "image:" in text]


@pytest.mark.case(45)
@pytest.mark.parametrize("context", [RELEASE, replace(RELEASE, event="push")])
def test_a_release_runs_on_a_digest_only(world: World, images: FakeImages, context: Context) -> None:
    error = refused(world, images, request(context, image="ghcr.io/a/b:1"), BadImage)
    assert error.title == "Floating tag in a release"
    assert f"image: ghcr.io/a/b@{digest('ab')}" in error.hint
    for image in ("trl", f"ghcr.io/a/b@{digest('ab')}"):
        go(World(), images, request(context, image=image))


def test_a_release_of_a_tag_that_cannot_be_looked_up_is_refused_too(world: World, images: FakeImages) -> None:
    images.registry.images["ghcr.io/a/b:1"] = RegistryNotReached("ghcr.io: ConnectError")
    assert refused(world, images, request(RELEASE, image="ghcr.io/a/b:1"), BadImage).exit_code == 2


def test_a_registry_that_cannot_be_reached_is_a_note(world: World, images: FakeImages) -> None:
    images.registry.images["ghcr.io/a/b:1"] = RegistryNotReached("ghcr.io: ConnectError")
    go(world, images, request(image="ghcr.io/a/b:1"))
    assert world.hub.submitted[0][0].image == "ghcr.io/a/b:1"
    (note,) = [text for _, _, text in world.console.annotations if "image:" in text]
    assert "could not be looked up (ghcr.io: ConnectError)" in note
    assert "is not known. Its tag is not pinned" in note


@pytest.mark.case(118, 119)
@pytest.mark.parametrize("problem", [BadImage("Wrong image", "is for linux/arm64", ""), ImageRefused("X", "429", "")])
def test_an_image_that_no_job_could_run_is_refused(world: World, images: FakeImages, problem: UserError) -> None:
    images.registry.images["ghcr.io/a/b:1"] = problem
    assert refused(world, images, request(image="ghcr.io/a/b:1"), type(problem)).exit_code in (2, 3)


def test_a_busy_registry_does_not_stop_what_nobody_named_or_what_is_named_by_digest(
    world: World, images: FakeImages
) -> None:
    images.registry.images["python:3.12"] = ImageRefused("Registry limit", "429.", "")
    go(world, images, request())
    assert world.hub.submitted[0][0].image == "python:3.12"
    image = f"ghcr.io/a/b@{digest('other')}"
    images.registry.images[image] = ImageRefused("Registry limit", "429.", "")
    go(other := World(), images, request(image=image))
    assert other.hub.submitted[0][0].image == image


def test_with_an_embedded_hub_nobody_is_asked(world: World, images: FakeImages) -> None:
    images.registry.asks = False
    go(world, images, request(image="ghcr.io/a/b:1"))
    assert world.hub.submitted[0][0].image == "ghcr.io/a/b:1"
    assert world.hub.submitted[0][0].labels.get("hft-image") is None


# ---- built ----


def build(**flags: Any) -> Request:
    return request(dockerfile="Dockerfile", build_repository="ghcr.io/octo/train", **flags)


def test_it_is_built_pushed_and_pinned_once(world: World, images: FakeImages) -> None:
    go(world, images, build())
    ((recipe, target, login, _, order),) = images.builder.built
    assert world.hub.submitted[0][0].image == f"ghcr.io/octo/train@{digest(recipe.hash)}"
    assert target.tag == recipe.tag == f"hft-{recipe.hash[:32]}"
    assert recipe.text.startswith(f"FROM debian@{BASE}\n")
    assert [file.path for file in recipe.files] == ["src/a.py"]
    assert login is None
    assert order.labels["org.opencontainers.image.source"] == "https://github.com/octo/proj"
    assert order.labels["org.opencontainers.image.revision"] == "b" * 40
    assert (order.cache_to, order.cache_from) == ("hft-cache-pr-7", ("hft-cache-pr-7",))
    assert "Step 1/2" in world.console.remote_lines, "through the printer of untrusted text"
    go(again := World(), images, build())
    assert len(images.builder.built) == 1, "nothing has changed"
    assert again.hub.submitted[0][0].image == world.hub.submitted[0][0].image
    assert again.hub.submitted[0][0].labels["hft-key"] == world.hub.submitted[0][0].labels["hft-key"]


@pytest.mark.parametrize(
    ("texts", "base", "built"),
    [
        ({"README.md": "changed"}, BASE, 1),
        ({".dockerignore": "src/a.txt", "src/a.txt": "ignored"}, BASE, 1),
        ({"src/a.py": "changed"}, BASE, 2),
        ({"src/b.py": "new"}, BASE, 2),
        ({"Dockerfile": DOCKERFILE + "RUN x\n"}, BASE, 2),
        ({}, NEXT, 2),
    ],
)
@pytest.mark.case(45)
def test_what_makes_it_built_again(
    world: World, images: FakeImages, texts: dict[str, str], base: str, built: int
) -> None:
    go(world, images, build())
    images.context.texts |= texts
    images.registry.images["debian:12"] = base
    go(World(), images, build())
    assert len(images.builder.built) == built


@pytest.mark.case(116)
def test_a_build_that_fails_shows_forty_lines_and_starts_no_job(world: World, images: FakeImages) -> None:
    images.builder.fails = build_failed(100)
    error = refused(world, images, build(), BuildFailed)
    assert error.exit_code == 2
    assert world.console.remote_lines[-40:] == [f"line {number}" for number in range(61, 101)]
    assert "line 60" not in world.console.remote_lines


@pytest.mark.case(1)
def test_a_secret_that_a_build_breaks_over_lines_is_not_shown(world: World, images: FakeImages) -> None:
    secret, out = "correct-horse-battery-staple-42", io.StringIO()
    pieces = (f"token: {secret[:16]}", secret[16:])
    images.builder.lines = pieces
    images.builder.fails = BuildFailed("Build failed", "docker ended with 1.", "", ["x"] * 50 + [*pieces] + ["y"] * 39)
    ports = replace(world.ports, images=images.ports, console=PlainConsole(Redactor([secret]), out))
    with pytest.raises(BuildFailed):
        pipeline.run(build(), ports)
    assert "token:" in out.getvalue()
    assert secret[:16] not in out.getvalue()
    assert secret[16:] not in out.getvalue()


def test_a_plan_builds_nothing(world: World, images: FakeImages) -> None:
    plan = prepare(build(), replace(world.ports, images=images.ports)).plan
    assert images.builder.built == []
    assert any("is built and pushed as ghcr.io/octo/train:hft-" in note for note in plan.notes)


@pytest.mark.case(119)
def test_an_image_that_was_pushed_and_jobs_cannot_see(world: World, images: FakeImages) -> None:
    go(World(), images, build())
    target = str(images.builder.built[0][1])
    images.registry.private.add(target)
    refused(world, images, build(), ImageRefused)
    del images.registry.images[target]
    with pytest.raises(ImageRefused):
        go(world, images, replace_token(build(), "ghs_local1"))
    assert len(images.builder.built) == 2, "it was built, pushed, and then looked at as a Job would"
    assert world.hub.submitted == []


def replace_token(asked: Request, token: str) -> Request:
    return replace(asked, inputs=replace(asked.inputs, build_token=Secret(token), build_user="mona"))


def test_who_pushes(world: World, images: FakeImages) -> None:
    asked = replace(build(build_secrets="NPM"), environ={"NPM": "value"})
    go(world, images, replace_token(asked, "ghs_local1"))
    ((recipe, _, login, secrets, _),) = images.builder.built
    assert login is not None
    assert (login.host, login.user, login.password.reveal()) == ("ghcr.io", "mona", "ghs_local1")
    assert secrets == {"NPM": "value"}
    assert recipe.secrets == ("NPM",)
    assert "value" not in repr(recipe)


@pytest.mark.case(46, 117)
@pytest.mark.parametrize(
    ("flags", "texts", "why"),
    [
        ({"dockerfile": "../Dockerfile"}, {}, "there is no file '../Dockerfile' in the repository"),
        ({"build_args": f"X=hf_{'a' * 34}"}, {}, "X looks like a secret"),
        ({}, {"Dockerfile": f"FROM debian:12\nENV X=hf_{'a' * 34}"}, "holds what looks like a token"),
        ({}, {"Dockerfile": "RUN x"}, "line 1: RUN stands before the first FROM"),
        ({}, {"Dockerfile": "FROM Debian"}, "names are lower case"),
        ({"build_target": "nope"}, {}, "has no stage 'nope'"),
        ({"build_secrets": "NPM"}, {}, "NPM is not set in this step's environment"),
        ({"build_repository": "ghcr.io/a/b:tag"}, {}, "has a tag or a digest"),
    ],
)
def test_what_is_refused_before_anything_is_built(
    world: World, images: FakeImages, flags: dict[str, Any], texts: dict[str, str], why: str
) -> None:
    images.context.texts |= texts
    given = {"dockerfile": "Dockerfile", "build_repository": "ghcr.io/octo/train", **flags}
    assert why in refused(world, images, request(**given), BadInput).message
    assert images.builder.built == []


def test_a_base_that_only_the_engine_has_counts_by_its_id(world: World, images: FakeImages) -> None:
    images.registry.images["debian:12"] = RegistryNotReached("no route")
    assert refused(world, images, build(), BadImage).title == "Base image not known"
    images.builder.held["debian:12"] = digest("one")
    go(World(), images, build())
    images.builder.held["debian:12"] = digest("two")
    go(World(), images, build())
    assert len(images.builder.built) == 2
    assert images.builder.built[0][0].text.startswith("FROM debian:12\n")


@pytest.mark.case(47)
def test_a_release_is_built_without_any_cache(world: World, images: FakeImages) -> None:
    go(world, images, request(RELEASE, dockerfile="Dockerfile", build_repository="ghcr.io/octo/train"))
    order = images.builder.built[0][4]
    assert (order.cache_to, order.cache_from) == ("", ())


# ---- built by a Space ----


def in_space(**flags: Any) -> Request:
    return request(dockerfile="Dockerfile", build_repository="hf.co/spaces/alice/train", **flags)


def test_a_space_builds_it_once(world: World, images: FakeImages) -> None:
    go(world, images, in_space())
    assert world.hub.submitted[0][0].image == "hf.co/spaces/alice/train"
    assert world.console.remote_lines[:1] == ["building"]
    assert images.builder.built == []
    go(again := World(), images, in_space())
    assert "building" not in again.console.remote_lines
    images.context.texts["src/a.py"] = "changed"
    go(third := World(), images, in_space())
    assert "building" in third.console.remote_lines


@pytest.mark.case(116)
def test_a_space_that_does_not_build_it(world: World, images: FakeImages) -> None:
    images.spaces.fails = build_failed(50)
    refused(world, images, in_space(), BuildFailed)
    assert world.console.remote_lines[-1] == "line 50"
    assert world.console.remote_lines.count("line 11") == 1


def test_a_space_takes_no_arguments(world: World, images: FakeImages) -> None:
    error = refused(world, images, in_space(build_args="A=1", build_target="x"), BadInput)
    assert "build-target: a Space builds without it" in error.message
    assert "build-args: a Space builds without it" in error.message

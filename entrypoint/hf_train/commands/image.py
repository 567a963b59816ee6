"""`hf-train image`: the images that Jobs run in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.commands.around import signals
from hf_train.engine import verify as try_image
from hf_train.errors import BadInput, ExitCode, RefusedByHub, TransientHubError, UserError
from hf_train.flow.imaging import Wanted, build_image, choose_image
from hf_train.hub import HuggingFaceHub
from hf_train.images.checks import Wish
from hf_train.images.listing import as_data, table
from hf_train.images.model import Image
from hf_train.images.pins import NAME, Pin, read_pins, write_pins
from hf_train.images.problems import RegistryNotReached
from hf_train.images.reference import Reference, parse_reference
from hf_train.inputs import Inputs
from hf_train.registry import OciRegistry
from hf_train.text.redact import Redactor
from hf_train.values import Flavor, Secret
from hf_train.wiring import Flags

LIBRARIES = frozenset({"transformers", "trl", "axolotl", "unsloth", "diffusers"})
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print it.")]


def pin(
    images: Annotated[
        list[str] | None,
        typer.Argument(metavar="[IMAGE | NAME=IMAGE]...", help="An image to look up; NAME= puts it into the file."),
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Look every name of the file up again.")] = False,
    file: Annotated[str | None, typer.Option(help="The file; by default hf-train's own pins.toml.")] = None,
) -> int:
    """Print images by digest, and keep the file of known names up to date."""
    if not images and not update:
        raise BadInput(["IMAGE: name an image, or give --update"])
    place = Path(file) if file else wiring.pins_file()
    known = {one.name: one for one in _read(place)} if place and place.is_file() else {}
    renewed = {one.name: parse_reference(one.reference) for one in known.values()} if update else {}
    for text in images or ():
        name, equals, target = text.partition("=")
        if equals:
            renewed[_name(name)] = _reference(target)
        else:
            print(_look(parse_reference(known[name].image) if name in known else _reference(text)).pinned)
    if not renewed:
        return 0
    if place is None:
        raise BadInput(["--file: there is no pins.toml; name the file to write"])
    return _renew(renewed, known, place)


def _renew(renewed: Mapping[str, Reference], known: Mapping[str, Pin], place: Path) -> int:
    """Look names up and write the file; one that cannot be looked up stays as it is."""
    console = wiring.console_of(Redactor(()), os.environ)
    pins, failed = dict(known), 0
    for name, reference in renewed.items():
        try:
            found = _look(reference)
        except UserError as error:
            console.error(f"{name}: {error.title}", error.message)
            failed += 1
            continue
        before, pins[name] = known.get(name), _pin(name, reference, found, known.get(name))
        print(f"{name} {pins[name].image}{' (as before)' if before and before.digest == found.digest else ''}")
    place.write_text(write_pins([pins[name] for name in sorted(pins)]), encoding="utf-8")
    return int(ExitCode.REFUSED if failed else ExitCode.OK)


def list_images(output_format: Format = "text") -> int:
    """Show the names that `image:` knows."""
    pins, today = wiring.known_images(), SystemClock().now().date()
    flavors = _flavors(os.environ)
    if output_format == "json":
        print(json.dumps(as_data(pins, flavors, today), indent=2))
    else:
        print(table(pins, flavors, today))
    return 0


def build(
    dockerfile: Annotated[str, typer.Option(help="The Dockerfile.")],
    build_context: Annotated[str | None, typer.Option(metavar="DIR")] = None,
    build_target: Annotated[str | None, typer.Option(metavar="STAGE")] = None,
    build_args: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    build_secrets: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None,
    build_repository: Annotated[str | None, typer.Option(metavar="IMAGE")] = None,
    build_user: Annotated[str | None, typer.Option(metavar="NAME")] = None,
) -> int:
    """Build a Dockerfile and push it, unless what is built has not changed; prints the image by digest."""
    given: dict[str, str | list[str] | None] = {
        "dockerfile": dockerfile,
        "build-context": build_context,
        "build-target": build_target,
        "build-args": build_args,
        "build-secrets": build_secrets,
        "build-repository": build_repository,
        "build-user": build_user,
    }
    flags: Flags = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if v}
    environ = os.environ
    context = wiring.context_of(environ)
    inputs = _inputs(flags, environ)
    missing = [name for name in inputs.build_secrets if not environ.get(name)]
    if missing:
        raise BadInput([f"build-secrets: {name} is not set in this step's environment" for name in missing])
    secrets = {name: Secret(environ[name]) for name in inputs.build_secrets}
    known = [one.reveal() for one in (*secrets.values(), inputs.build_token, inputs.github_token) if one]
    known += wiring.environment_secrets(environ)
    console = wiring.console_of(Redactor(known), environ)
    endpoint = environ.get("HF_ENDPOINT") or wiring.HUB
    with ExitStack() as stack, signals():
        images = wiring.images_of(stack, context, endpoint, wiring.given_token(environ), known)
        wanted = Wanted(inputs=inputs, context=context)
        chosen = choose_image(wanted, images)
        for note in chosen.notes:
            console.info(note)
        print(build_image(chosen, wanted, images, console, secrets).image)
    return 0


def _inputs(flags: Flags, environ: Mapping[str, str]) -> Inputs:
    """The inputs of a build; what a run would need beside them is not asked for."""
    layer = {name: value for name, value in environ.items() if name.startswith("HF_TRAIN_BUILD_")}
    tokens = {name: environ[name] for name in ("HF_TRAIN_GITHUB_TOKEN",) if environ.get(name)}
    inputs, problems = wiring.inputs_of(
        flags, {**layer, **tokens}, replace(wiring.context_of(environ), workspace=os.devnull), ("true",)
    )
    if problems:
        raise BadInput(problems)
    return inputs


def _read(place: Path) -> tuple[Pin, ...]:
    try:
        return read_pins(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput([f"{place}: {error}"]) from error


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise BadInput([f"{text!r} is not a name for an image (lower case letters, digits, `-`)"])
    return text


def _reference(text: str) -> Reference:
    try:
        return parse_reference(text)
    except ValueError as error:
        raise BadInput([str(error)]) from error


def _look(reference: Reference) -> Image:
    try:
        found = OciRegistry(loopback=True).look(reference)
    except RegistryNotReached as error:
        raise RefusedByHub("Registry not reached", f"{error}: {reference} is not known.", "Try again later.") from error
    if found is None:
        raise AssertionError("every registry is asked")
    return found


def _pin(name: str, reference: Reference, found: Image, before: Pin | None) -> Pin:
    """The new pin; what the image does not say of itself is kept from the one before."""
    same = before is not None and before.digest == found.digest
    return Pin(
        name=name,
        reference=str(replace(reference, digest="")),
        digest=found.digest,
        date=before.date if before is not None and same else datetime.now(UTC).date(),
        size=found.size,
        python=found.python or (before.python if before else ""),
        cuda=found.cuda or (before.cuda if before else ""),
    )


def _flavors(environ: Mapping[str, str]) -> tuple[Flavor, ...]:
    """The Hub's hardware list; none when it cannot be asked."""
    try:
        return tuple(HuggingFaceHub(environ.get("HF_ENDPOINT") or wiring.HUB, None).hardware())
    except (TransientHubError, RefusedByHub):
        return ()


def verify(
    image: Annotated[str, typer.Argument(help="An image, or a known name.")],
    library: Annotated[str | None, typer.Option(help="A library that must be importable.")] = None,
    multi_gpu: Annotated[bool, typer.Option("--multi-gpu", help="Ask for accelerate or torchrun.")] = False,
    uv: Annotated[bool, typer.Option("--uv", help="Ask for uv, which runs scripts.")] = False,
    smoke: Annotated[str | None, typer.Option(metavar="PATH", help="A Python file that must work in it.")] = None,
) -> int:
    """Run an image in the engine of this machine and see whether a training could start in it."""
    console = wiring.console_of(Redactor(wiring.environment_secrets(os.environ)), os.environ)
    known = {one.name: one for one in wiring.known_images()}
    wish = Wish(library=library or (image if image in LIBRARIES else ""), multi_gpu=multi_gpu, uv=uv or image == "uv")
    test = Path(smoke) if smoke else _smoke_of(image)
    if test is not None and not test.is_file():
        raise BadInput([f"--smoke: there is no file {smoke!r}"])
    name = known[image].image if image in known else str(_reference(image))
    with signals(), console.group(f"Try {name}"), console.untrusted():
        checks = try_image(name, wish, test, console.remote)
    for one in checks:
        sign = "✓" if one.ok else "✗" if one.required else "!"
        console.info(f"{sign} {one.name}{f': {one.detail}' if one.detail else ''}")
    failed = [one for one in checks if not one.ok and one.required]
    if failed:
        console.error("Image not fit", f"{name}: {', '.join(one.name for one in failed)}")
    return int(ExitCode.BAD_INPUT if failed else ExitCode.OK)


def _smoke_of(name: str) -> Path | None:
    """`images/NAME/smoke.py` of a checkout of ours."""
    place = wiring.pins_file()
    found = place.parent / name / "smoke.py" if place and NAME.fullmatch(name) else None
    return found if found and found.is_file() else None

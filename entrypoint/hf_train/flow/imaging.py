"""Which image the Job gets: a known name, a tag that becomes a digest, or one that is built first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hf_train.context import Context
from hf_train.errors import BadInput, LostSight, TransientHubError
from hf_train.images.content import Recipe, content_hash, secret_args, secret_text, seen
from hf_train.images.dockerfile import Base, pin_bases, read_dockerfile
from hf_train.images.ignore import ignorer, read_ignore
from hf_train.images.model import Chosen, Image, Login
from hf_train.images.ports import Images, Order
from hf_train.images.problems import BadImage, BuildFailed, ImageRefused, NoSuchImage, RegistryNotReached
from hf_train.images.reference import Reference, parse_reference, space_of
from hf_train.images.release import GHCR, caches_for, is_release, labels_for, repository_for
from hf_train.inputs import Inputs
from hf_train.ports import Console
from hf_train.values import Secret

LAST_LINES = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is asked for, and by whom.

    Attributes:
        inputs: The inputs.
        context: Where the run stands.
        default: The image when none is named.
    """

    inputs: Inputs
    context: Context
    default: str = ""


def choose_image(wanted: Wanted, images: Images) -> Chosen:
    """The image, looked up; nothing is built and nothing is sent.

    Raises:
        BadInput: The Dockerfile or a reference is not right.
        BadImage: It cannot be what the Job runs in.
        ImageRefused: Its registry does not give it to Jobs.
    """
    if wanted.inputs.dockerfile:
        return _to_build(wanted, images)
    asked = wanted.inputs.image or wanted.default
    if space_of(asked):
        return Chosen(asked=asked, image=asked)
    pin = next((one for one in images.pins if one.name == asked), None)
    reference = _reference("image", pin.image if pin else asked)
    found, note = _look(reference, images, strict=wanted.inputs.image is not None)
    if pin and not note:
        note = f"image: {asked} is {pin.reference} of {pin.date.isoformat()}, {pin.digest}."
    elif wanted.inputs.image and not reference.digest:
        note = note or _moves(reference, found)
        if is_release(wanted.context):
            raise _floating(reference, found)
    image = found.pinned if found else str(reference)
    digest = found.digest if found else reference.digest
    return Chosen(
        asked=asked, image=image, digest=digest, size=found.size if found else 0, notes=(note,) if note else ()
    )


def build_image(
    chosen: Chosen, wanted: Wanted, images: Images, console: Console, secrets: Mapping[str, Secret]
) -> Chosen:
    """Build and push what has to be built; the image that the Job gets is the one that the registry then gives.

    Raises:
        BuildFailed: It could not be built or pushed. The last lines of the build were printed.
        ImageRefused: It was pushed, and Jobs cannot pull it.
    """
    recipe = chosen.recipe
    if recipe is None:
        return chosen
    space = space_of(chosen.image)
    try:
        with console.group(f"Build {chosen.asked}"), console.untrusted(), _whole_lines(console) as emit:
            if space:
                images.spaces.build(space, recipe, emit)
                return replace(chosen, recipe=None)
            target = parse_reference(chosen.image)
            write, read = caches_for(wanted.context)
            labels = labels_for(wanted.context, recipe.hash)
            order = Order(emit=emit, labels=labels, cache_to=write, cache_from=read)
            digest = images.builder.build(recipe, target, login_for(target, wanted), secrets, order)
    except TransientHubError as error:
        raise LostSight("Hub not reached", f"{error}.", "No Job was started.") from error
    except BuildFailed as error:
        if error.lines:
            console.info(f"The last {min(len(error.lines), LAST_LINES)} lines of the build:")
            with console.untrusted():
                # A secret broken over lines is found before they are cut.
                console.remote(console.whole(error.lines, last=True)[-LAST_LINES:])
        raise
    found = _as_jobs_see(target, images)
    if found.digest != digest:
        text = f"{target} is {found.digest} in the registry, and {digest} was pushed: somebody else pushed it as well."
        raise BadImage("Image changed", text, "Run again.")
    return replace(chosen, image=found.pinned, digest=digest, size=found.size, recipe=None)


@contextlib.contextmanager
def _whole_lines(console: Console) -> Iterator[Callable[[Sequence[str]], None]]:
    """Prints a build's lines; what may be the beginning of a secret that is broken over several waits for the rest."""
    try:
        yield lambda lines: console.remote(console.whole(lines))
    finally:
        console.remote(console.whole((), last=True))


def login_for(target: Reference, wanted: Wanted) -> Login | None:
    """Who pushes: `build-user` with `build-token`, or the workflow's own token on GHCR."""
    inputs = wanted.inputs
    password = inputs.build_token or (inputs.github_token if target.host == GHCR else None)
    if password is None:
        return None
    return Login(host=target.host, user=inputs.build_user or wanted.context.actor or "hf-train", password=password)


def _look(reference: Reference, images: Images, *, strict: bool) -> tuple[Image | None, str]:
    """The image and a note; an image that nobody named is not worth a failure when its registry is busy."""
    try:
        return images.registry.look(reference), ""
    except RegistryNotReached as error:
        problem = str(error)
    except ImageRefused as error:
        if strict and not reference.digest:
            raise
        problem = error.message.rstrip(".")
    known = "The bytes are known by their digest" if reference.digest else "Its tag is not pinned"
    text = f"image: {reference} could not be looked up ({problem}): whether Jobs can pull and run it is not known."
    return None, f"{text} {known}."


def _moves(reference: Reference, found: Image | None) -> str:
    if found is None:
        return ""
    return (
        f"image: {reference} is a tag, which can be moved to other bytes; this Job runs {found.digest}. "
        f"For the same bytes every time: image: {found.pinned}"
    )


def _floating(reference: Reference, found: Image | None) -> BadImage:
    how = f"image: {found.pinned}" if found else f"the digest that `hf-train image pin {reference}` prints"
    text = f"image: {reference} is a tag, and a release runs on exactly the bytes that were tested."
    return BadImage("Floating tag in a release", text, f"Pin it: {how}. Nothing was started.")


def _to_build(wanted: Wanted, images: Images) -> Chosen:
    inputs, context = wanted.inputs, wanted.context
    if space := space_of(inputs.build_repository or ""):
        return _in_space(space, wanted, images)
    recipe = make_recipe(wanted, images)
    try:
        repository = repository_for(inputs.build_repository, context)
    except ValueError as error:
        raise BadInput([f"build-repository: {error}"]) from error
    if repository is None:
        raise BadInput(["build-repository: where shall the image be pushed? For instance ghcr.io/OWNER/NAME/train"])
    target = repository.tagged(recipe.tag)
    found = _there(target, wanted, images)
    asked = inputs.dockerfile or ""
    if found is None:
        notes = (f"dockerfile: {asked} is built and pushed as {target} before the Job starts.",)
        return Chosen(asked=asked, image=str(target), notes=notes, recipe=recipe)
    notes = (f"dockerfile: {asked} is unchanged; {target} is there already and nothing is built.",)
    return Chosen(asked=asked, image=found.pinned, digest=found.digest, size=found.size, notes=notes)


def _in_space(space: str, wanted: Wanted, images: Images) -> Chosen:
    """Built by a Docker Space, which builds the last stage and takes no arguments."""
    inputs, asked = wanted.inputs, wanted.inputs.dockerfile or ""
    names = ("build-target", "build-args", "build-secrets")
    values = (inputs.build_target, inputs.build_args, inputs.build_secrets)
    given = [name for name, value in zip(names, values, strict=True) if value]
    problems = [f"{name}: a Space builds without it; write it into the Dockerfile" for name in given]
    if problems:
        raise BadInput(problems)
    recipe = make_recipe(wanted, images)
    image = f"hf.co/spaces/{space}"
    try:
        there = images.spaces.holds(space, recipe)
    except TransientHubError as error:
        raise LostSight("Hub not reached", f"{error}.", "Nothing was started.") from error
    if there:
        note = f"dockerfile: {asked} is unchanged; {image} was built from it and nothing is built."
        return Chosen(asked=asked, image=image, notes=(note,))
    note = f"dockerfile: {asked} is built by the Space {space} ({recipe.tag}) before the Job starts."
    return Chosen(asked=asked, image=image, notes=(note,), recipe=recipe)


def make_recipe(wanted: Wanted, images: Images) -> Recipe:
    """Everything that makes the image, with its content hash.

    Raises:
        BadInput: The Dockerfile, its context or an argument is not right.
        BadImage: A base image is not there.
        ImageRefused: A base image is private.
    """
    inputs, context = wanted.inputs, images.context
    path = inputs.dockerfile or ""
    folder = inputs.build_context
    text = context.read(path)
    if text is None:
        raise BadInput([f"dockerfile: there is no file {path!r} in the repository"])
    reading = read_dockerfile(text, inputs.build_args)
    problems = [f"dockerfile: {path}: {problem}" for problem in reading.problems]
    if inputs.build_target and inputs.build_target.lower() not in reading.stages:
        problems.append(f"build-target: {path} has no stage {inputs.build_target!r}")
    problems += secret_args(inputs.build_args)
    if secret_text(text):
        problems.append(f"dockerfile: {path} holds what looks like a token or a private key")
    if problems:
        raise BadInput(problems)
    ignore = context.read(f"{path}.dockerignore") or context.read(f"{folder}/.dockerignore") or ""
    ignored = ignorer(read_ignore(ignore))
    files = [file for file in context.files(folder, inputs.exclude) if not ignored(file.path)]
    pinned, known, size = _bases(reading.bases, wanted, images)
    recipe = Recipe(
        dockerfile=path,
        text=pin_bases(text, inputs.build_args, pinned),
        files=seen(files, reading.sources),
        target=inputs.build_target or "",
        args=inputs.build_args,
        secrets=inputs.build_secrets,
        bases=tuple(known.items()),
        base_size=size,
    )
    return replace(recipe, hash=content_hash(recipe))


def _bases(bases: tuple[Base, ...], wanted: Wanted, images: Images) -> tuple[dict[str, str], dict[str, str], int]:
    """Each external image with what to build on instead, each with its digest, and what they weigh together."""
    pinned: dict[str, str] = {}
    known: dict[str, str] = {}
    size = 0
    for base in bases:
        reference = _reference("dockerfile", base.image)
        problem: Exception | None = None
        try:
            found = images.registry.look(reference, login_for(reference, wanted))
        except (RegistryNotReached, BadImage, ImageRefused) as error:
            found, problem = None, error
        if found is not None:
            pinned[base.image], known[base.image] = found.pinned, found.digest
            size += found.size
        elif digest := reference.digest or images.builder.image_id(base.image):
            known[base.image] = digest
        elif isinstance(problem, BadImage | ImageRefused):
            raise problem
        else:
            why = f" ({problem})" if problem else ""
            text = f"The base image {base.image} could not be looked up{why}, and this engine does not hold it."
            raise BadImage("Base image not known", text, "Check its name, or name it by digest. Nothing was built.")
    return pinned, known, size


def _there(target: Reference, wanted: Wanted, images: Images) -> Image | None:
    """The image when it was built before, as Jobs see it.

    Raises:
        ImageRefused: It is there, but not for Jobs; or the registry cannot be asked.
    """
    try:
        return images.registry.look(target)
    except NoSuchImage:
        return None
    except RegistryNotReached as error:
        text = f"{error}: whether {target} is there, and where to push it, is not known."
        raise ImageRefused("Registry not reached", text, "Try again later. Nothing was started.") from error
    except ImageRefused as error:
        login = login_for(target, wanted)
        if login is None:
            raise
        try:
            images.registry.look(target, login)
        except (NoSuchImage, ImageRefused):
            return None  # never pushed: registries answer so for what does not exist
        except RegistryNotReached:
            raise error from None
        raise


def _as_jobs_see(target: Reference, images: Images) -> Image:
    try:
        found = images.registry.look(target)
    except RegistryNotReached as error:
        raise ImageRefused("Registry not reached", f"{error}, after the push of {target}.", "Run again.") from error
    if found is None:
        raise ImageRefused("Registry not asked", f"{target} is not on this machine, but the Hub is.", "")
    return found


def _reference(name: str, text: str) -> Reference:
    try:
        return parse_reference(text)
    except ValueError as error:
        raise BadInput([f"{name}: {error}"]) from error

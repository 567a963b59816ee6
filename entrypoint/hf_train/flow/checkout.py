"""What would be sent: the code, the local volumes, a fetched script, and the values of the secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from hf_train.context import Context
from hf_train.errors import BadInput
from hf_train.inputs import Inputs, resolve_secrets
from hf_train.plan import HOUSE, watch_problems
from hf_train.ports import Ports, Survey
from hf_train.values import LocalVolume, Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """What the workspace shows.

    Attributes:
        secrets: Values of the Job's secrets.
        code: The surveyed code folder; None when nothing is sent.
        folders: Surveyed local volumes, by `LocalVolume.key`.
        script_path: Where a script by URL lies in the snapshot.
    """

    secrets: Mapping[str, Secret]
    code: Survey | None
    folders: tuple[tuple[str, Survey], ...]
    script_path: PurePosixPath | None


def look_at_checkout(
    inputs: Inputs,
    context: Context,
    ports: Ports,
    *,
    environ: Mapping[str, str],
    nonce: str,
    problems: Sequence[str] = (),
    tolerate_missing_secrets: bool = False,
) -> Checkout:
    """Look at what would be sent, and at the values of the secrets.

    Args:
        inputs: The inputs.
        context: Where this run stands.
        ports: The world; the Hub is not asked.
        environ: The step's environment, for the values of the secrets.
        nonce: The mark of this launch, for copies that the Job may write to.
        problems: What is wrong with the inputs by themselves; told together with what shows here.
        tolerate_missing_secrets: Whether a plan may go without their values.

    Raises:
        BadInput: With every problem.
    """
    problems = [*problems, *_missing(inputs, ports), *watch_problems(inputs, context)]
    secrets: Mapping[str, Secret] = {}
    try:
        words = (*inputs.command, *inputs.args, *inputs.env.values(), inputs.script or "")
        secrets = resolve_secrets(inputs, environ, words)
    except BadInput as error:
        if not tolerate_missing_secrets:
            problems += error.problems
    if not tolerate_missing_secrets:
        missing = [name for name in inputs.build_secrets if not environ.get(name)]
        problems += [f"build-secrets: {name} is not set in this step's environment" for name in missing]
    if problems:
        raise BadInput(problems)
    extra: dict[PurePosixPath, bytes] = {}
    script_path = None
    url = inputs.recipe.url if inputs.recipe else inputs.script if inputs.script and is_url(inputs.script) else ""
    if url:
        script_path = PurePosixPath(HOUSE, "scripts", _script_name(url))
        extra[script_path] = ports.scripts.fetch(url)
    code = None
    local = {volume.key: volume for volume in inputs.volumes if isinstance(volume, LocalVolume)}
    folders = [(key, _survey_volume(volume, inputs, nonce, ports, problems)) for key, volume in local.items()]
    if inputs.path != "none" or extra:
        code = _survey(ports, inputs.path if inputs.path != "none" else "", inputs, extra, problems)
    problems += _not_sent(inputs, code, ports) if code and not problems else []
    if problems:
        raise BadInput(problems)
    return Checkout(secrets=secrets, code=code, folders=tuple(folders), script_path=script_path)


def _survey_volume(volume: LocalVolume, inputs: Inputs, nonce: str, ports: Ports, problems: list[str]) -> Survey:
    """A snapshot is shared and must stay what it was; so a volume that the Job may write to gets one of its own."""
    found: list[str] = []
    survey = _survey(ports, volume.folder, inputs, {}, found)
    problems += [f"volumes: {volume.folder}: {one.removeprefix('path: ')}" for one in found]
    if volume.read_only or problems:
        return survey
    mark = {PurePosixPath(HOUSE, "launch"): nonce.encode()}
    own = _survey(ports, volume.folder, inputs, mark, problems)
    return replace(own, content=survey.content)


def _survey(
    ports: Ports, folder: str, inputs: Inputs, extra: Mapping[PurePosixPath, bytes], problems: list[str]
) -> Survey:
    try:
        return ports.workspace.survey(folder, inputs.exclude, extra)
    except BadInput as error:
        problems += error.problems
        return Survey(digest="", files=0, size=0)


def _not_sent(inputs: Inputs, code: Survey, ports: Ports) -> list[str]:
    """Files that are named and there, but would not be in the Job."""
    named = {"script": inputs.script if inputs.script and not is_url(inputs.script) else None, "config": inputs.config}
    return [
        f"{name}: {path!r} is not sent: git does not track it (git add), or exclude leaves it out"
        for name, path in named.items()
        if path and inputs.path != "none" and not ports.workspace.sends(code, path)
    ]


def _missing(inputs: Inputs, ports: Ports) -> list[str]:
    problems = []
    if inputs.path != "none" and not ports.workspace.is_folder(inputs.path):
        problems.append(f"path: there is no folder {inputs.path!r}")
    elif inputs.script and not is_url(inputs.script) and not ports.workspace.is_file(in_path(inputs, inputs.script)):
        problems.append(f"script: there is no file {inputs.script!r} in {inputs.path!r}")
    if inputs.config and not ports.workspace.is_file(in_path(inputs, inputs.config)):
        problems.append(f"config: there is no file {inputs.config!r} in {inputs.path!r}")
    if inputs.baseline and inputs.baseline.startswith("file:"):
        path = inputs.baseline.removeprefix("file:")
        if ports.workspace.read_text(path) is None:
            problems.append(f"baseline: there is no file {path!r} in the workspace (for a branch write branch:{path})")
    problems += [
        f"volumes: there is no folder {volume.folder!r} (a Hub source starts with hf://)"
        for volume in inputs.volumes
        if isinstance(volume, LocalVolume) and not ports.workspace.is_folder(volume.folder)
    ]
    return problems


def in_path(inputs: Inputs, name: str | None) -> str:
    """A name below the sent folder as a path of the workspace."""
    return str(PurePosixPath(inputs.path if inputs.path != "none" else ".", name or ""))


def is_url(text: str) -> bool:
    """Whether a script is fetched and not a file of the repository."""
    return text.startswith(("http://", "https://"))


def _script_name(url: str) -> str:
    name = PurePosixPath(url.split("?", 1)[0].split("#", 1)[0]).name
    safe = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name) or "script"
    return safe if safe.endswith(".py") else f"{safe}.py"

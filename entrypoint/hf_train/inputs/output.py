"""The input `output`: what stands against an output folder. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from hf_train.inputs.model import Inputs

OUTPUT_MOUNT = "/output"
"""Where the Job sees its output folder."""


def output_problems(inputs: Inputs) -> Sequence[str]:
    """The folder has its mount to itself, is kept by somebody in the Job, and gets what the training writes."""
    if inputs.output is None:
        return []
    problems = []
    if inputs.path == "none":
        problems.append("output: it is kept by the script that comes with the code, and path is none")
    if not inputs.jobside:
        problems.append("output and jobside: what keeps results and finds checkpoints is off; keep one")
    mounts = [("volumes", one.mount) for one in inputs.volumes]
    mounts += [("mount", inputs.mount)] if inputs.path != "none" else []
    problems += [
        f"output: it is mounted at {OUTPUT_MOUNT}, and {name} takes {mount}; mount that elsewhere"
        for name, mount in mounts
        if in_output(mount)
    ]
    option = inputs.recipe.output if inputs.recipe else ""
    elsewhere = [value for value in _values(option, inputs.args) if not in_output(value)]
    if elsewhere:
        problems.append(
            f"output: args says {option} {elsewhere[-1]}, and what is written there is lost; leave it out, or name a "
            f"folder in {OUTPUT_MOUNT}"
        )
    return problems


def written_elsewhere(inputs: Inputs) -> str:
    """The folder that own code is told to write to, where that is not the output folder; empty otherwise.

    `--output_dir` is what most trainings call it; another program may mean something else, so it is worth a note only.
    """
    if inputs.output is None or inputs.recipe:
        return ""
    named = [*_values("--output_dir", (*inputs.command, *inputs.args))]
    return named[-1] if named and not in_output(named[-1]) else ""


def in_output(path: str) -> bool:
    """Whether a path of the Job is the mount of the output folder, or lies in it."""
    return PurePosixPath(path).is_relative_to(OUTPUT_MOUNT)


def _values(option: str, words: Sequence[str]) -> Iterator[str]:
    """Values of an option, written `--name value` or `--name=value`, with `-` or `_`."""
    wanted = option.replace("-", "_")
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if option and name.replace("-", "_") == wanted:
            yield value if equals else next(iter(words[at + 1 : at + 2]), "")

"""What a recipe becomes: a command, and the lines that say how."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from hf_train.inputs import Inputs
from hf_train.plan.output import LIBRARY_FOLDER
from hf_train.recipes import Recipe

MAX_CONFIG = 1 << 18
"""Characters of a library's YAML that are read for its keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cooked:
    """A recipe with the inputs in it.

    Attributes:
        command: The command in the Job.
        added: What the recipe put beside the given arguments.
        lines: What it became, name and value, for people.
    """

    command: tuple[str, ...]
    added: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]


def cook(recipe: Recipe, inputs: Inputs, *, gpus: int, script: str, config_text: str | None) -> Cooked:
    """Put the command together. What args or config say stands; the recipe only adds what neither has.

    Args:
        recipe: The recipe.
        inputs: The inputs.
        gpus: GPUs of the flavor; 0 when there are none, or the Hub could not be asked.
        script: Where the fetched script lies in the Job; empty when nothing is fetched.
        config_text: The library's YAML, if one was given.
    """
    own_image = bool(inputs.image or inputs.dockerfile)
    uv = not own_image and not recipe.image
    # No project: a pyproject.toml of the repository has nothing to say to the library's own script.
    packages = [word for one in recipe.packages for word in ("--with", one)]
    install = ("uv", "run", "--no-project", *packages) if uv else ()
    config = (() if recipe.config == "first" else (recipe.config,)) + (inputs.config,) if inputs.config else ()
    added = _added(recipe, inputs, config_text)
    start = recipe.launch(gpus)
    program = (script,) if script else recipe.program
    return Cooked(
        command=(*install, *start, *program, *config, *added, *inputs.args),
        added=added,
        lines=(
            ("recipe", f"{recipe.name}: {recipe.what}"),
            ("program", recipe.source),
            ("packages", ", ".join(recipe.packages) if uv else "those of the image"),
            ("launcher", _launcher(recipe, start, gpus)),
            ("added", " ".join(added) or "nothing: args and config stand as they are"),
            ("its options", f"output {recipe.output}, repo {recipe.repo}, {_rest(recipe)}"),
        ),
    )


def _added(recipe: Recipe, inputs: Inputs, config_text: str | None) -> tuple[str, ...]:
    has = _options(inputs) | _keys(config_text)
    words: list[str] = []
    # A folder that this step publishes from needs no push by the Job, which then has no token.
    if inputs.model_repo and not inputs.publish:
        if _plain(recipe.repo) not in has:
            words += [recipe.repo, inputs.model_repo]
        words += [word for word in recipe.push if _plain(word) not in has]
    if inputs.output:
        # On the command line it wins over the YAML of each library that takes one.
        words += () if _plain(recipe.output) in _options(inputs) else (recipe.output, LIBRARY_FOLDER)
        words += [word for word in recipe.anew if _plain(word) not in has]
    elif recipe.launcher != "own" and _plain(recipe.output) not in has:
        words += [recipe.output, inputs.model_repo.partition("/")[2] if inputs.model_repo else "output"]
    return tuple(words)


def _options(inputs: Inputs) -> set[str]:
    return {_plain(word) for word in inputs.args if word.startswith("--")}


def _plain(word: str) -> str:
    """An option as a key: `--hub-model-id=x` and `--hub_model_id` are the same."""
    return word.partition("=")[0].lstrip("-").replace("-", "_")


def _keys(config_text: str | None) -> set[str]:
    """Top-level keys of a YAML file that say something; none when it cannot be read."""
    try:
        loaded = yaml.safe_load(config_text) if config_text and len(config_text) <= MAX_CONFIG else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return set()
    rows = loaded.items() if isinstance(loaded, dict) else ()
    return {_plain(str(key)) for key, value in rows if value is not None}


def _launcher(recipe: Recipe, start: tuple[str, ...], gpus: int) -> str:
    if recipe.launcher == "own":
        return f"its own, on all GPUs ({gpus})"
    return f"{' '.join(start)} ({gpus} GPUs)" if gpus > 1 else "python, one process"


def _rest(recipe: Recipe) -> str:
    push = f"push {' '.join(recipe.push)}" if recipe.push else "push when a repo is named"
    return f"{push}, resume {recipe.resume}" if recipe.resume else f"{push}, no resume"

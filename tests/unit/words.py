"""Words of the unit tests."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from hypothesis import settings

from hf_train.errors import BadInput
from hf_train.inputs import Inputs, Layers, parse
from hf_train.inputs.model import Raw

RUN: Mapping[str, Raw] = {"command": "python train.py"}


def from_flags(**flags: Raw) -> Inputs:
    """Inputs of `hf-train run --command 'python train.py' ...`."""
    return parse(Layers(flags={**RUN, **{name.replace("_", "-"): value for name, value in flags.items()}}))


def from_file(file: Mapping[str, object], **environ: str) -> Inputs:
    """Inputs of a config file, with the command in it unless it has one."""
    return parse(Layers(file={**RUN, **file} if "script" not in file else file, environ=environ))


def problems(layers: Layers) -> tuple[str, ...]:
    """What is wrong with these layers; a test fails when nothing is."""
    with pytest.raises(BadInput) as caught:
        parse(layers)
    return caught.value.problems


def flag_problems(**flags: Raw) -> tuple[str, ...]:
    """What is wrong with these flags."""
    return problems(Layers(flags={**RUN, **{name.replace("_", "-"): value for name, value in flags.items()}}))


def examples(count: int) -> settings:
    """So many examples, and a hundred times as many with `HYPOTHESIS_PROFILE=explore`."""
    return settings(max_examples=scaled(count))


def scaled(count: int) -> int:
    """A number of cases, a hundred times as many with `HYPOTHESIS_PROFILE=explore`."""
    return count * (100 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 1)

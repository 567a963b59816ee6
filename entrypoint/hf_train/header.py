"""`[tool.hf-jobs]` in the header of a uv script: read, shown, and obeyed only where that cannot cost more. Pure.

`hf jobs uv run` obeys all of it: image, flavor, namespace, volumes, and secrets by name out of the environment of
whoever runs it (huggingface_hub 2.4.0 `cli/_uv_script_header.py`, `cli/jobs.py`). A pull request can change a script:
here only `flavor` and `timeout` count, where the workflow sets neither, and on a runner only below a `max-cost`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hf_train.inputs import Inputs, grammar

# PEP 723's own reference implementation.
_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of a header.

    Attributes:
        inputs: The inputs, with what was taken from it.
        notes: What it asks for, and what of it counts, in words.
        problems: What is wrong with it.
    """

    inputs: Inputs
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def table_of(text: str) -> Mapping[str, Any]:
    """The `[tool.hf-jobs]` table of a script; empty when there is none.

    Raises:
        ValueError: The header is not TOML, or this is no table.
    """
    found = _BLOCK.search(text.replace("\r\n", "\n").replace("\r", "\n"))
    if found is None or "hf-jobs" not in found["content"]:
        return {}
    lines = [line[2:] if line.startswith("# ") else line[1:] for line in found["content"].split("\n")]
    try:
        table = tomllib.loads("\n".join(lines)).get("tool", {}).get("hf-jobs", {})
    except (tomllib.TOMLDecodeError, AttributeError, RecursionError):
        raise ValueError("its header is not TOML") from None
    if not isinstance(table, dict):
        raise ValueError("[tool.hf-jobs] in its header is no table")
    return table


def adopt(inputs: Inputs, text: str, *, on_github: bool) -> Adopted:
    """The inputs with what of the script's header counts.

    Args:
        inputs: The inputs.
        text: The script.
        on_github: Whether a pull request may have written it.
    """
    try:
        table = table_of(text)
    except ValueError as error:
        return Adopted(inputs, problems=(f"script: {inputs.script}: {error}",))
    if not table:
        return Adopted(inputs)
    counts = not on_github or inputs.max_cost is not None
    notes, problems = [], []
    for key, parse in (("flavor", grammar.flavor), ("timeout", grammar.duration)):
        if key not in table:
            continue
        asked = f"The script's header asks for {key} {_short(table[key])}"
        if key in inputs.given:
            notes.append(f"{asked}; the input {key} stands.")
        elif not counts:
            notes.append(f"{asked}; on a runner it counts below a max-cost only.")
        else:
            try:
                value: Any = parse(str(table[key]))
                inputs = replace(inputs, **{key: value})
                notes.append(f"{asked}, and gets it.")
            except ValueError as error:
                problems.append(f"script: {inputs.script}: {key} in its header: {error}")
    if others := sorted(str(key) for key in table if key not in ("flavor", "timeout")):
        notes.append(f"The script's header asks for {_short(', '.join(others))} too; that is set by inputs only.")
    return Adopted(inputs, tuple(notes), tuple(problems))


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

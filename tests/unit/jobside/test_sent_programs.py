"""What is sent into the Job: readable by the oldest Python that runs it, and no part of what a training is."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from hf_train import jobside
from hf_train.ports import Survey
from hf_train.snapshot import workspace
from unit.makers import FACTS, plan

OLDEST = (3, 8)
LATER_MODULES = {"graphlib", "tomllib", "zoneinfo"}
"""Of the standard library, newer than that Python."""
LATER_NAMES = {
    *("removeprefix", "removesuffix", "waitstatus_to_exitcode", "pidfd_open", "bit_count", "is_relative_to"),
    *("pairwise", "batched", "to_thread", "chdir", "EnumType", "StrEnum", "UTC", "cache"),
}
"""Names that later versions added (What's New in Python 3.9 to 3.12)."""


def launcher() -> ast.Module:
    """The launcher as the oldest Python reads it."""
    return ast.parse(jobside.programs()["launcher.py"], feature_version=OLDEST)


def test_the_oldest_python_can_read_it() -> None:
    first = next(one for one in launcher().body if isinstance(one, ast.ImportFrom))
    assert (first.module, first.names[0].name) == ("__future__", "annotations"), "annotations are newer than it"
    newer = [one for one in ast.walk(launcher()) if isinstance(one, ast.Match | ast.TryStar)]
    assert not newer


def test_it_imports_what_the_oldest_python_brings() -> None:
    found: set[str] = set()
    for one in ast.walk(launcher()):
        if isinstance(one, ast.Import):
            found |= {name.name.partition(".")[0] for name in one.names}
        elif isinstance(one, ast.ImportFrom):
            assert one.level == 0
            found.add((one.module or "").partition(".")[0])
    assert found <= sys.stdlib_module_names - LATER_MODULES


def test_it_calls_what_the_oldest_python_has() -> None:
    named = {one.attr for one in ast.walk(launcher()) if isinstance(one, ast.Attribute)}
    assert not named & LATER_NAMES
    strict = [one for one in ast.walk(launcher()) if isinstance(one, ast.keyword) and one.arg in ("strict", "kw_only")]
    assert not strict


def test_the_shell_program_has_no_word_of_bash() -> None:
    text = jobside.programs()["start.sh"].decode()
    assert text.startswith("#!/bin/sh\n")
    assert not [word for word in ("[[", "local ", "function ", "<(", "pipefail", "$'") if word in text]


def survey(folder: Path) -> Survey:
    """The folder as it would be sent."""
    space = workspace.GitWorkspace(folder, HfApi(token=False), committed=False)
    try:
        return space.survey(".", (), {})
    finally:
        space.close()


def test_a_newer_launcher_makes_no_other_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is another one, for another launcher lies in it; an output folder of old checkpoints is found."""
    (tmp_path / "train.py").write_text("print(1)\n")
    old = survey(tmp_path)
    newer = {name: content + b"# newer\n" for name, content in jobside.programs().items()}
    monkeypatch.setattr(jobside, "programs", lambda: newer)
    new = survey(tmp_path)
    (tmp_path / "train.py").write_text("print(2)\n")
    other = survey(tmp_path)
    assert new.digest != old.digest
    keys = [plan(facts=replace(FACTS, code=one), output="bucket").key for one in (old, new, other)]
    assert keys[0] == keys[1] != keys[2]

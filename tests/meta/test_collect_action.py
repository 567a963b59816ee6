"""collect/action.yml and its ready-made workflow: what they hand over is what the commands read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hf_train.context import Context
from hf_train.report import Phase, Report
from hf_train.report.outputs import values
from support.paths import ENTRYPOINT, ROOT, load_yaml

ACTION = ROOT / "collect" / "action.yml"
WORKFLOW = ROOT / "docs" / "workflows" / "collect.yml"
READ_BY = ("commands/collect.py", "commands/sweep.py", "wiring.py")


def test_each_variable_is_read_and_each_input_handed_over() -> None:
    document = load_yaml(ACTION)
    read = "".join((ENTRYPOINT / "hf_train" / name).read_text() for name in READ_BY)
    steps = document["runs"]["steps"]
    handed = {name for step in steps for name in step["env"] if name.startswith("HF_TRAIN_")}
    assert [name for name in handed if f'"{name}"' not in read] == []
    text = ACTION.read_text()
    assert [name for name in document["inputs"] if f"inputs.{name} " not in text] == []
    assert [step["run"] for step in steps if "${{" in step["run"] or not step["run"].startswith("exec ")] == []


def test_its_outputs_are_those_of_a_run() -> None:
    known = values(Report(context=Context(), key="k", phase=Phase.ENDED, skipped="x"))
    assert set(load_yaml(ACTION)["outputs"]) <= set(known)


def test_the_workflow_uses_inputs_that_there_are() -> None:
    (job,) = load_yaml(WORKFLOW)["jobs"].values()
    (step,) = job["steps"]
    assert set(step["with"]) <= set(load_yaml(ACTION)["inputs"])
    assert re.fullmatch(r"OWNER/hf-train/collect@v[0-9.]+", step["uses"])


@pytest.mark.parametrize(
    "words",
    [
        ("zizmor", "--pedantic", "--offline", "--quiet", "--config", "docs/zizmor.yml", str(WORKFLOW)),
        ("zizmor", "--pedantic", "--offline", "--quiet", str(ACTION)),
        ("actionlint", str(WORKFLOW)),
    ],
)
def test_the_linters_have_nothing_to_say(words: tuple[str, ...]) -> None:
    tool = Path(sys.executable).parent / words[0]
    done = subprocess.run([tool, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

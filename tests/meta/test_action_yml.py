"""action.yml as data: what it declares is what the product has, and each value really gets there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hf_train.inputs import FIELDS
from support.paths import ACTION, ROOT, load_yaml

DOCUMENT = load_yaml(ACTION)
INPUTS: dict[str, dict[str, Any]] = DOCUMENT["inputs"]
OUTPUTS: dict[str, dict[str, Any]] = DOCUMENT["outputs"]
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in DOCUMENT["runs"]["steps"]}
# Inputs of the step itself: setup.sh reads them, hf-train does not know them.
OF_THE_STEP = {"python"}
PROMISED_OUTPUTS = [
    "job-id",
    "job-url",
    "stage",
    "reason",
    "exit-code",
    "model-repo",
    "model-revision",
    "model-url",
    "metrics",
    "deltas",
    "gate",
    "cost-usd",
    "duration-s",
    "image",
    "snapshot",
    "comment-url",
    "comment-file",
    "report-file",
]


def test_the_inputs_are_the_table_of_inputs() -> None:
    assert [*INPUTS] == [*(field.name for field in FIELDS), *sorted(OF_THE_STEP)]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_each_input_is_described_in_the_tables_own_words(field: Any) -> None:
    words = field.help + (f" Default: {field.default}." if field.default else "")
    assert INPUTS[field.name]["description"] == words.replace("`", "")


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_each_input_is_handed_on_as_its_variable(field: Any) -> None:
    assert STEPS["run"]["env"][field.variable] == f"${{{{ inputs.{field.name} }}}}"


def test_no_variable_is_handed_on_that_nobody_reads() -> None:
    known = {field.variable for field in FIELDS}
    ours = {name for name in STEPS["run"]["env"] if name.startswith("HF_TRAIN_")}
    assert ours - known == {"HF_TRAIN_STATE_FILE", "HF_TRAIN_MATRIX"}
    for name in ("HF_TRAIN_STATE_FILE", "HF_TRAIN_MATRIX"):
        sources = [path.read_text(encoding="utf-8") for path in (ROOT / "entrypoint" / "hf_train").rglob("*.py")]
        assert any(name in source for source in sources), name


def test_no_input_has_a_default_that_would_beat_the_config_file() -> None:
    assert {name: value["default"] for name, value in INPUTS.items() if "default" in value} == {
        "github-token": "${{ github.token }}"
    }
    assert not [name for name, value in INPUTS.items() if value.get("required")]


def test_the_outputs_are_the_promised_ones_and_all_are_wired() -> None:
    assert sorted(OUTPUTS) == sorted(PROMISED_OUTPUTS)
    for name, value in OUTPUTS.items():
        assert value["value"] == f"${{{{ steps.run.outputs.{name} }}}}"
        assert value["description"].endswith(".")


@pytest.mark.case(41)
def test_the_step_is_composite_calls_no_other_action_and_names_its_shell() -> None:
    assert DOCUMENT["runs"]["using"] == "composite"
    for step in STEPS.values():
        assert "uses" not in step
        assert step["shell"] == "bash"


@pytest.mark.case(12)
def test_no_expression_stands_in_a_script() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"], step["id"]


@pytest.mark.case(42, 54)
def test_python_replaces_the_shell_and_is_isolated() -> None:
    # exec: the runner signals the process that it started and no child of it. -I: nothing of the checkout is imported.
    for name in ("run", "cleanup"):
        assert re.match(r'exec "\$VENV/bin/python" -I -m hf_train \w+', STEPS[name]["run"])
        assert "\n" not in STEPS[name]["run"].strip()
    assert STEPS["setup"]["run"] == 'exec bash "$GITHUB_ACTION_PATH/entrypoint/setup.sh"'


@pytest.mark.case(56)
def test_the_cleanup_always_runs_and_never_changes_the_verdict() -> None:
    step = STEPS["cleanup"]
    assert step["if"].startswith("always()")
    assert step["continue-on-error"] is True
    assert step["env"]["HF_TRAIN_HF_TOKEN"] == "${{ inputs.hf-token }}"
    assert step["env"]["HF_TRAIN_STATE_FILE"] == STEPS["run"]["env"]["HF_TRAIN_STATE_FILE"]


@pytest.mark.case(92)
def test_the_cleanup_finds_the_comment_and_the_check_of_the_run() -> None:
    named = {"HF_TRAIN_GITHUB_TOKEN", "HF_TRAIN_COMMENT", "HF_TRAIN_COMMENT_KEY", "HF_TRAIN_CHECK", "HF_TRAIN_MATRIX"}
    given, run = STEPS["cleanup"]["env"], STEPS["run"]["env"]
    assert {name: given.get(name) for name in named} == {name: run[name] for name in named}
    assert set(given) <= set(run)


def test_no_token_reaches_the_setup() -> None:
    assert not [name for name, value in STEPS["setup"]["env"].items() if "token" in str(value)]


@pytest.mark.case(42)
def test_no_shell_file_of_an_earlier_step_is_read() -> None:
    for step in STEPS.values():
        assert step["env"]["BASH_ENV"] == ""


def test_the_readme_names_every_input_and_output() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in (*INPUTS, *OUTPUTS) if f"`{name}`" not in readme]
    assert missing == []

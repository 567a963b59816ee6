"""merge/action.yml: what it hands over is what the command reads."""

from __future__ import annotations

import pytest

from support.paths import ROOT, load_yaml

DOCUMENT = load_yaml(ROOT / "merge" / "action.yml")
STEPS = {step["id"]: step for step in DOCUMENT["runs"]["steps"]}
WORKFLOWS = ("fork-train.yml", "fork-report.yml")
COMMAND = (ROOT / "entrypoint" / "hf_train" / "commands" / "merge.py").read_text(encoding="utf-8")


def test_each_input_is_handed_over_once_and_read() -> None:
    given = {**STEPS["setup"]["env"], **STEPS["run"]["env"]}
    for name in DOCUMENT["inputs"]:
        (variable,) = [key for key, value in given.items() if value == f"${{{{ inputs.{name} }}}}"]
        assert variable == "SETUP_PYTHON" or f'"{variable}"' in COMMAND, name


def test_it_runs_the_command_from_a_private_python() -> None:
    assert STEPS["run"]["run"] == 'exec "$VENV/bin/python" -I -m hf_train merge'
    assert STEPS["setup"]["run"] == 'exec bash "$GITHUB_ACTION_PATH/../entrypoint/setup.sh"'
    assert all(step["shell"] == "bash" and step["env"]["BASH_ENV"] == "" for step in STEPS.values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_documentation_shows_the_workflows_that_are_shipped(name: str) -> None:
    text = (ROOT / "docs" / "workflows" / name).read_text(encoding="utf-8")
    assert f"```yaml\n{text}```\n" in (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert f"(workflows/{name})" in (ROOT / "docs" / "events.md").read_text(encoding="utf-8")


def test_the_second_stage_follows_the_first_and_fetches_what_it_hands_on() -> None:
    first, second = (load_yaml(ROOT / "docs" / "workflows" / name) for name in WORKFLOWS)
    assert second["on"]["workflow_run"]["workflows"] == [first["name"]]
    upload, (fetch, report) = first["jobs"]["train"]["steps"][-1], second["jobs"]["report"]["steps"]
    assert upload["with"]["name"] == fetch["with"]["name"]
    assert report["with"]["reports"] == fetch["with"]["path"]
    assert first["jobs"]["train"]["permissions"] == {"contents": "read"}
    assert "secrets." not in str(first) + str(second)
    assert "checkout" not in str(second)

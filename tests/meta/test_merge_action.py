"""merge/action.yml: what it hands over is what the command reads."""

from __future__ import annotations

from support.paths import ROOT, load_yaml

DOCUMENT = load_yaml(ROOT / "merge" / "action.yml")
STEPS = {step["id"]: step for step in DOCUMENT["runs"]["steps"]}
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

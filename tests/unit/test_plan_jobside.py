"""`jobside: off`: the bare command, where things are then, and what cannot be had without the job side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from hf_train.inputs import Layers, parse, read
from hf_train.inputs.fields import BY_NAME
from hf_train.plan import Plan, make_plan
from unit.makers import FACTS, ON_GITHUB, plan

NO_CODE = replace(FACTS, code=None)


def off(**flags: Any) -> Plan:
    """A plan without the job side, of what is given alone."""
    given = {"jobside": "off", **{name.replace("_", "-"): value for name, value in flags.items()}}
    return make_plan(parse(Layers(flags=given)), ON_GITHUB, FACTS)


@pytest.mark.parametrize(
    ("flags", "command"),
    [
        ({"command": "python train.py --lr 1"}, "python train.py --lr 1"),
        ({"script": "src/train.py", "args": "--lr 1"}, "uv run /code/src/train.py --lr 1"),
        (
            {"script": "train.py", "config": "c/a.yml", "mount": "/repo"},
            "uv run /repo/train.py --config /repo/c/a.yml",
        ),
        ({"recipe": "axolotl", "config": "c.yml"}, "axolotl train /code/c.yml"),
    ],
)
def test_the_command_is_bare_and_what_it_names_lies_in_the_mount(flags: dict[str, Any], command: str) -> None:
    job = off(**flags).job
    assert " ".join(job.command).startswith(command)
    assert ".hf-train/start.sh" not in " ".join(job.command)
    assert (job.volumes[0].mount, job.volumes[0].read_only) == (flags.get("mount", "/code"), True)


def test_a_shell_line_is_not_touched() -> None:
    assert off(command="cd /code && make train").job.command == ("sh", "-ec", "cd /code && make train")


def test_a_fetched_script_lies_in_the_mount_too() -> None:
    facts = replace(FACTS, script_path=PurePosixPath(".hf-train", "scripts", "x.py"))
    inputs = parse(Layers(flags={"jobside": "off", "script": "https://example.org/x.py"}))
    assert make_plan(inputs, ON_GITHUB, facts).job.command == ("uv", "run", "/code/.hf-train/scripts/x.py")


def test_several_nodes_need_no_job_side() -> None:
    made = off(script="train.py", nodes="2")
    assert len(made.specs) == 2
    assert made.job.command[-1] == "/code/train.py"
    assert "start.sh" not in " ".join(made.job.command)


def test_it_is_another_training_and_said_where_code_is_sent() -> None:
    assert plan(jobside="off").key != plan().key == plan(jobside="on").key
    assert sum("jobside is off" in note for note in plan(jobside="off").notes) == 1
    assert not any("jobside" in note for note in plan(facts=NO_CODE, path="none", jobside="off").notes)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ({"lease": "10m"}, "lease and jobside: what keeps a lease is off; keep one"),
        (
            {"output": "bucket"},
            "output and jobside: what keeps results and finds checkpoints is off; keep one",
        ),
        ({"jobside": "no"}, "jobside: 'no' is not one of on, off, true, false"),
    ],
)
def test_what_cannot_be_had_without_it(flags: dict[str, str], problem: str) -> None:
    _, problems = read(Layers(flags={"command": "x", "jobside": "off", **flags}))
    assert problems == (problem,)


@pytest.mark.parametrize(("value", "on"), [(True, True), (False, False), ("on", True), ("off", False)])
def test_the_config_file_may_say_it_as_yaml_reads_it(value: object, on: bool) -> None:
    """An unquoted `off` is a boolean there. It spends no money and names no secret, so the file may say it."""
    assert parse(Layers(file={"command": "x", "jobside": value}, environ={"GITHUB_ACTIONS": "true"})).jobside is on
    assert BY_NAME["jobside"].from_file

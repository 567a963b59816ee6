"""The output folder in the plan: its name, its mount, what a recipe makes of it, and what stands against it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from hf_train.errors import BadInput
from hf_train.inputs import Layers, parse
from hf_train.plan import Plan, make_plan
from hf_train.plan.output import Output, output_of
from hf_train.recipes import BY_NAME
from hf_train.show import plan_json, rows
from hf_train.smoke import smoke_inputs
from hf_train.values import Volume
from unit.makers import FACTS, ON_GITHUB, plan

FETCHED = replace(FACTS, script_path=PurePosixPath(".hf-train", "scripts", "x.py"))


def _recipe(name: str, config_text: str | None = None, **flags: Any) -> Plan:
    given = {"recipe": name, "output": "bucket", **{k.replace("_", "-"): v for k, v in flags.items()}}
    facts = FETCHED if BY_NAME[name].script else FACTS
    return make_plan(parse(Layers(flags=given)), ON_GITHUB, facts, config_text=config_text)


def test_it_is_a_folder_of_the_training_mounted_read_write() -> None:
    made = plan(output="bucket", metrics_file="out/metrics.json")
    folder = Volume(
        kind="bucket", source="alice/jobs-artifacts", mount="/output", read_only=False, path=f"runs/{made.key}"
    )
    assert made.job.volumes[-1] == folder
    assert made.job.env == {
        "PYTHONUNBUFFERED": "1",
        "HF_TRAIN_OUTPUT": "/output",
        "HF_TRAIN_METRICS_FILE": "out/metrics.json",
    }
    assert output_of(made.job) == Output(bucket="alice/jobs-artifacts", folder=f"runs/{made.key}")
    assert f"--volume hf://buckets/alice/jobs-artifacts/runs/{made.key}:/output:rw" in made.equal_line
    assert f"--label hft-key={made.key}" in made.equal_line


def test_without_it_nothing_changes() -> None:
    made = plan()
    assert output_of(made.job) is None
    assert all(volume.mount != "/output" for volume in made.job.volumes)
    assert made.job.env == {"PYTHONUNBUFFERED": "1"}
    assert "output" not in dict(rows(made))


def test_the_same_training_has_the_same_folder_and_another_one_has_not() -> None:
    first = plan(output="bucket")
    again = plan(output="bucket", facts=replace(FACTS, nonce="nonce2"), timeout="3h", attempts="3", lease="10m")
    assert output_of(again.job) == output_of(first.job)
    others = [
        plan(),
        plan(output="bucket", command="python train.py --lr 1e-5"),
        plan(output="bucket", flavor="cpu-basic"),
    ]
    assert len({first.key, *(one.key for one in others)}) == 4


def test_a_folder_of_ours_only_is_an_output_folder() -> None:
    job = plan(output="bucket").job
    foreign = replace(job.volumes[-1], path="snapshots/x")
    assert output_of(replace(job, volumes=(*job.volumes[:-1], foreign))) is None
    assert output_of(replace(job, volumes=(*job.volumes[:-1], replace(job.volumes[-1], path="runs")))) is None
    assert output_of(replace(job, volumes=(*job.volumes[:-1], replace(job.volumes[-1], read_only=True)))) is None
    assert output_of(replace(job, env={})) is None


@pytest.mark.parametrize("name", [name for name in BY_NAME if not BY_NAME[name].needs_config])
def test_a_recipe_writes_into_a_folder_of_its_own_and_is_told_how_it_resumes(name: str) -> None:
    job, recipe = _recipe(name, model_repo="alice/m").job, BY_NAME[name]
    at = job.command.index(recipe.output)
    assert job.command[at + 1] == "/output/model"
    assert job.env.get("HF_TRAIN_RESUME_FLAG", "") == recipe.resume
    assert recipe.resume not in job.command or not recipe.resume, "which checkpoint is known in the Job only"


def test_scripts_that_refuse_a_folder_with_files_are_told_to_take_it() -> None:
    assert "--overwrite_output_dir" in _recipe("transformers/glue").job.command
    assert "--overwrite_output_dir" not in _recipe("trl/sft").job.command
    plain = make_plan(parse(Layers(flags={"recipe": "transformers/glue"})), ON_GITHUB, FETCHED)
    assert "--overwrite_output_dir" not in plain.job.command


@pytest.mark.parametrize(("name", "option"), [("axolotl", "--output-dir"), ("trl/sft", "--output_dir")])
def test_the_option_wins_over_the_librarys_yaml(name: str, option: str) -> None:
    words = _recipe(name, config="c.yml", config_text="output_dir: ./out\n").job.command
    assert words[words.index(option) + 1] == "/output/model"


def test_a_folder_in_it_may_be_named() -> None:
    words = _recipe("trl/sft", args="--output_dir=/output/mine").job.command
    assert "/output/model" not in words


@pytest.mark.parametrize("args", ["--output_dir out", "--output_dir=out", "--output-dir /outputs", "--output_dir"])
def test_an_output_elsewhere_is_refused(args: str) -> None:
    with pytest.raises(BadInput, match=r"output: args says --output_dir .*is lost"):
        _recipe("trl/sft", args=args)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"volumes": "hf://datasets/a/b:/output"}, "output: it is mounted at /output, and volumes takes /output;"),
        ({"volumes": "hf://datasets/a/b:/output/in"}, "and volumes takes /output/in; mount that elsewhere"),
        ({"mount": "/output"}, "output: it is mounted at /output, and mount takes /output; mount that elsewhere"),
        ({"path": "none"}, "output: it is kept by the script that comes with the code, and path is none"),
        ({"output": "disk"}, "output: 'disk' is not one of bucket"),
    ],
)
def test_one_clear_message_where_it_cannot_be(flags: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        plan(**{"output": "bucket", **flags})
    (problem,) = refused.value.problems
    assert words in problem


def test_a_mount_beside_it_is_fine() -> None:
    made = plan(output="bucket", volumes="hf://datasets/a/b:/outputs")
    assert [volume.mount for volume in made.job.volumes] == ["/code", "/outputs", "/output"]


def test_what_lies_there_can_be_published() -> None:
    made = plan(output="bucket", publish="/output/model", model_repo="alice/m")
    assert made.expect.publish == ("alice/jobs-artifacts", f"runs/{made.key}/model")
    with pytest.raises(BadInput, match="set output: bucket"):
        plan(publish="/output/model", model_repo="alice/m")


def test_a_smoke_run_writes_into_no_run_folder() -> None:
    flags: dict[str, Any] = {"recipe": "trl/sft", "output": "bucket", "smoke": ("args: --max_steps 2",)}
    inputs = parse(Layers(flags=flags))
    smoke = make_plan(smoke_inputs(inputs), ON_GITHUB, FACTS)
    assert output_of(smoke.job) is None
    assert "/output/model" not in smoke.job.command
    assert smoke.job.env["HF_TRAIN_OUTPUT_DIR"] == "output", "own code finds the same variable"
    assert smoke.key != make_plan(inputs, ON_GITHUB, FACTS).key


def test_the_plan_shows_it() -> None:
    made = _recipe("trl/sft")
    address = f"hf://buckets/alice/jobs-artifacts/runs/{made.key}"
    words = f"{address}; goes on from its newest checkpoint by --resume_from_checkpoint"
    assert dict(rows(made))["output"] == words
    shown = json.loads(plan_json(made))["output"]
    assert shown == {
        "bucket": "alice/jobs-artifacts",
        "folder": f"runs/{made.key}",
        "resume": "--resume_from_checkpoint",
    }
    assert json.loads(plan_json(plan()))["output"] is None
    assert "HF_TRAIN_CHECKPOINT" in dict(rows(plan(output="bucket")))["output"]
    own = plan(output="bucket", env="HF_TRAIN_RESUME_FLAG=--resume")
    assert dict(rows(own))["output"].endswith("by --resume")


def test_a_recipe_that_cannot_resume_says_so() -> None:
    assert dict(rows(_recipe("unsloth")))["output"].endswith("has no resume option, so each run begins anew")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python train.py --output_dir out", True),
        ("python train.py --output-dir=out", True),
        ("python train.py --output_dir /output/model", False),
        ("python train.py", False),
    ],
)
def test_own_code_that_writes_elsewhere_is_noted(command: str, told: bool) -> None:
    words = "The command writes to out, and only what lies in /output outlives the Job"
    assert any(note.startswith(words) for note in plan(output="bucket", command=command).notes) is told
    assert not any("outlives the Job" in note for note in plan(command=command).notes)

"""The output folder in a run: made before the Job, one Job at a time, read when the Job has ended in whatever way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from flow.steps import go, published, report_json, request
from hf_train.errors import LostSight, RefusedByHub, RefusedByPolicy
from hf_train.flow import runs
from hf_train.flow.prepare import prepare
from hf_train.flow.schedule import of_schedule
from hf_train.plan.output import Output, output_of
from hf_train.values import JobSpec, JobState, Secret, Stage
from support.fakes import World

JOB = f"{1:024x}"
RUNNING_LOG = [(1.0, "{'loss': 0.5, 'grad_norm': 1.0, 'learning_rate': 0.01, 'epoch': 2.0}")]


def output(world: World, **flags: Any) -> Output:
    """The output folder of the run that `request` asks for."""
    found = output_of(prepare(request(output="bucket", **flags), world.ports).plan.job)
    assert found is not None
    return found


def leave(world: World, files: dict[str, Any], job: str = JOB, **flags: Any) -> Output:
    """What a Job leaves in its record."""
    folder = output(world, **flags)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        world.reports.stored[f"{folder.bucket}/{folder.record(job)}/{name}"] = text
    return folder


def end(**more: Any) -> dict[str, Any]:
    return {"version": 1, "job": JOB, "exit_code": None, "resumed_from_step": None, "checkpoints": [10, 20], **more}


def test_the_folder_is_there_before_the_job_and_says_whose_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[str] = []
    submit = world.hub.submit

    def watched(spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        there.extend(world.reports.stored)
        return submit(spec, secrets)

    monkeypatch.setattr(world.hub, "submit", watched)
    folder = output(world)
    _, code = go(world, request(output="bucket"))
    assert code == 0
    about = f"{folder.bucket}/{folder.folder}/.hf-train/about.json"
    assert about in there
    said = json.loads(world.reports.stored[about])
    assert (said["repository"], said["sha"], said["run"]) == ("octo/proj", "b" * 40, "train / train")
    assert folder.folder == f"runs/{said['key']}"


def test_without_a_bucket_to_write_to_nothing_is_launched(world: World) -> None:
    world.reports.problem = "HTTP 503"
    with pytest.raises(LostSight):
        go(world, request(output="bucket"))
    assert world.hub.submitted == []


@pytest.mark.parametrize(
    ("message", "stage", "code"),
    [
        ("Job timeout", Stage.ERROR, 5),
        ("Job failed with exit code: 1. Reason: Error", Stage.ERROR, 1),
        ("", Stage.CANCELED, 4),
        ("", Stage.COMPLETED, 0),
    ],
)
@pytest.mark.case(62, 122)
def test_what_was_written_is_reported_however_the_job_ended(
    world: World, message: str, stage: Stage, code: int
) -> None:
    world.hub.life, world.hub.message, world.hub.log = [(0.0, Stage.RUNNING), (9.0, stage)], message, list(RUNNING_LOG)
    folder = leave(world, {"results/all_results.json": {"eval_loss": 0.4012345}, "end.json": end(resumed_from_step=10)})
    _, ended = go(world, request(output="bucket"))
    assert ended == code
    report = report_json(world)
    assert report["metrics"]["eval_loss"] == 0.4012345
    assert report["sources"]["eval_loss"] == "all_results.json (output)"
    assert (report["output"], report["resumed-from-step"], report["checkpoint-step"]) == (folder.address, 10, 20)
    comment = world.files.reports["comment.md"]
    assert f"**Output** `{folder.address}` · resumed from step 10 · newest checkpoint of step 20" in comment
    assert f"hf buckets sync {folder.address} output" in comment
    assert any(folder.address in line and "resumed from step 10" in line for line in world.console.said)


def test_a_run_without_it_reads_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.reports, "contents", None)
    go(world, request())
    report = report_json(world)
    assert (report["output"], report["resumed-from-step"], report["checkpoint-step"]) == ("", None, None)
    assert "**Output**" not in world.files.reports["comment.md"]


def test_a_timeout_says_what_comes_next_when_the_library_resumes(world: World) -> None:
    world.hub.life, world.hub.message = [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)], "Job timeout"
    flag: dict[str, Any] = {"env": "HF_TRAIN_RESUME_FLAG=--resume_from_checkpoint"}
    leave(world, {"end.json": end()}, **flag)
    go(world, request(output="bucket", **flag))
    assert (
        "newest checkpoint of step 20 · the next run of this training goes on from there"
        in world.files.reports["comment.md"]
    )


@pytest.mark.parametrize(
    ("stage", "flags"), [(Stage.COMPLETED, {"env": "HF_TRAIN_RESUME_FLAG=--x"}), (Stage.ERROR, {})]
)
def test_it_promises_no_more_than_it_keeps(world: World, stage: Stage, flags: dict[str, Any]) -> None:
    """A training that is done begins anew, and of own code without the option it is not known what it does."""
    world.hub.life, world.hub.message = [(0.0, Stage.RUNNING), (9.0, stage)], "Job timeout"
    leave(world, {"end.json": end()}, **flags)
    go(world, request(output="bucket", **flags))
    comment = world.files.reports["comment.md"]
    assert "newest checkpoint of step 20" in comment
    assert "the next run" not in comment


@pytest.mark.parametrize(("step", "stored", "told"), [(20, 1.315, True), (20, 1.748, False), (None, 1.315, False)])
def test_a_mean_of_the_rest_is_told_as_such(world: World, step: int | None, stored: float, told: bool) -> None:
    world.hub.log = [(1.0, "{'train_runtime': '3', 'train_loss': '1.315', 'epoch': '4'}")]
    leave(world, {"results/all_results.json": {"train_loss": stored}, "end.json": end(resumed_from_step=step)})
    go(world, request(output="bucket"))
    words = "train_loss leaves out the steps up to 20, from which this Job was resumed."
    assert (words in report_json(world)["problems"]) is told


def test_the_curve_begins_where_the_training_did(world: World) -> None:
    """The log of a resumed Job has its own steps only."""
    world.hub.log = [
        (1.0, f"{{'loss': 0.{9 - step // 10}, 'grad_norm': 1.0, 'epoch': {step / 10}}}") for step in (20, 30)
    ]
    world.hub.log.insert(0, (0.5, "{'loss': 0.8, 'grad_norm': 1.0, 'epoch': 1.0}"))
    rows = [{"step": 1, "loss": 0.95, "epoch": 0.1}, {"step": 10, "loss": 0.8, "epoch": 1.0}]
    leave(world, {"results/trainer_state.json": {"global_step": 10, "log_history": rows}})
    go(world, request(output="bucket"))
    assert report_json(world)["curve"]["loss"][:2] == [[1, 0.95], [10, 0.8]]


def test_of_a_checkpoint_only_what_nothing_else_tells(world: World) -> None:
    world.hub.life, world.hub.message, world.hub.log = (
        [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)],
        "Job timeout",
        list(RUNNING_LOG),
    )
    rows = [{"step": 10, "loss": 2.5, "eval_loss": 1.25, "epoch": 1.0}]
    leave(world, {"results/trainer_state.json": {"global_step": 10, "log_history": rows}})
    go(world, request(output="bucket"))
    report = report_json(world)
    assert (report["metrics"]["loss"], report["sources"]["loss"]) == (0.5, "log")
    assert (report["metrics"]["eval_loss"], report["sources"]["eval_loss"]) == (1.25, "trainer_state.json (output)")
    assert report["problems"] == [], "an older number is no disagreement"


def test_a_metrics_file_needs_no_model_repo(world: World) -> None:
    flags: dict[str, Any] = {"metrics_file": "out/metrics.json"}
    leave(world, {"results/metrics.json": {"f1": 0.75}, "end.json": end()}, **flags)
    _, code = go(world, request(output="bucket", gate="f1 >= 0.7", **flags))
    assert code == 0
    report = report_json(world)
    assert report["sources"] == {"f1": "metrics.json (output)"}
    assert not any("metrics file" in one for one in report["problems"])


def test_a_metrics_file_that_the_repo_does_not_have(world: World) -> None:
    flags: dict[str, Any] = {"metrics_file": "metrics.json", "model_repo": "alice/m"}
    world.hub.repos["alice/m"] = published(files={"all_results.json": b'{"f1": 0.5}'})
    leave(world, {"results/metrics.json": {"f1": 0.75}, "end.json": end()}, **flags)
    go(world, request(output="bucket", **flags))
    report = report_json(world)
    assert report["metrics"]["f1"] == 0.75
    assert not any("is not in the repo" in one for one in report["problems"])


def test_the_traceback_of_the_first_rank_explains_a_silent_log(world: World) -> None:
    world.console.secrets = ("hf_local_hidden",)
    world.hub.life, world.hub.message = [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)], "Job failed with exit code: 1"
    trace = 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: bad hf_local_hidden token'
    leave(world, {"traceback.txt": trace, "end.json": end()})
    go(world, request(output="bucket"))
    report = report_json(world)
    assert report["cause-line"] == "ValueError: bad *** token"


def test_a_record_that_cannot_be_read_changes_no_verdict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RefusedByHub("Not allowed", "The Hub answered 403 for the bucket.", "")

    monkeypatch.setattr(world.reports, "contents", refuse)
    world.hub.log = [(1.0, "hf-train: resumed from step 20 (/output/model/checkpoint-20)"), *RUNNING_LOG]
    _, code = go(world, request(output="bucket"))
    assert code == 0
    report = report_json(world)
    assert "The output folder could not be read: The Hub answered 403 for the bucket." in report["problems"]
    assert report["resumed-from-step"] == 20, "by the log's word"


def test_a_job_that_left_no_record_is_told(world: World) -> None:
    go(world, request(output="bucket"))
    assert "The Job left no record in its output folder." in report_json(world)["problems"]


def test_the_running_comment_says_from_where_it_goes_on(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (900.0, Stage.COMPLETED)]
    world.hub.log = [(1.0, "hf-train: resumed from step 20 (/output/model/checkpoint-20)"), *RUNNING_LOG]
    go(world, request(output="bucket"))
    assert any("Resumed from step 20 · " in body for body in world.pulls.bodies[:-1])


def test_a_re_run_attaches_and_never_writes_beside_a_live_job(world: World) -> None:
    first = World()
    go(first, request(output="bucket"))
    live = replace(first.hub.stored[0], stage=Stage.RUNNING)
    world.hub.existing = [live]
    report, code = go(world, replace(request(output="bucket"), nonce="nonce2"))
    assert (code, world.hub.submitted) == (0, [])
    assert "Attached" in report.reused
    with pytest.raises(RefusedByPolicy, match=f"Job {live.ref.id} of this very training writes to"):
        go(world, replace(request(output="bucket", reuse="never"), nonce="nonce3"))
    assert world.hub.submitted == []


def test_a_new_job_gets_the_folder_of_the_one_that_failed(world: World) -> None:
    world.hub.life, world.hub.message = [(0.0, Stage.RUNNING), (9.0, Stage.ERROR)], "Job timeout"
    go(world, request(output="bucket"))
    world.hub.stored = [replace(one, stage=Stage.ERROR) for one in world.hub.stored]
    go(world, replace(request(output="bucket", timeout="3h", reuse="never"), nonce="nonce2"))
    first, second = (spec.volumes[-1] for spec, _ in world.hub.submitted)
    assert first == second


def test_a_smoke_run_leaves_the_folder_alone(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.COMPLETED)]
    runs.run(request(output="bucket", smoke="args: --max_steps 2"), world.ports)
    smoke, full = (spec for spec, _ in world.hub.submitted)
    assert output_of(smoke) is None
    assert output_of(full) is not None


def test_a_schedule_has_no_output_folder() -> None:
    with pytest.raises(Exception, match="output: all runs of the schedule would write to one folder"):
        of_schedule(request(output="bucket"), dry_run=True)

"""The comment and the check of a run: what is told when, how often, and in which mode."""

from __future__ import annotations

import signal
from dataclasses import replace
from itertools import pairwise

import pytest

from flow.steps import ON_GITHUB, go, report_json, request
from hf_train.errors import Interrupted
from hf_train.values import JobRef, JobState, Stage
from support.fakes import START, World

STEP = "{'loss': '0.5', 'learning_rate': '0.1', 'epoch': '1'}"
EVAL = "{'eval_loss': '0.4', 'eval_accuracy': '0.9', 'epoch': '1'}"
TRACEBACK = """\
Traceback (most recent call last):
  File "/code/train.py", line 9, in <module>
    main()
  File "/code/gone.py", line 3, in main
    import trl
ModuleNotFoundError: No module named 'trl'"""


def headlines(world: World) -> list[str]:
    """The third line of each comment that was written: its verdict."""
    return [body.splitlines()[2] for body in world.pulls.bodies]


def again(world: World, comment: str, mode: str = "wait") -> None:
    """One more run on the same pull request."""
    world.clock.seconds = 0.0
    go(world, request(reuse="never", comment=comment, mode=mode))


def ends(world: World, stage: Stage, accuracy: str = "0.9") -> None:
    """How the next run ends."""
    world.hub.life = [(0.0, Stage.RUNNING), (10.0, stage)]
    world.hub.log = [(1.0, EVAL.replace("0.9", accuracy))]


# ---- the states ----


def test_the_comment_goes_through_all_states(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (20.0, Stage.RUNNING), (250.0, Stage.COMPLETED)]
    world.hub.log = [(100.0, STEP), (240.0, EVAL)]
    go(world)
    assert [line.split(" · ")[0] for line in headlines(world)] == [
        "### 🕐 Training is queued",
        "### ⏳ Training is starting",
        "### 🏃 Training is running",
        "### ✅ Training completed",
    ]


def test_lines_that_are_no_training_are_still_a_start(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (200.0, Stage.COMPLETED)]
    world.hub.log = [(float(second), "Collecting torch") for second in range(5, 190, 5)]
    go(world)
    assert not any("running" in line for line in headlines(world))
    assert any("starting" in line for line in headlines(world))


def test_the_running_comment_says_how_far_it_is(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (900.0, Stage.COMPLETED)]
    bar = "{percent}%|###       | {step}/400 [00:10<02:00,  3.00it/s]"
    world.hub.log = [(float(at), bar.format(percent=at // 4, step=at)) for at in range(40, 400, 20)]
    go(world)
    live = next(body for body in world.pulls.bodies if "running" in body.splitlines()[2])
    assert "**Step " in live
    assert "/400** (" in live
    assert " left · running for " in live
    assert " so far · `cpu-basic`" in live


# ---- how often ----


def timed(world: World, call: str) -> list[float]:
    """When GitHub gets this call, in seconds of the run; filled as it goes."""
    times: list[float] = []
    original = getattr(world.pulls, call)

    def noted(*values: object) -> object:
        times.append(world.clock.seconds)
        return original(*values)

    setattr(world.pulls, call, noted)
    return times


def test_time_alone_writes_no_more_than_once_in_five_minutes(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (3600.0, Stage.RUNNING), (7200.0, Stage.COMPLETED)]
    world.hub.log = [(3700.0 + 7 * n, STEP) for n in range(480)]
    written, checked = timed(world, "upsert_comment"), timed(world, "write_check")
    go(world, request(check="true", queue_timeout="3h", timeout="3h"))
    states = 4
    assert 7200 / 300 / 2 < len(written) <= 7200 / 300 + states
    between = [later - earlier for earlier, later in pairwise(written)]
    assert sum(gap < 300 for gap in between) <= states - 1, "only a new state comes sooner"
    assert len(checked) <= len(written)


def test_a_flickering_log_writes_no_more(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.SCHEDULING), (10.0, Stage.RUNNING), (280.0, Stage.COMPLETED)]
    world.hub.log = [(3.0, STEP)]
    go(world)
    assert len(world.pulls.bodies) <= 4


def test_what_is_unchanged_is_not_written(world: World) -> None:
    frozen = JobState(ref=JobRef(id="0" * 23 + "1", namespace="alice", url="u"), stage=Stage.RUNNING, started_at=START)
    done = replace(frozen, stage=Stage.COMPLETED)
    world.hub.life = [(0.0, frozen), (3600.0, done)]
    go(world, request(check="true", timeout="2h"))
    assert len(world.pulls.bodies) == 3, "queued, starting, completed"
    assert len(world.pulls.checks) == 3


# ---- the modes ----


def test_on_change_a_failure_after_a_success_is_told_and_the_way_back_too(world: World) -> None:
    for stage in (Stage.COMPLETED, Stage.COMPLETED, Stage.ERROR, Stage.ERROR, Stage.COMPLETED):
        ends(world, stage)
        again(world, comment="on-change")
    assert [line.split()[1] for line in headlines(world)] == ["✅", "❌", "✅"]


def test_on_change_a_new_number_is_news(world: World) -> None:
    for accuracy in ("0.9", "0.9", "0.8"):
        ends(world, Stage.COMPLETED, accuracy)
        again(world, comment="on-change")
    assert len(world.pulls.bodies) == 2


def test_on_failure_nothing_is_written_while_all_is_well(world: World) -> None:
    for accuracy in ("0.9", "0.8"):
        ends(world, Stage.COMPLETED, accuracy)
        again(world, comment="on-failure")
    assert world.pulls.bodies == []


def test_on_failure_a_failure_after_a_success_is_told_and_a_success_mends_the_old_comment(world: World) -> None:
    for stage in (Stage.COMPLETED, Stage.ERROR, Stage.COMPLETED, Stage.COMPLETED):
        ends(world, stage)
        again(world, comment="on-failure")
    assert [line.split()[1] for line in headlines(world)] == ["❌", "✅"], "the same success again is no news"


def test_on_failure_a_detached_run_leaves_the_old_comment(world: World) -> None:
    ends(world, Stage.ERROR)
    again(world, comment="on-failure")
    ends(world, Stage.COMPLETED)
    again(world, comment="on-failure", mode="detach")
    assert len(world.pulls.bodies) == 1


@pytest.mark.parametrize("mode", ["on-change", "on-failure", "never"])
def test_quiet_modes_write_nothing_while_the_job_lives(world: World, mode: str) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (400.0, Stage.RUNNING), (2000.0, Stage.ERROR)]
    world.hub.log = [(500.0, STEP)]
    go(world, request(comment=mode))
    assert len(world.pulls.bodies) == (0 if mode == "never" else 1)


def test_legs_and_workflows_have_their_own_comments(world: World) -> None:
    keys = []
    for context in (
        replace(ON_GITHUB, matrix="lr=0.1"),
        replace(ON_GITHUB, matrix="lr=0.2"),
        replace(ON_GITHUB, workflow="nightly"),
    ):
        world.clock.seconds = 0.0
        go(world, request(context, reuse="never"))
        keys.append(world.pulls.bodies[-1].splitlines()[0])
    assert keys == [
        "<!-- hf-train:train / train / lr=0.1 -->",
        "<!-- hf-train:train / train / lr=0.2 -->",
        "<!-- hf-train:nightly / train -->",
    ]


# ---- the line of the repository ----


def test_the_traceback_points_at_a_file_of_the_repository(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    world.hub.message = "Job failed with exit code: 1. Reason: Error"
    world.hub.log = [(1.0, line) for line in TRACEBACK.split("\n")]
    go(world, request(check="true"))
    (remark,) = world.pulls.annotations
    assert (remark.path, remark.line) == ("train.py", 9), "gone.py is no file of the checkout"
    assert remark.message == "ModuleNotFoundError: No module named 'trl'"
    assert world.console.places == [("train.py", 9)]
    assert report_json(world)["cause-frame"] == {"path": "train.py", "line": 9}
    assert "At [`train.py:9`](https://github.com/octo/proj/blob/" in world.files.reports["comment.md"]


def test_a_remark_is_redacted(world: World) -> None:
    world.console.secrets = ("hf_localsecret1",)
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    world.hub.log = [(1.0, line.replace("'trl'", "hf_localsecret1")) for line in TRACEBACK.split("\n")]
    go(world, request(check="true"))
    (remark,) = world.pulls.annotations
    assert "hf_localsecret1" not in remark.message
    assert "***" in remark.message


def test_a_remark_on_the_gate_is_redacted_too(world: World) -> None:
    world.console.secrets = ("0.987654",)
    world.hub.log = [(1.0, EVAL)]
    go(world, request(check="true", gate="eval_accuracy >= 0.987654"))
    (remark,) = world.pulls.annotations
    assert remark.message.startswith("eval_accuracy >= ***")


def test_without_code_of_ours_nothing_is_pointed_at(world: World) -> None:
    world.workspace.files["none/train.py"] = "print(1)"
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    world.hub.log = [(1.0, line) for line in TRACEBACK.split("\n")]
    go(world, request(check="true", path="none"))
    assert world.pulls.annotations == []
    assert world.console.places == []


def test_a_traceback_of_a_training_that_completed_is_no_remark(world: World) -> None:
    world.hub.log = [(1.0, line) for line in TRACEBACK.split("\n")] + [(2.0, EVAL)]
    go(world, request(check="true"))
    assert world.pulls.annotations == []


def test_a_gate_that_failed_is_a_remark_of_the_check_only(world: World) -> None:
    world.hub.log = [(1.0, EVAL)]
    assert go(world, request(check="true", gate="eval_accuracy >= 0.95"))[1] == 7
    (remark,) = world.pulls.annotations
    assert (remark.path, remark.title) == (".github", "Gate failed")
    assert world.console.places == []


# ---- GitHub's limits ----


LIFE: list[tuple[float, Stage]] = [(0.0, Stage.SCHEDULING), (20.0, Stage.RUNNING), (250.0, Stage.COMPLETED)]


@pytest.mark.case(98)
@pytest.mark.parametrize(
    ("pauses", "told", "waited"),
    [
        pytest.param([30.0], True, 30.0, id="once"),
        pytest.param([20.0, 40.0], True, 60.0, id="twice"),
        pytest.param([20.0, 41.0], False, 20.0, id="more than a minute in all"),
        pytest.param([3600.0], False, 0.0, id="an hour"),
        pytest.param([1.0] * 5, False, 2.0, id="again and again"),
    ],
)
def test_the_last_word_waits_for_github_but_not_long(
    world: World, pauses: list[float], told: bool, waited: float
) -> None:
    world.hub.life, world.hub.log = list(LIFE), [(100.0, STEP), (240.0, EVAL)]
    times = timed(world, "upsert_comment")
    left = list(pauses)
    world.pulls.limit = lambda body: left.pop(0) if left and "Training completed" in body else 0.0
    report, code = go(world)
    assert code == 0, "a limit of GitHub's is no verdict"
    assert ("completed" in headlines(world)[-1]) is told
    assert times[-1] - times[3] == waited
    assert any("GitHub limits" in one for one in report.problems) is not told


@pytest.mark.case(98)
def test_what_is_said_on_the_way_never_waits_and_leaves_github_alone(world: World) -> None:
    world.hub.life, world.hub.log = list(LIFE), [(100.0, STEP), (240.0, EVAL)]
    times = timed(world, "upsert_comment")
    world.pulls.limit = lambda body: 40.0 if "is queued" in body else 0.0
    go(world)
    assert [line.split(" · ")[0] for line in headlines(world)] == [
        "### 🏃 Training is running",
        "### ✅ Training completed",
    ]
    assert len(times) == 3, "nothing was asked for while GitHub wanted quiet"
    assert times[-1] < 300.0


@pytest.mark.case(54, 98)
def test_a_cancelled_run_does_not_wait_for_github(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    times = timed(world, "upsert_comment")
    world.pulls.limit = lambda body: 30.0 if "Cancelled" in body else 0.0

    def stop(seconds: float) -> None:
        if seconds > 60 and not world.hub.cancelled:
            world.clock.on_sleep = None
            raise Interrupted(signal.SIGTERM)

    world.clock.on_sleep = stop
    report, code = go(world)
    assert code == 143
    assert "GitHub limits" in " ".join(report.problems)
    assert world.clock.seconds < 65.0 + 1.0
    assert len([at for at in times if at > 60]) == 1


@pytest.mark.case(54, 98)
def test_a_signal_while_the_last_word_waits_ends_the_wait(world: World) -> None:
    world.hub.life, world.hub.log = list(LIFE), [(240.0, EVAL)]
    times = timed(world, "upsert_comment")

    def limit(body: str) -> float:
        if "Training completed" not in body:
            return 0.0

        def stop(_seconds: float) -> None:
            world.clock.on_sleep = None
            raise Interrupted(signal.SIGTERM)

        world.clock.on_sleep = stop if len(times) == 4 else None
        return 30.0

    world.pulls.limit = limit
    report, code = go(world)
    assert code == 0, "the training completed, and that is known"
    assert len(times) == 5, "once more, and no wait after it"
    assert "GitHub limits" in " ".join(report.problems)

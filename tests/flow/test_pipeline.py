"""Each ending of a run: what is reported, in which order, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, go, published, report_json, request
from hf_train.context import Context
from hf_train.errors import (
    BadInput,
    Interrupted,
    JobGone,
    LostSight,
    RefusedByHub,
    RefusedByPolicy,
    TransientHubError,
)
from hf_train.flow.prepare import Request
from hf_train.ports import Account
from hf_train.values import JobRef, JobState, Stage
from support.fakes import World

STEP = "{'loss': '0.5', 'learning_rate': '0.1', 'epoch': '1'}"
EVAL = "{'eval_loss': '0.4', 'eval_accuracy': '0.9', 'epoch': '1'}"


def test_completed_with_a_model(world: World) -> None:
    world.hub.log = [(1.0, STEP), (2.0, EVAL)]
    world.hub.repos["alice/m"] = published(
        files={"all_results.json": b'{"eval_accuracy": 0.9012, "eval_loss": 0.4011}'}
    )
    report, code = go(world, request(model_repo="alice/m"))
    assert code == 0
    metrics = {m.name: (m.value, m.source) for m in report.findings.metrics}
    assert metrics["eval_accuracy"] == (0.9012, "all_results.json")
    assert metrics["loss"] == (0.5, "log")
    outputs = world.files.output_values
    assert outputs["stage"] == "COMPLETED"
    assert outputs["model-revision"] == "d" * 40
    assert json.loads(outputs["metrics"])["eval_accuracy"] == 0.9012
    assert outputs["comment-url"].startswith("https://github.test/pull/7")
    assert world.files.state is None, "nothing is left for the cleanup step"


def test_the_comment_lives(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (20.0, Stage.RUNNING), (900.0, Stage.COMPLETED)]
    world.hub.log = [(30.0, STEP), (400.0, "{'loss': '0.4', 'epoch': '2'}"), (899.0, EVAL)]
    go(world)
    headlines = [body.splitlines()[2] for body in world.pulls.bodies]
    assert "queued" in headlines[0]
    assert any("running" in line for line in headlines[1:-1])
    assert "completed" in headlines[-1]
    assert len(headlines) <= 6, "no more than one live edit in five minutes"


def test_the_id_is_an_output_before_the_end(world: World) -> None:
    seen: list[str] = []
    world.clock.on_sleep = lambda _s: seen.append(world.files.output_values.get("job-id", ""))
    world.hub.life = [(0.0, Stage.SCHEDULING), (5.0, Stage.COMPLETED)]
    report, _ = go(world)
    assert report.ref is not None
    assert seen[1] == report.ref.id, "as soon as it is clear that this is the one Job"


def test_failed_training_is_reported_before_it_is_red(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    world.hub.message = "Job failed with exit code: 1. Reason: Error"
    world.hub.log = [(1.0, "Traceback (most recent call last):"), (1.0, "ModuleNotFoundError: No module named 'trl'")]
    report, code = go(world)
    assert code == 1
    assert "exit code 1" in world.pulls.bodies[-1]
    assert "No module named 'trl'" in world.pulls.bodies[-1]
    assert report.findings.cause == "import"
    assert any(kind == "error" for kind, _, _ in world.console.annotations)


@pytest.mark.case(63)
@pytest.mark.case(60)
@pytest.mark.parametrize(
    ("stage", "message", "code", "reason"),
    [
        (Stage.ERROR, "Job timeout", 5, "timeout"),
        (Stage.ERROR, "Job failed with exit code: 137. Reason: OOMKilled", 1, "out-of-memory"),
        (Stage.ERROR, "", 1, "failed"),
        (Stage.CANCELED, "", 4, "cancelled-on-hub"),
        (Stage.DELETED, "", 4, "deleted-on-hub"),
        (Stage.COMPLETED, "", 0, "completed"),
    ],
)
def test_the_stage_is_the_verdict(world: World, stage: Stage, message: str, code: int, reason: str) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, stage)]
    world.hub.message = message
    world.hub.log = [(1.0, "Training complete! Everything is fine. Error: no error.")]
    assert go(world)[1] == code
    assert report_json(world)["reason"] == reason


@pytest.mark.case(61)
def test_case_61_completed_but_nothing_published(world: World) -> None:
    report, code = go(world, request(model_repo="alice/m"))
    assert code == 6
    assert "nothing was published" in world.pulls.bodies[-1]
    assert report.findings.model is None


def test_a_diverged_run_is_a_warning(world: World) -> None:
    world.hub.log = [
        (1.0, "{'loss': '0', 'grad_norm': 'nan', 'epoch': '1'}"),
        (2.0, "{'eval_loss': 'nan', 'epoch': '1'}"),
    ]
    report, code = go(world)
    assert code == 0
    assert report.findings.diverged
    assert "diverged" in world.pulls.bodies[-1]
    assert json.loads(world.files.output_values["metrics"])["eval_loss"] is None


@pytest.mark.case(10, 75)
def test_case_75_log_words_never_make_it_red_or_green(world: World) -> None:
    world.hub.log = [(1.0, "Traceback (most recent call last):"), (1.0, "RuntimeError: CUDA out of memory")]
    report, code = go(world)
    assert code == 0
    assert report.findings.cause is None


@pytest.mark.case(54)
@pytest.mark.parametrize("signum", [2, 15])
def test_case_54_a_signal_cancels_first_and_reports_then(world: World, signum: int) -> None:
    def strike(now: float) -> None:
        if now > 3:
            world.clock.on_sleep = None
            raise Interrupted(signum)

    world.clock.on_sleep = strike
    world.hub.life = [(0.0, Stage.RUNNING)]
    report, code = go(world)
    assert code == 128 + signum
    assert world.hub.cancelled == [report.ref.id if report.ref else ""]
    assert "Cancelled with the workflow" in world.pulls.bodies[-1]
    assert report_json(world)["stage"] == "CANCELED"
    assert world.files.state is None


@pytest.mark.parametrize(
    ("asked", "cancelled", "told"),
    [({}, 1, "Cancelled"), ({"on_cancel": "keep"}, 0, "Not followed any more")],
)
def test_a_bug_of_ours_leaves_no_job_that_nobody_follows(
    world: World, asked: dict[str, Any], cancelled: int, told: str
) -> None:
    def bug(lines: object) -> None:
        raise RuntimeError(f"a bug with {lines!r}")

    world.hub.life = [(0.0, Stage.RUNNING)]
    world.hub.log = [(1.0, STEP)]
    world.console.remote = bug  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="a bug with"):
        go(world, request(**asked))
    assert len(world.hub.cancelled) == cancelled
    assert told in [title for _, title, _ in world.console.annotations]
    assert (world.files.state is None) == bool(cancelled), "the cleanup step looks again where nothing is known"


def test_a_hub_that_does_not_answer_at_the_start_is_told_once(world: World) -> None:
    whoami, asked = world.hub.whoami, 0

    def late() -> Account:
        nonlocal asked
        asked += 1
        if asked < 4:
            raise TransientHubError("HTTP 502 for whoami")
        return whoami()

    world.hub.whoami = late  # type: ignore[method-assign]
    assert go(world)[1] == 0
    told = [words for words in world.console.said if "does not answer" in words]
    assert len(told) == 1
    assert "HTTP 502 for whoami" in told[0]


@pytest.mark.case(54)
@pytest.mark.parametrize("ends_after", [0, 1, 3])
def test_a_cancel_whose_answer_is_lost_is_told_by_what_is_seen_of_the_job(world: World, ends_after: int) -> None:
    cancel, glance, glances = world.hub.cancel, world.hub.glance, 0

    def strike(now: float) -> None:
        if now > 3:
            world.clock.on_sleep = None
            raise Interrupted(15)

    def unanswered(ref: JobRef) -> None:
        raise TransientHubError(f"no answer for {ref.id}")

    def late(ref: JobRef) -> JobState | None:
        nonlocal glances
        glances += 1
        if glances == 2 + ends_after:  # the first asks whose Job it is
            cancel(ref)
        return glance(ref)

    world.hub.cancel, world.hub.glance = unanswered, late  # type: ignore[method-assign]
    world.clock.on_sleep = strike
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world)
    assert code == 143
    assert report_json(world)["stage"] == "CANCELED"
    assert "Cancelled with the workflow" in world.pulls.bodies[-1]
    assert world.clock.seconds < 8, "a runner kills after 10 s"


@pytest.mark.case(54)
def test_on_cancel_keep(world: World) -> None:
    def strike(now: float) -> None:
        if now > 3:
            world.clock.on_sleep = None
            raise Interrupted(2)

    world.clock.on_sleep = strike
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world, request(on_cancel="keep"))
    assert code == 130
    assert world.hub.cancelled == []
    assert "runs on" in world.pulls.bodies[-1]


@pytest.mark.case(55)
def test_case_55_a_signal_during_the_post(world: World) -> None:
    world.hub.submit_errors = [Interrupted(15)]
    world.hub.submit_stores_before_error = True
    report, code = go(world)
    assert code == 143
    assert len(world.hub.cancelled) == 1
    assert report.state is not None
    assert report_json(world)["stage"] == "CANCELED"


@pytest.mark.case(66)
def test_case_66_a_post_without_an_answer_is_adopted_not_repeated(world: World) -> None:
    world.hub.submit_errors = [TransientHubError("reset")]
    world.hub.submit_stores_before_error = True
    _, code = go(world)
    assert code == 0
    assert len(world.hub.submitted) == 1


@pytest.mark.case(66)
def test_case_66_a_post_that_never_arrived_is_sent_once_more(world: World) -> None:
    world.hub.submit_errors = [TransientHubError("reset")]
    _, code = go(world)
    assert code == 0
    assert len(world.hub.submitted) == 2
    nonces = {spec.labels["hft-nonce"] for spec, _ in world.hub.submitted}
    assert len(nonces) == 1, "the same launch, so the same nonce"


@pytest.mark.case(68)
def test_case_68_a_clear_no_is_reported_and_not_repeated(world: World) -> None:
    world.hub.submit_errors = [RefusedByHub("No credit", "The Hub answered 402.", "Add credit.")]
    with pytest.raises(RefusedByHub):
        go(world)
    assert len(world.hub.submitted) == 1
    assert "Not started: No credit" in world.pulls.bodies[-1]
    assert world.files.output_values["exit-code"] == "3"


@pytest.mark.case(69)
def test_case_69_a_live_job_of_the_same_training_is_attached_to(world: World) -> None:
    first, _ = go(world)
    assert first.state is not None
    world.clock.seconds = 0.0
    again, code = go(world, request())
    assert code == 0
    assert len(world.hub.submitted) == 1
    assert "Attached" in again.reused


@pytest.mark.case(69)
def test_reuse_never_pays_again(world: World) -> None:
    go(world)
    world.clock.seconds = 0.0
    go(world, request(reuse="never"))
    assert len(world.hub.submitted) == 2


@pytest.mark.case(70)
def test_case_70_labels_alone_are_not_trusted(world: World) -> None:
    go(world)
    stored = world.hub.stored[0]
    world.hub.stored = []
    world.hub.existing = [type(stored)(ref=stored.ref, stage=Stage.RUNNING, labels=stored.labels, image="evil:1")]
    world.clock.seconds = 0.0
    go(world, request())
    assert len(world.hub.submitted) == 2


@pytest.mark.case(71)
def test_case_71_no_hardware(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING)]
    _, code = go(world, request(queue_timeout="10m"))
    assert code == 75
    assert len(world.hub.cancelled) == 1
    assert 600 <= world.clock.seconds < 640


@pytest.mark.case(58)
def test_case_58_the_watch_has_an_end(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world, request(watch_timeout="1h"))
    assert code == 75
    assert world.hub.cancelled == []
    assert world.files.output_values["job-id"]


@pytest.mark.case(58)
def test_case_58_detach_on_request(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING)]
    _, code = go(world, request(watch_timeout="1h", on_watch_timeout="detach"))
    assert code == 0
    assert report_json(world)["reason"] == "detached"


def test_mode_detach(world: World) -> None:
    _, code = go(world, request(mode="detach"))
    assert code == 0
    assert world.hub.looks == 0
    assert "goes on" in world.pulls.bodies[-1]


@pytest.mark.case(90)
def test_case_90_a_comment_that_fails_changes_nothing(world: World) -> None:
    world.pulls.problem = "the GitHub token may not write here"
    _, code = go(world)
    assert code == 0
    assert any("may not write here" in problem for problem in report_json(world)["problems"])
    assert world.files.output_values["comment-file"] == "report/comment.md"


@pytest.mark.parametrize(("mode", "stage", "count"), [("never", Stage.ERROR, 0), ("on-failure", Stage.COMPLETED, 0)])
def test_comment_modes_that_stay_quiet(world: World, mode: str, stage: Stage, count: int) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, stage)]
    go(world, request(comment=mode))
    assert len(world.pulls.bodies) == count


def test_comment_on_failure(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    go(world, request(comment="on-failure"))
    assert len(world.pulls.bodies) == 1


def test_comment_on_change(world: World) -> None:
    world.hub.log = [(1.0, EVAL)]
    go(world, request(comment="on-change", reuse="never"))
    world.clock.seconds = 0.0
    go(world, request(comment="on-change", reuse="never"))
    assert len(world.pulls.bodies) == 1, "the same numbers again say nothing new"
    world.clock.seconds = 0.0
    world.hub.log = [(1.0, EVAL.replace("0.9", "0.8"))]
    go(world, request(comment="on-change", reuse="never"))
    assert len(world.pulls.bodies) == 2


def test_check_run(world: World) -> None:
    go(world, request(check="true"))
    assert [conclusion for _, conclusion, _ in world.pulls.checks] == [None, None, "success"], "queued, starting, ended"


@pytest.mark.case(103)
def test_outside_of_a_pull_request_there_is_no_comment(world: World) -> None:
    _, code = go(world, request(Context()))
    assert code == 0
    assert world.pulls.bodies == []
    assert world.files.summaries


def test_bad_workspace_is_told_whole_and_asks_the_hub_nothing(world: World) -> None:
    world.hub.whoami = None  # type: ignore[method-assign,assignment]
    asked = request(script="missing.py", volumes="./data:/data", secrets="WANDB_API_KEY")
    with pytest.raises(BadInput) as caught:
        go(world, asked)
    text = str(caught.value)
    assert "missing.py" in text
    assert "./data" in text
    assert "WANDB_API_KEY" in text
    assert world.hub.submitted == []


@pytest.mark.case(22)
def test_case_22_over_max_cost_nothing_is_sent(world: World) -> None:
    with pytest.raises(RefusedByPolicy):
        go(world, request(max_cost="0.0001"))
    assert world.hub.submitted == []
    assert world.workspace.uploads == []


@pytest.mark.case(20)
def test_secrets_reach_the_job_byte_for_byte_and_nothing_else(world: World) -> None:
    value = 'line 1\nline "2" # $HOME\n'
    go(world, request(environ={"MY_SECRET": value}, secrets="MY_SECRET"))
    spec, secrets = world.hub.submitted[0]
    assert secrets == {"MY_SECRET": value}
    assert value not in repr(spec)


@pytest.mark.case(76)
def test_case_76_ten_minutes_of_502_change_nothing(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (100.0, TransientHubError("HTTP 502")), (700.0, Stage.COMPLETED)]
    assert go(world)[1] == 0


@pytest.mark.case(76)
def test_case_76_an_outage_that_lasts_is_lost_sight_without_a_cancel(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (100.0, TransientHubError("HTTP 502"))]
    _, code = go(world)
    assert code == 75
    assert world.hub.cancelled == []


@pytest.mark.case(64)
def test_case_64_a_job_that_is_gone(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (60.0, JobGone("x"))]
    world.clock.on_sleep = lambda now: world.hub.stored.clear() if now > 60 else None
    assert go(world)[1] == 4


def test_a_404_right_after_the_launch_is_waited_out(world: World) -> None:
    world.hub.life = [(0.0, JobGone("x")), (4.0, Stage.RUNNING), (20.0, Stage.COMPLETED)]
    assert go(world)[1] == 0


@pytest.mark.case(60, 74)
def test_an_unknown_stage_is_waited_out_with_one_warning(world: World) -> None:
    ref = JobRef(id=f"{1:024x}", namespace="alice", url="u")
    paused = JobState(ref=ref, stage=Stage.UNKNOWN, stage_text="PAUSED")
    world.hub.life = [(0.0, paused), (60.0, replace(paused, stage=Stage.COMPLETED, stage_text=""))]
    assert go(world)[1] == 0
    assert sum(title == "Unknown stage" for _, title, _ in world.console.annotations) == 1


@pytest.mark.case(76)
def test_one_hour_of_watching_costs_few_calls(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (3600.0, Stage.COMPLETED)]
    world.hub.log = [(float(s), STEP) for s in range(0, 3600, 7)]
    go(world)
    assert world.hub.looks <= 150


@pytest.mark.case(76)
def test_retry_after_is_honoured(world: World) -> None:
    world.hub.life = [(0.0, TransientHubError("HTTP 429", 55.0)), (50.0, Stage.COMPLETED)]
    go(world)
    assert world.hub.looks == 2


def test_the_request_names_its_context() -> None:
    asked: Request = request()
    assert asked.context is ON_GITHUB


@pytest.mark.case(18)
@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment"])
def test_case_18_a_pull_requests_code_in_a_privileged_event_is_refused(world: World, event: str) -> None:
    privileged = replace(ON_GITHUB, event=event)  # the fake workspace is at another commit than GITHUB_SHA
    with pytest.raises(RefusedByPolicy, match="secrets"):
        go(world, request(privileged))
    assert world.hub.submitted == []
    assert world.workspace.uploads == []


@pytest.mark.case(18)
def test_case_18_the_base_repositorys_own_code_may_run(world: World) -> None:
    own = replace(ON_GITHUB, event="pull_request_target", sha="a" * 40)
    assert go(world, request(own))[1] == 0


def test_a_signal_while_results_are_collected_shortens_the_report_and_does_not_lose_it(world: World) -> None:
    world.hub.log = [(1.0, EVAL)]

    def interrupted(*_args: object) -> None:
        world.hub.published = lambda *_a: published()  # type: ignore[method-assign]
        raise Interrupted(2)

    world.hub.published = interrupted  # type: ignore[method-assign,assignment]
    report, code = go(world, request(model_repo="alice/m", require_model="false"))
    assert code == 0
    assert {m.name for m in report.findings.metrics} >= {"eval_accuracy"}
    assert any("cancelled while the results" in problem for problem in report_json(world)["problems"])
    assert world.pulls.bodies[-1].count("completed") == 1


def test_a_signal_while_the_report_is_written_does_not_lose_it(world: World) -> None:
    write = world.files.report

    def interrupted(name: str, content: str) -> str:
        world.files.report = write  # type: ignore[method-assign]
        raise Interrupted(15)

    world.files.report = interrupted  # type: ignore[method-assign]
    _, code = go(world)
    assert code == 0
    assert "report.json" in world.files.reports


@pytest.mark.case(82)
def test_a_long_log_is_taken_to_its_last_line(world: World) -> None:
    """The stream has ended while the feed still holds many batches: the last lines are the metrics."""
    world.hub.life = [(0.0, Stage.RUNNING), (0.5, Stage.COMPLETED)]
    world.hub.log = [(0.0, f"line {number}") for number in range(1000)] + [(0.0, EVAL)]
    world.hub.log_batch, world.hub.log_held = 10, 2000
    report, _ = go(world)
    assert len(world.console.remote_lines) == 1001
    assert "eval_accuracy" in {metric.name for metric in report.findings.metrics}


@pytest.mark.case(66)
@pytest.mark.parametrize("bad", [RefusedByHub("Refused", "The Hub answered 403.", ""), JobGone("x")])
def test_one_no_in_the_list_is_no_answer_to_an_unclear_launch(
    bad: Exception, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.hub.submit_errors = [TransientHubError("reset")]
    world.hub.submit_stores_before_error = True
    find, answers = world.hub.find, [bad]

    def once(namespace: str, labels: dict[str, str]) -> object:
        if "hft-nonce" in labels and answers:
            raise answers.pop()
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", once)
    assert go(world)[1] == 0
    assert (len(world.hub.submitted), answers) == (1, [])


@pytest.mark.case(66)
@pytest.mark.parametrize("bad", [RefusedByHub("Refused", "The Hub answered 403.", ""), TransientHubError("HTTP 503")])
def test_a_launch_that_nobody_can_look_for_is_not_sent_again(
    bad: Exception, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.hub.submit_errors = [TransientHubError("reset")]
    world.hub.submit_stores_before_error = True
    find = world.hub.find

    def never(namespace: str, labels: dict[str, str]) -> object:
        if "hft-nonce" in labels:
            raise bad
        return find(namespace, labels)

    monkeypatch.setattr(world.hub, "find", never)
    with pytest.raises(LostSight, match="hft-nonce=nonce1"):
        go(world)
    assert len(world.hub.submitted) == 1
    assert world.files.state is not None, "the cleanup looks again"


@pytest.mark.case(66)
def test_a_refusal_after_an_unclear_launch_keeps_the_cleanup_armed(world: World) -> None:
    world.hub.submit_errors = [TransientHubError("reset"), RefusedByHub("No credit", "The Hub answered 402.", "")]
    with pytest.raises(LostSight, match="402"):
        go(world)
    assert world.files.state is not None

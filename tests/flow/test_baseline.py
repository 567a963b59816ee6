"""What a run is compared with, and what the gate makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flow.steps import ON_GITHUB, PULL, go, published, report_json, request
from hf_train.context import Context, Pull
from hf_train.errors import BadInput, RefusedByHub, TransientHubError
from hf_train.values import Snapshot, Stage
from support.fakes import World

A, B, HEAD, MERGE = "a" * 40, "e" * 40, "b" * 40, "c" * 40
ON_MAIN = replace(ON_GITHUB, event="push", pull=None, sha=A, ref="refs/heads/main", run_id="50")
ON_PULL = replace(ON_GITHUB, pull=replace(PULL, base_sha=A, base_ref="main"), ref="refs/pull/7/merge")


def train(world: World, context: Context, accuracy: str, **flags: str) -> int:
    """One run with this accuracy; a run on main has an id of its own, below that of the pull request."""
    world.clock.seconds += 60.0
    if context.pull is None and context.run_id == "50":
        context = replace(context, run_id=str(50 + len(world.hub.submitted)))
    began = world.clock.seconds
    world.hub.life = [(0.0, Stage.RUNNING), (began + 10.0, Stage.COMPLETED)]
    world.hub.log = [
        (began + 1.0, f"{{'loss': '0.5', 'epoch': '0.5'}}\n{{'eval_accuracy': '{accuracy}', 'epoch': '1'}}")
    ]
    return go(world, request(context, None, reuse="never", **flags))[1]


def baseline(world: World) -> str:
    """What the newest run was compared with."""
    found = report_json(world)["baseline"]
    return found["name"] if found else ""


def problems(world: World) -> str:
    """Its problems, in one text."""
    return " ".join(report_json(world)["problems"])


def stored(world: World, folder: str = "reports") -> list[str]:
    """Reports in a folder."""
    return [path for path in world.reports.stored if "/reports/" in path and f"/{folder}/" in path]


# ---- which run ----


def test_a_pull_request_is_compared_with_its_base_commit(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    assert train(world, ON_PULL, "0.92") == 0
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.02)
    comment = world.files.reports["comment.md"]
    assert "base commit aaaaaaa" in comment
    assert "+0.02 🟢" in comment


def test_the_merge_base_comes_before_the_base_commit_of_the_event(world: World) -> None:
    # main moved on to A after the pull request was forked at B.
    train(world, replace(ON_MAIN, sha=B), "0.80")
    train(world, replace(ON_MAIN, sha=A), "0.90")
    world.pulls.merge_bases = {("main", HEAD): B}
    train(world, replace(ON_PULL, sha=HEAD), "0.85")
    assert baseline(world) == "merge base eeeeeee"
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.05)


@pytest.mark.case(102)
def test_a_merge_commit_is_compared_with_the_base_that_went_into_it(world: World) -> None:
    # The event's base commit (A) is older than the tip (B) that GitHub merged.
    train(world, replace(ON_MAIN, sha=B), "0.95")
    world.pulls.merge_bases = {("main", MERGE): B}
    train(world, ON_PULL, "0.90")
    assert world.pulls.compared == [("main", MERGE)]
    assert baseline(world) == "merge base eeeeeee"


def test_what_was_trained_is_what_a_report_is_stored_under(world: World) -> None:
    train(world, ON_PULL, "0.9")
    assert stored(world, f"commits/{MERGE}")
    assert not stored(world, f"commits/{HEAD}"), "the head was not trained, its merge commit was"
    assert not stored(world, "branches")


def test_a_base_that_was_force_pushed_away_leaves_the_branch(world: World) -> None:
    train(world, replace(ON_MAIN, sha=B), "0.90")
    gone = replace(ON_PULL, pull=replace(PULL, base_sha="9" * 40, base_ref="main"))
    train(world, gone, "0.80")
    assert baseline(world) == "branch main"
    assert "🔴" in world.files.reports["comment.md"]


def test_without_github_the_events_base_commit_is_taken(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    world.pulls.problem = "GitHub does not answer"
    train(world, ON_PULL, "0.92")
    assert baseline(world) == "base commit aaaaaaa"


def test_a_push_is_compared_with_the_run_before_it(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    train(world, replace(ON_MAIN, sha=B), "0.91")
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.01)


def test_a_rerun_is_not_compared_with_its_own_first_attempt(world: World) -> None:
    train(world, replace(ON_MAIN, run_id="60"), "0.90")
    train(world, replace(ON_MAIN, run_id="60", run_attempt=2), "0.95")
    assert baseline(world) == ""
    train(world, replace(ON_MAIN, run_id="61"), "0.95")
    assert baseline(world) == "branch main"


@pytest.mark.parametrize("name", ["branch:main", f"commit:{A}", "run:60"])
def test_not_even_when_the_first_attempt_is_named(world: World, name: str) -> None:
    train(world, replace(ON_MAIN, run_id="60"), "0.90")
    train(world, replace(ON_MAIN, run_id="60", run_attempt=2), "0.95", baseline=name)
    assert baseline(world) == ""


def test_a_job_that_is_taken_over_is_not_compared_with_itself(world: World) -> None:
    train(world, replace(ON_MAIN, run_id="60"), "0.90")
    job = report_json(world)["job-id"]
    for path in stored(world):  # as if another workflow run had stored it
        world.reports.stored[path] = world.reports.stored[path].replace("/actions/runs/60", "/actions/runs/59")
    go(world, request(replace(ON_MAIN, run_id="60", run_attempt=2), None))
    assert (report_json(world)["job-id"], baseline(world)) == (job, "")


def test_a_rerun_of_an_old_push_is_not_compared_with_a_later_one(world: World) -> None:
    train(world, replace(ON_MAIN, run_id="60"), "0.80")
    train(world, replace(ON_MAIN, run_id="62", sha=B), "0.99")
    train(world, replace(ON_MAIN, run_id="61", run_attempt=2), "0.81")
    assert report_json(world)["baseline"]["metrics"]["eval_accuracy"] == 0.80


def test_a_run_of_the_same_pull_request_is_no_baseline(world: World) -> None:
    # A pull request into another pull request's branch, whose commit both of them trained.
    first = replace(ON_PULL, run_id="98", sha=A)
    train(world, first, "0.90")
    train(world, replace(ON_PULL, sha=B), "0.90")
    assert baseline(world) == ""
    train(world, replace(first, pull=replace(PULL, number=6)), "0.90")
    train(world, replace(ON_PULL, sha=B), "0.91")
    assert baseline(world) == "base commit aaaaaaa"


def test_another_family_is_no_baseline(world: World) -> None:
    train(world, replace(ON_MAIN, workflow="nightly"), "0.90")
    train(world, ON_PULL, "0.80")
    assert report_json(world)["baseline"] is None
    assert json.loads(world.files.output_values["deltas"]) == {}


@pytest.mark.case(72)
def test_each_matrix_leg_has_its_own_baseline(world: World) -> None:
    for leg, accuracy in (("lr=0.1", "0.70"), ("lr=0.01", "0.90")):
        train(world, replace(ON_MAIN, matrix=leg, run_id="60"), accuracy)
    train(world, replace(ON_PULL, matrix="lr=0.1"), "0.71")
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.01)
    train(world, replace(ON_PULL, matrix="lr=0.001"), "0.71")
    assert baseline(world) == ""


def test_names_that_look_alike_as_folders_are_two_families(world: World) -> None:
    train(world, ON_MAIN, "0.70", comment_key="a / b")
    train(world, ON_PULL, "0.71", comment_key="a-b")
    assert baseline(world) == ""


def test_a_merge_queue_is_compared_with_the_base_that_its_branch_names(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    queue = replace(ON_MAIN, event="merge_group", ref=f"refs/heads/gh-readonly-queue/main/pr-7-{A}", sha=B, run_id="99")
    train(world, queue, "0.91")
    assert baseline(world) == "base commit aaaaaaa"
    assert not stored(world, "branches/gh-readonly-queue")
    assert len(stored(world, "branches/main")) == 1


def test_a_comment_on_a_pull_request_is_compared_as_the_pull_request(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    comment = replace(ON_PULL, event="pull_request", pull=Pull(number=7), ref="refs/heads/main", sha=B)
    train(world, comment, "0.91")
    assert baseline(world) == "branch main"
    assert len(stored(world, "branches")) == 1, "what a comment starts is no run of main"


# ---- which runs are stored ----


def test_other_code_than_the_branchs_is_not_stored_as_its_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Snapshot(digest="5" * 64, bucket="b", path="p", files=1, size=1, sha=B)
    monkeypatch.setattr(world.workspace, "upload", lambda _survey, _namespace: sent)
    train(world, ON_MAIN, "0.90")
    assert not stored(world, "branches")
    assert stored(world, f"commits/{B}")
    monkeypatch.setattr(world.workspace, "upload", lambda _survey, _namespace: replace(sent, sha=A, dirty=2))
    train(world, ON_MAIN, "0.90")
    assert stored(world, "branches")
    assert not stored(world, f"commits/{A}"), "two files were changed: this was not that commit"


def test_a_run_that_failed_is_no_baseline(world: World) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (5.0, Stage.ERROR)]
    go(world, request(ON_MAIN))
    assert stored(world) == []


@pytest.mark.parametrize(("gate", "kept"), [("eval_accuracy >= 0.99", False), ("eval_accuracy >= 0.5", True)])
def test_a_run_that_failed_its_gate_is_no_baseline(world: World, gate: str, kept: bool) -> None:
    train(world, ON_MAIN, "0.90", gate=gate)
    assert bool(stored(world)) == kept


def test_the_first_run_of_a_gate_with_a_baseline_is_one_for_the_next(world: World) -> None:
    gate = "eval_accuracy >= baseline - 0.01"
    assert train(world, ON_MAIN, "0.90", gate=gate) == 7
    assert "no completed run of this workflow, job and matrix leg is stored for branch main" in problems(world)
    assert train(world, replace(ON_MAIN, sha=B), "0.90", gate=gate) == 0
    assert train(world, ON_PULL, "0.90", gate=gate) == 0


def test_a_run_that_diverged_is_no_baseline(world: World) -> None:
    world.hub.log = [(1.0, "{'loss': '0', 'grad_norm': 'nan'}"), (2.0, "{'eval_loss': 'nan'}")]
    go(world, request(ON_MAIN))
    assert stored(world) == []


def test_a_report_is_stored_once_for_all_places_and_without_secrets(world: World) -> None:
    world.console.secrets = ("python train.py",)
    train(world, replace(ON_MAIN, run_id="60"), "0.90")
    assert [path.split("/")[-3] for path in stored(world)] == ["commits", "branches", "runs", "jobs"]
    (text,) = {world.reports.stored[path] for path in stored(world)}
    assert "python train.py" not in text


def test_a_bucket_that_cannot_be_written_changes_nothing(world: World) -> None:
    world.reports.problem = "HTTP 503"
    assert train(world, ON_MAIN, "0.90") == 0
    assert "could not be stored" in problems(world)
    assert "HTTP 503" in problems(world)


def test_a_bucket_that_stumbles_is_asked_again(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    world.reports.errors = [TransientHubError("HTTP 502"), TransientHubError("HTTP 502")]
    assert train(world, ON_PULL, "0.90", gate="eval_accuracy >= baseline") == 0


def test_a_bucket_that_cannot_be_read_leaves_the_gate_unknown(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    world.reports.errors = [RefusedByHub("Not allowed", "The Hub answered 403 for the bucket of reports.")] * 2
    assert train(world, ON_PULL, "0.90", gate="eval_accuracy >= baseline") == 7
    assert world.files.output_values["gate"] == "unknown"
    assert "403 for the bucket of reports" in problems(world)


# ---- what is stored may be anything ----


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ("{}", "its schema is 'None'"),
        ('{"schema": 99, "metrics": {"eval_accuracy": 0}}', "its schema is '99'"),
        ('{"schema": true, "metrics": {"eval_accuracy": 0}}', "its schema is 'True'"),
        ('{"schema": 1, "metrics": [0]}', "it has no metrics"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"schema": 1, "metrics": ' + " " * (4 << 20) + "{}}", "it is larger than 4 MB"),
    ],
)
def test_a_stored_report_that_cannot_be_read_is_ignored_in_words(world: World, text: str, words: str) -> None:
    train(world, ON_MAIN, "0.90")
    for path in stored(world, f"commits/{A}"):
        world.reports.stored[path] = text
    assert train(world, ON_PULL, "0.92") == 0
    assert baseline(world) == "branch main"
    assert f"A stored report of base commit aaaaaaa is ignored: {words}" in problems(world)


def test_hostile_values_of_a_stored_report_do_no_harm(world: World) -> None:
    hostile: dict[str, Any] = {
        "schema": 1,
        "metrics": {
            "eval_accuracy": 0.5,
            "huge": 10**400,
            "nan": "nan",
            "yes": True,
            "n" * 500: 1,
            "</td><script>|`@everyone": 0.1,
            **{f"m{number}": number for number in range(5000)},
        },
        "curve": {"loss": [[0, 1], [1, 10**400], ["x", 1], [2, 0.5, 3], 7], "bad": 3},
        "job-id": ["x"],
        "run-url": 7,
        "pull": "7",
    }
    train(world, ON_MAIN, "0.90")
    for path in stored(world):
        world.reports.stored[path] = json.dumps(hostile)
    assert train(world, ON_PULL, "0.92", gate="eval_accuracy >= baseline") == 0
    metrics = report_json(world)["baseline"]["metrics"]
    assert metrics["eval_accuracy"] == 0.5
    assert {"huge", "nan", "yes", "n" * 500} & set(metrics) == set()
    assert len(metrics) <= 2000
    assert "<script>" not in world.files.reports["comment.md"].replace("`", "")


def test_the_curve_of_the_baseline_comes_along(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    for path in stored(world):
        text = json.loads(world.reports.stored[path]) | {"curve": {"loss": [[0, 1], [1, 0.5]]}}
        world.reports.stored[path] = json.dumps(text)
    report, _ = go(world, request(ON_PULL, reuse="never"))
    assert report.base_curve == {"loss": ((0.0, 1.0), (1.0, 0.5))}


# ---- several runs ----


@pytest.mark.parametrize(
    ("gate", "code", "word"),
    [
        ("eval_accuracy >= 0.85", 0, "pass"),
        ("eval_accuracy >= 0.99", 7, "fail"),
        ("eval_accuracy >= baseline - 1%", 0, "pass"),
        ("eval_accuracy >= baseline + 5%", 7, "fail"),
        ("eval_f1 >= 0.1", 7, "unknown"),
        ("eval_f1 >= baseline", 7, "unknown"),
        ("eval_accuracy >= baseline over 3 runs", 7, "unknown"),
    ],
)
def test_gates(world: World, gate: str, code: int, word: str) -> None:
    train(world, ON_MAIN, "0.90")
    assert train(world, ON_PULL, "0.90", gate=gate) == code
    assert world.files.output_values["gate"] == word
    assert gate in world.files.reports["comment.md"]


def test_a_gate_without_a_baseline_is_not_green(world: World) -> None:
    assert train(world, ON_PULL, "0.99", gate="eval_accuracy >= baseline") == 7
    assert "there is no baseline" in world.files.reports["comment.md"]


@pytest.mark.parametrize(
    ("accuracy", "code", "words"),
    [("0.83", 0, ""), ("0.81", 0, "within noise: the 3 earlier runs span 0.8 to 0.84"), ("0.79", 7, "")],
)
def test_noise_of_the_branch(world: World, accuracy: str, code: int, words: str) -> None:
    for sha, earlier in zip("def", ("0.80", "0.84", "0.82"), strict=True):
        train(world, replace(ON_MAIN, sha=sha * 40), earlier)
    assert train(world, ON_PULL, accuracy, gate="eval_accuracy >= baseline over 3 runs") == code
    assert words in world.files.reports["comment.md"]
    assert bool(words) == ("within noise" in world.files.reports["comment.md"])


def test_one_job_counts_once_among_the_earlier_runs(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    for path, text in list(world.reports.stored.items()):
        if "/branches/main/" in path:  # reported again by a re-run that took the Job over
            world.reports.stored[path.replace("/2026", "/2027")] = text
    assert train(world, ON_PULL, "0.90", gate="eval_accuracy >= baseline over 2 runs") == 7
    assert "1 of 2 earlier runs" in world.files.reports["comment.md"]


# ---- named ----


def test_baseline_none(world: World) -> None:
    train(world, ON_MAIN, "0.90")
    train(world, ON_PULL, "0.92", baseline="none")
    assert report_json(world)["baseline"] is None


def test_a_named_branch_commit_run_or_job(world: World) -> None:
    train(world, replace(ON_MAIN, ref="refs/heads/dev", sha=B, run_id="60"), "0.70")
    job = report_json(world)["job-id"]
    for name, shown in (
        ("branch:dev", "branch dev"),
        (f"commit:{B}", "commit eeeeeee"),
        ("run:60", "run 60"),
        (f"job:{job}", f"job {job}"),
    ):
        train(world, ON_PULL, "0.92", baseline=name)
        assert baseline(world) == shown
        assert report_json(world)["baseline"]["metrics"]["eval_accuracy"] == 0.70


def test_a_tag_and_a_short_hash_are_looked_up_on_github(world: World) -> None:
    train(world, replace(ON_MAIN, sha=B), "0.70")
    world.pulls.commits = {"tags/v1": B, "eeeeeee": B}
    for name, shown in (("tag:v1", "tag v1"), ("commit:eeeeeee", "commit eeeeeee")):
        train(world, ON_PULL, "0.92", baseline=name)
        assert baseline(world) == shown
    train(world, replace(ON_MAIN, ref="refs/tags/v2", sha=A), "0.60")
    train(world, ON_PULL, "0.92", baseline="tag:v2")
    assert report_json(world)["baseline"]["metrics"]["eval_accuracy"] == 0.60
    train(world, ON_PULL, "0.92", baseline="tag:v9")
    assert baseline(world) == ""
    assert "tags/v9 could not be looked up: GitHub does not know it" in problems(world)


def test_a_named_run_of_another_workflow_counts_when_it_has_one_leg(world: World) -> None:
    nightly = replace(ON_MAIN, workflow="nightly", run_id="60")
    train(world, nightly, "0.70")
    train(world, ON_PULL, "0.92", baseline="run:60")
    assert baseline(world) == "run 60"
    train(world, replace(nightly, matrix="lr=1"), "0.71")
    train(world, ON_PULL, "0.92", baseline="run:60")
    assert "run 60 has 2 legs, and none is this one; name one with job:ID" in problems(world)


def test_a_job_without_a_stored_report_is_read_from_its_log(world: World) -> None:
    world.hub.log = [(1.0, "{'eval_accuracy': '0.75', 'epoch': '1'}")]
    go(world, request(replace(ON_MAIN, run_id="60"), mode="detach"))
    job = world.hub.stored[-1].ref.id
    assert stored(world) == []
    world.hub.stored[-1] = replace(world.hub.stored[-1], stage=Stage.COMPLETED)
    for name in (f"job:{job}", "run:60"):
        train(world, ON_PULL, "0.92", baseline=name)
        assert report_json(world)["baseline"]["name"].endswith("(log)")
        assert report_json(world)["baseline"]["metrics"]["eval_accuracy"] == 0.92, "the fake has one log for all Jobs"


@pytest.mark.parametrize("name", ["run:61", "branch:nope", f"commit:{'9' * 40}"])
def test_a_named_run_that_is_not_there_is_said(world: World, name: str) -> None:
    train(world, ON_MAIN, "0.90")
    assert train(world, ON_PULL, "0.92", baseline=name) == 0
    assert baseline(world) == ""
    assert (
        f"There is no baseline: no completed run of this workflow, job and matrix leg is stored for {name}"
        in problems(world)
    )


def test_a_model_repo_is_a_baseline(world: World) -> None:
    files = {"all_results.json": b'{"eval_accuracy": 0.75, "eval_loss": NaN}', "README.md": b"no card"}
    world.hub.repos = {"alice/best@v1": published("alice/best", files)}
    train(world, ON_PULL, "0.92", baseline="model:alice/best@v1")
    assert report_json(world)["baseline"] == {"name": "alice/best at ddddddd", "metrics": {"eval_accuracy": 0.75}}
    train(world, ON_PULL, "0.92", baseline="model:alice/none")
    assert "alice/none does not exist" in problems(world)


@pytest.mark.case(40)
def test_a_private_model_is_not_named_on_a_public_repository(world: World) -> None:
    world.hub.repos = {"alice/best": published("alice/best", {"all_results.json": b'{"x": 1}'}, private=True)}
    train(world, replace(ON_PULL, private=False), "0.92", baseline="model:alice/best")
    assert baseline(world) == "a private model at ddddddd"
    assert "alice/best" not in world.files.reports["comment.md"]


def test_a_file_of_numbers_or_a_report_is_a_baseline(world: World) -> None:
    world.workspace.files["base.json"] = '{"eval_accuracy": 0.5}'
    train(world, ON_PULL, "0.92", baseline="base.json")
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.42)
    world.workspace.files["old/report.json"] = world.files.reports["report.json"]
    train(world, ON_PULL, "0.93", baseline="file:old/report.json")
    assert report_json(world)["baseline"]["name"] == "old/report.json"
    assert report_json(world)["deltas"]["eval_accuracy"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "base.json: not JSON"),
        ('{"eval_accuracy": "high"}', "base.json: eval_accuracy: not a number"),
        ('{"schema": 99, "metrics": {"a": 1}}', "its schema is '99'"),
    ],
)
def test_a_file_that_holds_no_numbers_is_said(world: World, text: str, words: str) -> None:
    world.workspace.files["base.json"] = text
    assert train(world, ON_PULL, "0.92", baseline="base.json", gate="eval_accuracy >= baseline") == 7
    assert words in problems(world)


def test_a_file_that_is_not_there_is_told_before_anything_is_spent(world: World) -> None:
    with pytest.raises(BadInput, match=r"baseline: there is no file 'main.json'"):
        go(world, request(ON_PULL, baseline="main.json"))
    assert world.hub.submitted == []

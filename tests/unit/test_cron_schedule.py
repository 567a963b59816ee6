"""Cron, and the spec of a schedule."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hf_train.local_hub.jobs import cron as theirs
from hf_train.plan.cron import PRESETS, read_cron
from hf_train.plan.schedule import Schedule, name_problem, same, scheduled, terms_of
from hf_train.show import schedule_rows
from hf_train.values import JobSpec, Scheduled
from unit.makers import plan

NOW = datetime(2026, 12, 2, 6, 0, tzinfo=UTC)  # a Wednesday
WEEKLY = Schedule(name=None, cron=read_cron("0 3 * * 1"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 3 * * 1", ["12-07 03:00", "12-14 03:00", "12-21 03:00"]),
        ("@hourly", ["12-02 07:00", "12-02 08:00", "12-02 09:00"]),
        ("*/25 6 * * *", ["12-02 06:25", "12-02 06:50", "12-03 06:00"]),
        ("0 0 13 * fri", ["12-04 00:00", "12-11 00:00", "12-13 00:00"]),
        ("30 5-7/2,23 * dec sun", ["12-06 05:30", "12-06 07:30", "12-06 23:30"]),
        ("0 0 */10 * *", ["12-11 00:00", "12-21 00:00", "12-31 00:00"]),
        ("59 23 31 12 7", ["12-06 23:59", "12-13 23:59", "12-20 23:59"]),
    ],
)
def test_the_next_runs(text: str, expected: list[str]) -> None:
    assert [f"{run:%m-%d %H:%M}" for run in read_cron(text).after(NOW, 3)] == expected


@pytest.mark.parametrize(
    ("text", "a_month"),
    [("@hourly", 730.5), ("@daily", 30.4375), ("0 3 * * 1", 4.348), ("@yearly", 1 / 12), ("0 0 29 2 *", 1 / 48)],
)
def test_how_many_a_month(text: str, a_month: float) -> None:
    assert read_cron(text).runs_a_month == pytest.approx(a_month, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' has 0 fields; five are expected, or one of @annually"),
        ("@sometimes", "has 1 fields"),
        ("@Hourly", "has 1 fields"),
        ("0 3 * *", "has 4 fields"),
        ("0 0 3 * * 1", "has 6 fields"),
        ("60 * * * *", "minute: '60' is not from 0 to 59"),
        ("0 24 * * *", "hour: '24'"),
        ("0 0 0 * *", "day of month: '0'"),
        ("0 0 * 13 *", "month: '13'"),
        ("0 0 * * 8", "day of week: '8'"),
        ("0 0 * * dec", "day of week: 'dec'"),
        ("5-1 * * * *", "runs backwards"),
        ("*/0 * * * *", "the step is at least 1"),
        ("*-5 * * * *", "minute: '*-5' is not a number"),
        ("1,,2 * * * *", "minute: '' is not a number"),
        ("\u0663 * * * *", "is not a number"),
        ("0 0 30 2 *", "this day never comes"),
    ],
)
def test_bad_schedules(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        read_cron(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", [*PRESETS, "*/7 1-5 1,15 * mon-fri", "0 0 29 feb *", "1/20 * * * *", "0 0 1 * */2"])
def test_the_local_hub_reads_it_the_same(text: str) -> None:
    moment, other = NOW, theirs.parse(text)
    for run in read_cron(text).after(NOW, 5):
        assert other.after(moment) == run
        moment = run


def spec(**flags: Any) -> JobSpec:
    return scheduled(plan(**flags).job, WEEKLY)


def test_only_the_labels_differ_from_a_run() -> None:
    run = plan(secrets="A_KEY", volumes="hf://datasets/a/b:/in").job
    job = scheduled(run, WEEKLY)
    assert replace(job, labels={}) == replace(run, labels={})
    assert job.labels["hft-mode"] == "schedule"
    assert job.labels["name"] == job.labels["hft-schedule"] == "hf-train-proj"
    assert not {"hft-run", "hft-attempt", "hft-pr", "hft-family"} & job.labels.keys(), "no run owns its Jobs"
    kept = {"hf-train", "hft-repo", "hft-sha", "hft-minutes", "hft-nonce"}
    assert {name: job.labels[name] for name in kept} == {name: run.labels[name] for name in kept}
    assert job.labels["hft-key"] != run.labels["hft-key"], "a run would attach to it"
    assert scheduled(run, replace(WEEKLY, name="nightly")).labels["name"] == "nightly"


def test_what_makes_another_schedule() -> None:
    keys = [
        spec().labels["hft-key"],
        spec(timeout="50m").labels["hft-key"],
        spec(attempts="2").labels["hft-key"],
        spec(env="A=1").labels["hft-key"],
        spec(secrets="A").labels["hft-key"],
        spec(volumes="hf://datasets/a/b:/in").labels["hft-key"],
        scheduled(plan().job, replace(WEEKLY, cron=read_cron("@daily"))).labels["hft-key"],
        scheduled(plan().job, replace(WEEKLY, concurrency=True)).labels["hft-key"],
        scheduled(plan().job, replace(WEEKLY, name="other")).labels["hft-key"],
    ]
    assert len(set(keys)) == len(keys)


def test_the_labels_alone_prove_nothing() -> None:
    job = spec()
    there = Scheduled(
        id="5" * 24, namespace="alice", schedule="0 3 * * 1", image=job.image, command=job.command, flavor=job.flavor,
        labels={**job.labels, "hft-sha": "e" * 40, "hft-nonce": "another", "name": "renamed"},
    )  # fmt: skip
    assert same(there, job, WEEKLY)
    assert same(replace(there, suspend=True), job, WEEKLY), "a pause by hand is left"
    assert not same(replace(there, suspend=True), job, replace(WEEKLY, suspend=False))
    for other in (
        replace(there, image="other"),
        replace(there, command=("true",)),
        replace(there, flavor="h200"),
        replace(there, schedule="@daily"),
        replace(there, concurrency=True),
        replace(there, labels={**there.labels, "hft-key": "0"}),
    ):
        assert not same(other, job, WEEKLY)


def test_what_it_costs() -> None:
    made = plan()
    terms = terms_of(replace(made, job=spec()), WEEKLY, NOW)
    assert dict(schedule_rows(terms)) == {
        "next run": "Mon 2026-12-21 03:00 UTC",
        "a run": "at most $0.30",
        "a month": "4.35 run(s), at most $1.31",
    }
    assert terms.notes == ()
    often = terms_of(plan(secrets="A_KEY"), replace(WEEKLY, cron=read_cron("*/15 * * * *")), NOW)
    assert dict(schedule_rows(often))["a month"].startswith("2,922 run(s)")
    assert "2700 s, and the next can be due after 900 s" in often.notes[0]
    assert "A_KEY" in often.notes[1]
    assert not terms_of(plan(), Schedule(name=None, cron=read_cron("*/15 * * * *"), concurrency=True), NOW).notes
    unknown = terms_of(plan(flavor="mystery"), WEEKLY, NOW)
    assert dict(schedule_rows(unknown))["a run"] == "price not known"


def test_the_line_of_hf() -> None:
    schedule = replace(WEEKLY, suspend=False, concurrency=True)
    words = shlex.split(terms_of(replace(plan(), job=spec()), schedule, NOW).line)
    assert words[:4] == ["hf", "jobs", "scheduled", "run"]
    cut = words.index("--")
    assert words[cut + 1] == "0 3 * * 1"
    assert words[cut - 2 : cut] == ["--no-suspend", "--concurrency"]


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "é", "n" * 81, "0123456789abcdef01234567"])
def test_bad_names(name: str) -> None:
    assert name_problem(name).startswith("name: ")


def test_good_names() -> None:
    assert not any(name_problem(name) for name in ("nightly", "a", "A.b_c-1", "n" * 80))

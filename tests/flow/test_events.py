"""The table of events: what each event of the corpus may do, and that a no costs no request to the Hub."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flow.steps import request
from hf_train.context import Context, read_context
from hf_train.errors import RefusedByPolicy
from hf_train.flow import pipeline
from hf_train.flow.approval import approval_of
from hf_train.flow.prepare import Request, approved
from hf_train.ports import Head
from hf_train.slash import TrainCommand
from support.events import NAMES, load
from support.fakes import World

HEAD, OTHER = "1" * 40, "9" * 40
# What happens when the head of the pull request is checked out; `maintainer` and `octocat` may write.
REFUSED = {
    "discussion_comment": "belongs to no pull request",
    "issue_comment_bad": "may not set 'namespace'",
    "issue_comment_edited": "an event issue_comment approves nothing",
    "issue_comment_issue": "belongs to no pull request",
    "issue_comment_other": "no /train command",
    "issue_comment_stranger": "stranger may not write",
    "issue_comment_train": "may not set 'lr'",
    "issues_opened": "belongs to no pull request",
    "pull_request_target_other_label": "not approved by setting the label train",
    "pull_request_target_same_repo": "not approved by setting the label train",
    "pull_request_target_synchronize": "not approved by setting the label train",
    "unknown_event": "belongs to no pull request",
    "workflow_run_fork": "belongs to no pull request",
}


def context(name: str) -> Context:
    event = load(name)
    return read_context(event.environ, event.payload)


def world(*, checked_out: str = HEAD, head: str = HEAD, from_fork: bool = True) -> World:
    made = World()
    made.workspace.sha = checked_out
    made.people.permissions = {"octocat": "write", "maintainer": "admin"}
    made.people.heads = {7: Head(sha=head, from_fork=from_fork)}
    return made


def asked(name: str, made: World, **flags: str) -> Request:
    return approved(request(context(name), None, **flags), made.ports)


@pytest.mark.case(18, 19, 24)
@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_events(name: str) -> None:
    made = world()
    run = asked(name, made)
    if name not in REFUSED:
        assert pipeline.run(run, made.ports).outcome
        assert len(made.hub.submitted) == 1
        return
    with pytest.raises(RefusedByPolicy, match=REFUSED[name]):
        pipeline.run(run, made.ports)
    assert (made.hub.submitted, made.hub.looks, made.workspace.uploads) == ([], 0, [])


def test_the_approved_commit_is_what_the_report_is_about() -> None:
    made = world()
    run = asked("issue_comment_sha", made)
    report = pipeline.run(run, made.ports)
    assert run.context.head_sha == HEAD
    assert made.hub.submitted[0][0].labels["hft-sha"] == HEAD
    assert report.context.pull
    assert report.context.pull.number == 7


@pytest.mark.case(24)
@pytest.mark.parametrize(
    ("name", "changes", "why"),
    [
        ("issue_comment_sha", {"head": OTHER}, "the head moved to 999999999999"),
        ("pull_request_target_labeled", {"head": OTHER}, "the head moved to 999999999999"),
        ("issue_comment_sha", {"checked_out": OTHER}, f"not {HEAD[:12]}, which octocat approved"),
        ("pull_request_target_labeled", {"checked_out": OTHER}, f"not {HEAD[:12]}, which maintainer approved"),
        ("issue_comment_sha", {"checked_out": ""}, "no git says which commit"),
    ],
)
def test_a_push_after_the_approval_makes_it_void(name: str, changes: dict[str, Any], why: str) -> None:
    made = world(**changes)
    with pytest.raises(RefusedByPolicy, match=why):
        pipeline.run(asked(name, made), made.ports)
    assert not made.hub.submitted


@pytest.mark.parametrize("name", ["issue_comment_sha", "pull_request_target_labeled"])
@pytest.mark.parametrize("permission", ["read", "triage", "none", ""])
def test_only_those_who_may_write_may_approve(name: str, permission: str) -> None:
    made = world()
    made.people.permissions = {"octocat": permission, "maintainer": permission}
    with pytest.raises(RefusedByPolicy, match="may not write to this repository"):
        pipeline.run(asked(name, made), made.ports)


@pytest.mark.parametrize("name", ["issue_comment_sha", "pull_request_target_labeled"])
def test_when_github_does_not_say_nothing_is_approved(name: str) -> None:
    made = world()
    made.people.problem = "GitHub answers 502"
    with pytest.raises(RefusedByPolicy, match="is not known: GitHub answers 502"):
        pipeline.run(asked(name, made), made.ports)
    without = replace(made.ports, people=None)
    with pytest.raises(RefusedByPolicy, match="github-token is needed"):
        pipeline.run(approved(request(context(name)), without), without)


def test_on_a_fork_the_comment_must_name_the_commit() -> None:
    where = context("issue_comment_train")
    assert where.comment
    plain = replace(where, comment=replace(where.comment, body="/train timeout=2h"))
    theirs, ours = world(), world(from_fork=False)
    refused = approval_of(plain, theirs.people, label="train")
    assert refused.why_not == f"on a fork the commit must be named: /train sha={HEAD}"
    assert refused.reaction == "confused"
    answer = approval_of(plain, ours.people, label="train")
    assert answer.approval
    assert answer.approval.sha == HEAD
    assert answer.command == TrainCommand(values={"timeout": "2h"})


def test_a_volume_of_the_checkout_is_a_strangers_too() -> None:
    made = world()
    made.workspace.folders.add("data")
    run = asked("issue_comment_other", made, path="none", volumes="data:/data", image="python:3.12")
    with pytest.raises(RefusedByPolicy):
        pipeline.run(run, made.ports)
    made = world()
    plain = asked("issue_comment_other", made, path="none")
    pipeline.run(plain, made.ports)
    assert len(made.hub.submitted) == 1, "nothing of the checkout is sent, so it does not matter whose it is"

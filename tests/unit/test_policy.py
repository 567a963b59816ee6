"""Who may spend: each event of the corpus, with the base or the pull request's head checked out.

The rule under test: an event that a stranger can cause trains the commit that GitHub chose, or one that was approved,
and nothing else. The approvals themselves are asked from GitHub: `flow/test_events.py`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hf_train.context import Context, EventComment, Pull, read_context
from hf_train.errors import RefusedByPolicy
from hf_train.policy import OWN, Approval, check_trust, is_privileged, why_no_token
from support.events import NAMES, load

HEAD, BASE, MERGE, OTHER = "1" * 40, "0" * 40, "2" * 40, "9" * 40
APPROVED = Approval(sha=HEAD, by="maintainer", how="label train")
PRIVILEGED = {
    "discussion_comment",
    "issue_comment_bad",
    "issue_comment_edited",
    "issue_comment_issue",
    "issue_comment_other",
    "issue_comment_sha",
    "issue_comment_stranger",
    "issue_comment_train",
    "issues_opened",
    "pull_request_target_fork",
    "pull_request_target_labeled",
    "pull_request_target_other_label",
    "pull_request_target_same_repo",
    "pull_request_target_synchronize",
    "unknown_event",
    "workflow_run_fork",
}


def context(name: str) -> Context:
    event = load(name)
    return read_context(event.environ, event.payload)


def passes(where: Context, checked_out: str | None, approval: Approval | None = None) -> bool:
    try:
        check_trust(where, checked_out, approval)
    except RefusedByPolicy:
        return False
    return True


def test_a_refusal_says_what_was_wanted_and_what_to_do() -> None:
    where = context("pull_request_target_fork")
    with pytest.raises(RefusedByPolicy, match=f"{HEAD[:12]} is checked out and not {BASE[:12]}.*nobody asked") as no:
        check_trust(where, HEAD, None, "nobody asked")
    assert "Nothing was sent" in no.value.hint
    with pytest.raises(RefusedByPolicy, match=f"not {HEAD[:12]}, which maintainer approved"):
        check_trust(where, OTHER, APPROVED)


def test_the_corpus_is_whole() -> None:
    assert len(NAMES) >= 24
    assert {name for name in NAMES if is_privileged(context(name))} == PRIVILEGED


@pytest.mark.case(18)
@pytest.mark.parametrize("name", NAMES)
def test_what_may_be_checked_out(name: str) -> None:
    where = context(name)
    privileged = name in PRIVILEGED
    assert passes(where, None), "no code is sent"
    assert passes(where, HEAD) is (not privileged)
    assert passes(where, OTHER) is (not privileged)
    assert passes(where, "") is (not privileged), "a checkout without git shows no commit"
    assert passes(where, where.sha), "GitHub chose it"


@pytest.mark.case(18, 24)
@pytest.mark.parametrize("name", sorted(PRIVILEGED))
def test_an_approval_is_for_one_commit(name: str) -> None:
    where = context(name)
    assert passes(where, HEAD, APPROVED)
    assert not passes(where, OTHER, APPROVED)
    assert not passes(where, MERGE, APPROVED), "the merge commit holds what was pushed to the base since"
    assert passes(where, where.sha, APPROVED) is (where.comment is None), "a comment asks for the head, not the base"


def test_an_event_that_nobody_knows_yet_is_a_strangers() -> None:
    assert is_privileged(Context(on_github=True, event="tomorrow"))
    assert not is_privileged(Context(event="tomorrow")), "on a laptop the code is one's own"
    assert not {"pull_request_target", "workflow_run", "issue_comment", "issues", "discussion_comment", "fork"} & OWN


@pytest.mark.case(19)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pull_request_fork", "fork"),
        ("pull_request_fork_deleted", "fork"),
        ("pull_request_dependabot", "Dependabot"),
        ("push_dependabot", "Dependabot"),
        ("pull_request_opened", ""),
        ("push", ""),
    ],
)
def test_why_there_is_no_token(name: str, words: str) -> None:
    because = why_no_token(context(name))
    assert words in because
    assert bool(because) is bool(words)


@pytest.mark.case(19)
def test_dependabots_pull_request_is_known_whoever_runs_it_again() -> None:
    bots = replace(context("pull_request_dependabot"), actor="octocat")
    assert "Dependabot" in why_no_token(bots)


def test_a_comment_is_read_from_new_comments_on_pull_requests_only() -> None:
    new = context("issue_comment_train").comment
    assert new == EventComment(id=1001, body="/train lr=1e-4", author="octocat", created="2026-12-01T12:00:00Z")
    for name in ("issue_comment_edited", "issue_comment_issue", "discussion_comment", "pull_request_review"):
        assert context(name).comment is None, name
    assert context("pull_request_target_labeled").label == "train"
    assert context("pull_request_target_labeled").sender == "maintainer"
    assert context("workflow_run_fork").followed_sha == HEAD
    assert context("issue_comment_train").pull == Pull(number=7, from_fork=True, author="octocat")

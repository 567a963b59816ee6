"""Where am I: from variables and payload to a context, for each kind of event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.context import Context, Pull, read_context
from support.events import NAMES, load

HEAD, BASE, MERGE = "1" * 40, "0" * 40, "2" * 40
OURS = Pull(number=7, head_sha=HEAD, base_sha=BASE, base_ref="main", from_fork=False, author="octocat")
BOTS = replace(OURS, author="dependabot[bot]")
THEIRS = Pull(number=7, head_sha=HEAD, base_sha=BASE, base_ref="main", from_fork=True, author="stranger")
# The payload of a comment does not say whose head it is: taken for a stranger's.
COMMENTED = Pull(number=7, from_fork=True, author="octocat")

PULLS: dict[str, Pull | None] = {
    "pull_request_closed": OURS,
    "pull_request_dependabot": BOTS,
    "pull_request_fork": THEIRS,
    "pull_request_fork_deleted": THEIRS,
    "pull_request_labeled": OURS,
    "pull_request_opened": OURS,
    "pull_request_rerun": OURS,
    "pull_request_review": OURS,
    "pull_request_synchronize": OURS,
    "pull_request_target_fork": THEIRS,
    "pull_request_target_labeled": THEIRS,
    "pull_request_target_other_label": THEIRS,
    "pull_request_target_same_repo": OURS,
    "pull_request_target_synchronize": THEIRS,
    "issue_comment_bad": COMMENTED,
    "issue_comment_edited": COMMENTED,
    "issue_comment_other": COMMENTED,
    "issue_comment_sha": COMMENTED,
    "issue_comment_stranger": COMMENTED,
    "issue_comment_train": COMMENTED,
    "discussion_comment": None,
    "issue_comment_issue": None,
    "issues_opened": None,
    "merge_group": None,
    "push": None,
    "push_dependabot": None,
    "push_tag": None,
    "release_published": None,
    "repository_dispatch": None,
    "schedule": None,
    "unknown_event": None,
    "workflow_dispatch": None,
    "workflow_run_fork": None,
}


def test_every_event_has_its_row() -> None:
    assert set(PULLS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_pull_request_of_an_event(name: str) -> None:
    event = load(name)
    context = read_context(event.environ, event.payload)
    assert context.pull == PULLS[name]
    assert context.on_github
    assert context.event == event.trigger
    assert context.repository == "octo/proj"
    assert context.head_sha == (HEAD if context.pull and context.pull.head_sha else event.environ["GITHUB_SHA"])
    assert context.run_url == f"https://github.com/octo/proj/actions/runs/{context.run_id}"
    assert context.private is False


def test_on_a_laptop_nothing_is_known() -> None:
    context = read_context({}, {}, workspace="here")
    assert context == Context(workspace="here")
    assert (context.run_url, context.head_sha, context.comment_key) == ("", "", "hf-train")


def test_a_ref_without_a_payload_is_a_strangers() -> None:
    assert read_context({"GITHUB_REF": "refs/pull/12/merge"}, {}).pull == Pull(number=12, from_fork=True)
    assert read_context({"GITHUB_REF": "refs/heads/refs/pull/12/merge"}, {}).pull is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "train / sft"),
        ("null", "train / sft"),
        ("not json", "train / sft"),
        ("[1]", "train / sft"),
        ('{"lr": 0.1, "seed": 2}', "train / sft / lr=0.1, seed=2"),
        ('{"fast": true, "image": null}', "train / sft / fast=true, image=null"),
        ('{"cfg": {"lr": 1}}', 'train / sft / cfg={"lr": 1}'),
    ],
)
def test_a_matrix_leg_is_part_of_the_key(text: str, key: str) -> None:
    environ = {"GITHUB_WORKFLOW": "train", "GITHUB_JOB": "sft", "HF_TRAIN_MATRIX": text}
    assert read_context(environ, {}).comment_key == key


def test_a_server_of_ones_own() -> None:
    environ = {
        "GITHUB_SERVER_URL": "https://ghe.test/",
        "GITHUB_API_URL": "https://ghe.test/api/v3/",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_RUN_ID": "5",
    }
    context = read_context(environ, {})
    assert context.api_url == "https://ghe.test/api/v3"
    assert context.run_url == "https://ghe.test/o/r/actions/runs/5"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["pull_request", "issue", "number", "head", "base", "repo", "full_name", "sha", "private"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["pull_request", "issue", "repository"]), _JSON),
    st.dictionaries(
        st.sampled_from(["GITHUB_RUN_ATTEMPT", "GITHUB_RUN_NUMBER", "GITHUB_REF", "HF_TRAIN_MATRIX", "GITHUB_ACTIONS"]),
        st.text(max_size=8) | st.sampled_from(["9" * 5000, "refs/pull/1/merge", "[" * 50]),
    ),
)
def test_no_payload_is_a_bug_of_ours(event: dict[str, Any], environ: dict[str, str]) -> None:
    assert isinstance(read_context(environ, event).comment_key, str)

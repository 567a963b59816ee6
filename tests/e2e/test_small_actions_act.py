"""The small actions under act: a detached Job is collected, reports are merged, a /train comment is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.conftest import GITHUB_TOKEN, start_act
from support import events
from support.act import Act
from support.github_stub import GitHubStub
from support.hub_process import TOKEN, HubProcess

pytestmark = pytest.mark.act

TRAIN = """\
- uses: actions/checkout@v7
- id: train
  uses: octo/hf-train@v1
  env:
    HF_ENDPOINT: {endpoint}
  with:
    hf-token: ${{{{ secrets.HF_TOKEN }}}}
    command: python3 train.py
    flavor: cpu-basic
    timeout: 5m
    mode: detach
    comment-key: leg
- name: Wait for the Job
  shell: python3 {{0}}
  env:
    URL: {endpoint}/api/jobs/local-user/${{{{ steps.train.outputs.job-id }}}}
    HF_TOKEN: ${{{{ secrets.HF_TOKEN }}}}
  run: |
    import os, time, urllib.request
    asked = urllib.request.Request(os.environ["URL"], headers={{"Authorization": "Bearer " + os.environ["HF_TOKEN"]}})
    for _ in range(100):
        if b"COMPLETED" in urllib.request.urlopen(asked).read():
            break
        time.sleep(0.2)
    else:
        raise SystemExit("the Job did not complete")
- id: collect
  uses: octo/hf-train/collect@v1
  env:
    HF_ENDPOINT: {endpoint}
  with:
    hf-token: ${{{{ secrets.HF_TOKEN }}}}
    jobs: ${{{{ steps.train.outputs.job-id }}}}
    report-dir: ${{{{ runner.temp }}}}/collected
- id: merge
  uses: octo/hf-train/merge@v1
  with:
    reports: ${{{{ runner.temp }}}}/collected
    legs: 2
    comment-key: table
"""
COMMENT = """\
- id: comment
  uses: octo/hf-train/comment@v1
  with:
    train-keys: lr
"""


def test_a_detached_job_is_collected_and_its_report_merged(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = TRAIN.format(endpoint=hub.url)
    with start_act(act_host, repo, action, github, steps, event="pull_request_labeled") as running:
        run = running.wait()
    assert run.code == 0, run.shown[-5000:]
    (job,) = hub.jobs()
    collected = run.step("collect", "run")
    assert (collected.outputs["job-id"], collected.outputs["exit-code"]) == (job.id, "0")
    bodies = [one.body for one in github.comments()]
    assert len(bodies) == 2
    leg, table = sorted(bodies, key=lambda body: "table" in body.splitlines()[0])
    assert "Training completed" in leg
    assert "train_loss" in leg
    assert "0.5" in table
    assert "1 completed, 1 without a report" in table, table
    assert "0.5" in run.step("merge", "run").summary
    for secret in (TOKEN, GITHUB_TOKEN):
        assert secret not in run.shown


@pytest.mark.case(24)
@pytest.mark.parametrize(
    ("name", "decision", "reaction"),
    [("issue_comment_sha", "run", "eyes"), ("issue_comment_stranger", "refused", "-1")],
)
def test_a_train_comment_is_read_and_answered(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, name: str, decision: str, reaction: str
) -> None:
    state = github.state.repos["octo/proj"]
    state.permissions |= {"octocat": "write"}
    number = events.load(name).payload["comment"]["id"]
    while number not in state.comments:
        github.state.add_comment(state, 7, "/train", "octocat")
    with start_act(act_host, repo, action, github, COMMENT, event=name) as running:
        run = running.wait()
    assert run.code == 0, run.shown[-3000:]
    outputs = run.step("comment", "run").outputs
    assert outputs["decision"] == decision, json.dumps(outputs)
    assert (outputs["sha"] == "1" * 40) == (decision == "run")
    assert [one["content"] for one in state.comments[number].reactions] == [reaction]

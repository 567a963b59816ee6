"""Failure in words: for each class a title, the line that proves it and the next step, in comment and report."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from flow.money import Life, MoneyHub
from flow.steps import report_json, request
from hf_train.collect.signatures import CODES, HINTS
from hf_train.errors import RefusedByHub, UserError
from hf_train.failure import TITLES, Failure, failure_of
from hf_train.flow import runs
from hf_train.report import verdict_of
from hf_train.values import SUPERSEDED, Flavor, JobRef, JobState, Reason, Stage
from support.fakes import World

FLAVORS = (Flavor(name="cpu-basic", usd_per_minute=0.1),)
EXIT_1 = "Job failed with exit code: 1. Reason: Error"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to fail.

    Attributes:
        code: The class.
        log: What the Job prints.
        message: The Hub's words.
        proof: What the report shows as proof.
        step: A part of the next step.
        exit_code: Ours.
    """

    code: str
    log: tuple[str, ...] = ()
    message: str = EXIT_1
    stage: Stage = Stage.ERROR
    proof: str
    step: str
    exit_code: int = 1


TRACE = 'Traceback (most recent call last):\n  File "/code/train.py", line 3, in <module>'
ROWS = {
    "timeout": Row(code="timeout", message="Job timeout", proof="Job timeout", step="raise `timeout`", exit_code=5),
    "oom-host": Row(
        code="oom-host",
        message="Job failed with exit code: 137. Reason: OOMKilled",
        proof="OOMKilled",
        step="a flavor with more RAM",
    ),
    "oom-gpu": Row(
        code="oom-gpu",
        log=(TRACE, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        proof="Tried to allocate 2.00 GiB",
        step="smaller per-device batch",
    ),
    "oom-gpu-and-137": Row(
        code="oom-gpu",
        message="Job failed with exit code: 137. Reason: OOMKilled",
        log=(TRACE, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        proof="Tried to allocate 2.00 GiB",
        step="smaller per-device batch",
    ),
    "no-permission": Row(
        code="no-permission",
        log=(
            TRACE,
            "huggingface_hub.errors.HfHubHTTPError: 403 Forbidden: You don't have the rights to create a model",
        ),
        proof="rights to create a model",
        step="write and create rights",
    ),
    "gated": Row(
        code="gated",
        log=(TRACE, "huggingface_hub.errors.GatedRepoError: 403 Client Error. Cannot access gated repo for url X"),
        proof="Cannot access gated repo",
        step="ask for access",
    ),
    "missing-repo": Row(
        code="not-found",
        log=(TRACE, "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. Repository Not Found"),
        proof="Repository Not Found",
        step="check the spelling",
    ),
    "image-pull": Row(
        code="image-pull",
        message="Failed to pull image acme/train:v9: manifest unknown",
        proof="manifest unknown",
        step="linux/amd64",
    ),
    "dependency-install": Row(
        code="dependency-install",
        log=("  \u00d7 No solution found when resolving script dependencies:",),
        proof="No solution found",
        step="pin versions",
    ),
    "disk-full": Row(
        code="disk-full",
        log=(TRACE, "OSError: [Errno 28] No space left on device"),
        proof="No space left on device",
        step="more disk",
    ),
    "nccl": Row(
        code="nccl",
        log=("[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for 600000 milliseconds",),
        proof="Watchdog caught",
        step="A rank stalled or died",
    ),
    "nan-loss": Row(
        code="nan-loss",
        log=(TRACE, "ValueError: loss is nan, stopping training"),
        proof="loss is nan",
        step="Lower the learning rate",
    ),
    "upload-failed": Row(
        code="upload-failed",
        log=(
            'Traceback (most recent call last):\n  File "/code/train.py", line 9, in <module>',
            '  File "/x/huggingface_hub/hf_api.py", line 1, in create_commit',
            "ConnectionError: HTTPSConnectionPool(host='hub'): Max retries exceeded",
        ),
        proof="Max retries exceeded",
        step="the upload to the Hub failed",
    ),
    "killed-by-a-person": Row(
        code="cancelled", stage=Stage.CANCELED, message="", proof="", step="who else manages Jobs", exit_code=4
    ),
    "platform": Row(code="platform", message="Node was lost", proof="Node was lost", step="`retry: 1`"),
}


@pytest.mark.case(62, 63, 64)
@pytest.mark.parametrize("name", ROWS)
def test_each_class_has_a_title_a_proof_and_a_next_step(world: World, name: str) -> None:
    row = ROWS[name]
    lines = [line for text in row.log for line in text.split("\n")]
    log = tuple((1.0 + number / 10, line) for number, line in enumerate(lines))
    life = Life(seconds=20, stage=row.stage, message=row.message, log=log)
    if row.code == "timeout":
        life = Life(seconds=99_999)
    world.hub = MoneyHub(world.clock, flavors=FLAVORS, lives=[life])
    report = runs.run(request(timeout="10m"), world.ports)
    assert int(verdict_of(report).code) == row.exit_code
    document, body = report_json(world), world.pulls.bodies[-1]
    assert document["cause"] == row.code
    assert f"**{TITLES[row.code]}** (`{row.code}`)" in body
    assert row.proof in document["cause-line"]
    assert row.proof in body
    assert row.step in document["hint"]
    assert row.step in body
    (said,) = [words for kind, title, words in world.console.annotations if (kind, title) == ("error", "hf-train")]
    assert TITLES[row.code] in said


@pytest.mark.case(68)
@pytest.mark.parametrize("error", ["No credit", "Not allowed"])
def test_what_the_hub_refuses_is_said_by_its_class_too(world: World, error: str) -> None:
    refused = RefusedByHub(error, "The Hub answered 402 for the launch.", "What to do next.")
    world.hub = MoneyHub(world.clock, flavors=FLAVORS, lives=[Life(error=refused)])
    with pytest.raises(UserError):
        runs.run(request(retry="2"), world.ports)
    assert f"Not started: {error}" in world.pulls.bodies[-1]
    assert "What to do next." in world.pulls.bodies[-1]
    assert isinstance(world.hub, MoneyHub)
    assert world.hub.posts == 1


def test_each_code_that_a_log_can_give_has_a_title_and_a_hint() -> None:
    assert set(CODES) - {"unknown"} <= set(TITLES)
    assert set(CODES) <= set(HINTS)


def test_a_log_that_lies_about_the_platform_is_not_believed(world: World) -> None:
    """What a pull request's code prints must not make us pay again."""
    log = ((1.0, "Node was lost"), (2.0, "Job failed: evicted"), (3.0, "ImagePullBackOff"))
    world.hub = MoneyHub(world.clock, flavors=FLAVORS, lives=[Life(stage=Stage.ERROR, message=EXIT_1, log=log)])
    report = runs.run(request(retry="2"), world.ports)
    assert report.findings.cause not in {"platform", "image-pull"}
    assert isinstance(world.hub, MoneyHub)
    assert world.hub.posts == 1


def test_a_newer_pushs_cancel_is_no_persons() -> None:
    state = JobState(
        ref=JobRef(id="1" * 24, namespace="alice", url=""), stage=Stage.CANCELED, labels={SUPERSEDED: "0123456"}
    )
    assert failure_of(Failure(), state, Reason.CANCELLED_ON_HUB) == Failure()
    by_hand = replace(state, labels={})
    assert failure_of(Failure(), by_hand, Reason.CANCELLED_ON_HUB).code == "cancelled"

"""Plans and reports for the unit tests, put together by the product's own functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hf_train.context import Context, Pull
from hf_train.inputs import Layers, parse
from hf_train.inputs.model import Raw
from hf_train.plan import Facts, Plan, make_plan
from hf_train.ports import Account, Survey
from hf_train.report import Phase, Report
from hf_train.values import (
    Findings,
    Flavor,
    JobRef,
    JobState,
    Metric,
    ModelLink,
    Outcome,
    Reason,
    Snapshot,
    Stage,
)

STARTED = datetime(2026, 12, 2, 6, 5, tzinfo=UTC)
FLAVORS = (
    Flavor(name="cpu-basic", cpu="2 vCPU", ram="16 GB", usd_per_minute=0.000167),
    Flavor(name="t4-small", cpu="4 vCPU", ram="15 GB", accelerator="1x T4 (16 GB)", gpus=1, usd_per_minute=0.0067),
    Flavor(name="a10g-largex4", cpu="48 vCPU", ram="184 GB", accelerator="4x A10G (96 GB)", gpus=4, usd_per_minute=0.5),
    Flavor(name="mystery", cpu="? vCPU", ram="? GB"),
)
SURVEY = Survey(digest="5" * 64, files=12, size=34_567, sha="a" * 40)
FACTS = Facts(account=Account(name="alice", role="write"), flavors=FLAVORS, code=SURVEY, nonce="nonce1")
PULL = Pull(number=7, head_sha="b" * 40, base_sha="0" * 40, base_ref="main")
ON_GITHUB = Context(
    on_github=True,
    repository="octo/proj",
    sha="c" * 40,
    ref="refs/pull/7/merge",
    event="pull_request",
    pull=PULL,
    run_id="1658821493",
    run_attempt=1,
    workflow="train",
    job="sft",
    private=True,
)
REF = JobRef(id="6" * 24, namespace="alice", url=f"https://huggingface.co/jobs/alice/{'6' * 24}")
STATE = JobState(ref=REF, stage=Stage.COMPLETED, started_at=STARTED, queued_s=12.0, running_s=724.0, flavor="t4-small")
SNAPSHOT = Snapshot(
    digest="5" * 64, bucket="alice/jobs-artifacts", path=f"snapshots/{'5' * 64}", files=12, size=34_567, sha="a" * 40
)
MODEL = ModelLink(
    repo="alice/tiny-sft",
    revision="d" * 40,
    url=f"https://huggingface.co/alice/tiny-sft/tree/{'d' * 40}",
    title="End of training",
    has_weights=True,
)
METRICS = (
    Metric(name="train_runtime", value=713.25, source="all_results.json"),
    Metric(name="eval_loss", value=0.40123, source="all_results.json"),
    Metric(name="eval_accuracy", value=0.9012, source="all_results.json"),
    Metric(name="loss", value=0.5, source="log"),
)
CURVE = {"loss": tuple((float(step), 2.0 / (1 + step / 40)) for step in range(0, 400, 10))}


def plan(context: Context = ON_GITHUB, facts: Facts = FACTS, **flags: Any) -> Plan:
    """The plan of a small fine-tune, with other inputs where they are given."""
    given: dict[str, Raw] = {"command": "python train.py --lr 2e-5", "flavor": "t4-small", "timeout": "45m"}
    given |= {name.replace("_", "-"): value for name, value in flags.items()}
    return make_plan(parse(Layers(flags=given)), context, facts)


def report(reason: Reason | None = Reason.COMPLETED, *, message: str = "", **changes: Any) -> Report:
    """A report: of an ended run with a reason, of a live one without."""
    base = Report(
        context=ON_GITHUB,
        key="train / sft",
        phase=Phase.ENDED if reason else Phase.RUNNING,
        plan=plan(),
        snapshot=SNAPSHOT,
        state=replace(STATE, stage=_STAGES.get(reason, Stage.RUNNING) if reason else Stage.RUNNING, message=message),
        outcome=None,
        findings=Findings(metrics=METRICS, model=MODEL, curve=CURVE, progress=(400, 400)),
    )
    base = replace(base, **changes)
    if reason and base.outcome is None:
        base = replace(base, outcome=Outcome(state=base.state, reason=reason, log_lines=420))
    return base


_STAGES = {
    Reason.COMPLETED: Stage.COMPLETED,
    Reason.FAILED: Stage.ERROR,
    Reason.OUT_OF_MEMORY: Stage.ERROR,
    Reason.TIMEOUT: Stage.ERROR,
    Reason.CANCELLED_ON_HUB: Stage.CANCELED,
    Reason.CANCELLED: Stage.CANCELED,
    Reason.DELETED_ON_HUB: Stage.DELETED,
    Reason.NOT_PUBLISHED: Stage.COMPLETED,
    Reason.QUEUE_TIMEOUT: Stage.CANCELED,
}

"""Situations that a run can be in, each with the comment that it gives in tests/golden/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hf_train.context import Context
from hf_train.errors import BadInput, RefusedByHub, RefusedByPolicy
from hf_train.judge.gate import Judged, judge, parse_condition
from hf_train.report import Frame, Phase, Report
from hf_train.values import Findings, Metric, Outcome, Reason, Stage
from unit.makers import FACTS, METRICS, MODEL, ON_GITHUB, SNAPSHOT, STARTED, STATE, SURVEY, plan, report

NAN, INF = float("nan"), float("inf")
NOTHING = Findings()
GATE = ("eval_accuracy >= 0.85", "eval_loss <= baseline + 2%")
GATED = plan(gate="\n".join(GATE))
BASE = {"eval_loss": 0.41, "eval_accuracy": 0.9, "loss": 0.5}
BASE_CURVE = {"loss": tuple((float(step), 2.2 / (1 + step / 55)) for step in range(0, 400, 10))}
BETTER = {"eval_loss": 0.31, "eval_accuracy": 0.95}
QUEUED = replace(STATE, stage=Stage.SCHEDULING, started_at=None, running_s=None, queued_s=None)
RUNNING = replace(STATE, stage=Stage.RUNNING, running_s=310.0)
LIVE = Findings(metrics=METRICS[3:], progress=(120, 400))
HOSTILE = "</details>| a | `b` ``c`` @octo/team #1 fixes #2 [x](https://evil.test) <img src=//evil.test> www.evil.test"
CONTEXT_FORK = replace(ON_GITHUB, pull=replace(ON_GITHUB.pull, from_fork=True) if ON_GITHUB.pull else None)
PUBLIC = replace(ON_GITHUB, private=False)


def _url(path: str) -> str:
    return f"https://huggingface.co/{path}/tree/{MODEL.revision}"


def _ended(reason: Reason, **changes: object) -> Outcome:
    return replace(Outcome(state=STATE, reason=reason, log_lines=420), **changes)  # type: ignore[arg-type]


def _judged(conditions: Sequence[str], base: Mapping[str, float]) -> tuple[Judged, ...]:
    metrics = {metric.name: metric.value for metric in METRICS}
    return tuple(judge(parse_condition(one), metrics, [base]) for one in conditions)


def _before_a_job(**changes: object) -> Report:
    base = Report(context=ON_GITHUB, key="train / sft", phase=Phase.ENDED)
    return replace(base, **changes)  # type: ignore[arg-type]


SITUATIONS: Mapping[str, Report] = {
    "queued": report(None, phase=Phase.QUEUED, state=QUEUED, findings=NOTHING),
    "queued-with-a-message": report(
        None, phase=Phase.QUEUED, state=replace(QUEUED, message="Waiting for t4-small"), findings=NOTHING
    ),
    "running": report(None, state=replace(RUNNING, running_s=4.0), findings=NOTHING),
    "running-with-progress": report(None, state=RUNNING, findings=LIVE, eta_s=722.0),
    "queued-for-a-while": report(
        None, phase=Phase.QUEUED, state=replace(QUEUED, queued_s=1450.0, message="No capacity"), findings=NOTHING
    ),
    "starting": report(None, phase=Phase.STARTING, state=replace(RUNNING, running_s=41.0), findings=NOTHING),
    "running-without-a-total": report(
        None, state=RUNNING, findings=Findings(metrics=METRICS[3:], progress=(1234567, None))
    ),
    "completed-with-a-model": report(),
    "curve-beside-the-baseline": report(base_name="base commit 0000000", base=BASE, base_curve=BASE_CURVE),
    "curve-beside-a-shorter-baseline": report(
        base_name="branch main",
        base=BASE,
        base_curve={"loss": tuple((float(step), 2.2 - step / 200) for step in range(0, 200, 7))},
    ),
    "curve-over-many-magnitudes": report(
        findings=Findings(
            metrics=METRICS, model=MODEL, curve={"loss": tuple((float(n), 10 ** (3 - n / 8)) for n in range(60))}
        )
    ),
    "curve-under-a-hostile-baseline": report(base_name=HOSTILE, base={HOSTILE: 1.0}, base_curve=BASE_CURVE),
    "completed-second-attempt": report(context=replace(ON_GITHUB, run_attempt=2)),
    "completed-named-metrics": report(plan=plan(metrics="eval_accuracy\neval_f1\nloss")),
    "completed-with-speeds-and-counters": report(
        findings=Findings(
            metrics=(
                *METRICS[:3],
                *(
                    Metric(name=name, value=value, source="all_results.json")
                    for name, value in (("train_samples_per_second", 41.2), ("total_flos", 3.1e15), ("epoch", 3.0))
                ),
                Metric(name="step", value=400.0, source="log"),
            ),
            model=MODEL,
        )
    ),
    "completed-without-metrics": report(findings=replace(NOTHING, model=MODEL)),
    "completed-without-a-model": report(
        findings=Findings(
            metrics=METRICS,
            model_note="alice/other has no commit from the time of this Job; www.evil.test does not exist",
        )
    ),
    "completed-several-repos": report(
        findings=Findings(
            metrics=METRICS[1:3],
            model=MODEL,
            others=(replace(MODEL, repo="alice/adapter", title="", has_weights=False),),
            tracker_urls=("https://wandb.ai/alice/sft/runs/abc123",),
        )
    ),
    "completed-with-further-repos": report(
        findings=Findings(
            metrics=METRICS[1:3],
            model=MODEL,
            others=(
                replace(MODEL, repo="alice/tiny-sft-merged", url=_url("alice/tiny-sft-merged"), title="Merged"),
                replace(MODEL, repo="alice/tiny-sft-gguf", url=_url("alice/tiny-sft-gguf"), title="Q4_K_M"),
                replace(MODEL, repo="alice/answers", kind="dataset", url=_url("datasets/alice/answers"), title=""),
                replace(MODEL, repo="alice/arena", kind="space", url=_url("spaces/alice/arena"), title=""),
            ),
        )
    ),
    "private-dataset-on-a-public-repository": report(
        context=PUBLIC,
        findings=Findings(
            model=MODEL, others=(replace(MODEL, repo="alice/secret", kind="dataset", private=True, title="Secret"),)
        ),
    ),
    "completed-on-a-laptop": report(context=Context(), key="hf-train"),
    "private-model-on-a-private-repository": report(findings=Findings(model=replace(MODEL, private=True))),
    "private-model-on-a-public-repository": report(
        context=PUBLIC, findings=Findings(model=replace(MODEL, private=True, title="Secret project"))
    ),
    "diverged": report(
        findings=Findings(
            metrics=(Metric(name="loss", value=NAN, source="log"), *METRICS[1:2]), model=MODEL, diverged=True
        )
    ),
    "metrics-that-are-not-finite": report(
        findings=Findings(
            metrics=tuple(
                Metric(name=f"m{i}", value=value, source="log")
                for i, value in enumerate((NAN, INF, -INF, -0.0, 1e-9, 12.0, 123456.789, 1e21, -0.5))
            )
        )
    ),
    "failed-with-a-cause": report(
        Reason.FAILED,
        message="Job failed with exit code: 1. Reason: Error",
        findings=Findings(
            cause="import",
            cause_line="ModuleNotFoundError: No module named 'trl'",
            hint="Add the package to the script's header, or choose an image that has it.",
            progress=(3, 400),
        ),
    ),
    "failed-in-a-file-of-the-repository": report(
        Reason.FAILED,
        message="Job failed with exit code: 1. Reason: Error",
        frame=Frame(path="src/my model/train.py", line=42),
        findings=Findings(
            cause="label-range", cause_line="IndexError: Target 5 is out of bounds.", hint="Count the labels."
        ),
    ),
    "failed-without-a-word": report(Reason.FAILED, findings=NOTHING),
    "out-of-memory": report(
        Reason.OUT_OF_MEMORY,
        message="Job failed with exit code: 137. Reason: OOMKilled",
        findings=Findings(cause="oom-host", hint="Lower the batch size, or choose a flavor with more memory."),
    ),
    "timed-out": report(
        Reason.TIMEOUT, message="Job timeout", findings=Findings(metrics=METRICS[3:], progress=(120, 400))
    ),
    "timed-out-with-checkpoints": report(
        Reason.TIMEOUT,
        message="Job timeout",
        plan=plan(output="bucket", env="HF_TRAIN_RESUME_FLAG=--resume_from_checkpoint"),
        findings=Findings(metrics=METRICS[3:], progress=(120, 400), resumed_from=40, checkpoint=100),
    ),
    "cancelled-by-a-signal": report(
        outcome=_ended(Reason.CANCELLED, signum=2, cancel_confirmed=True), findings=Findings(progress=(120, 400))
    ),
    "cancelled-and-not-confirmed": report(outcome=_ended(Reason.CANCELLED, signum=15), findings=NOTHING),
    "cancelled-before-there-was-a-job": report(
        outcome=_ended(Reason.CANCELLED, state=None, signum=2, cancel_confirmed=True), state=None, findings=NOTHING
    ),
    "kept-running": report(outcome=_ended(Reason.KEPT, signum=2), state=RUNNING, findings=LIVE),
    "cancelled-on-the-hub": report(Reason.CANCELLED_ON_HUB, findings=NOTHING),
    "deleted-on-the-hub": report(Reason.DELETED_ON_HUB, findings=NOTHING),
    "not-published": report(
        plan=plan(model_repo="alice/tiny-sft"),
        findings=Findings(metrics=METRICS, model_note="alice/tiny-sft has no commit from the time of this Job"),
    ),
    "no-hardware-in-time": report(Reason.QUEUE_TIMEOUT, state=QUEUED, findings=NOTHING),
    "watch-timeout": report(Reason.WATCH_TIMEOUT, state=RUNNING, findings=LIVE),
    "lost-sight": report(
        outcome=_ended(Reason.LOST_SIGHT, log_problems=("The log stream failed: HTTP 502 (3x).",)),
        state=RUNNING,
        findings=LIVE,
    ),
    "detached": report(Reason.DETACHED, state=QUEUED, findings=NOTHING),
    "reused": report(
        reused=f"Job {'6' * 24} of this workflow run had completed this very training; nothing new was paid."
    ),
    "skipped-on-a-fork": _before_a_job(
        context=CONTEXT_FORK,
        skipped="There is no Hub token in this step (a fork's pull request gets no secrets), so nothing was launched.",
    ),
    "refused-no-credit": _before_a_job(
        plan=plan(),
        snapshot=SNAPSHOT,
        refused=RefusedByHub(
            "No credit",
            "The Hub answered 402 for a new Job. Pre-paid credit balance is insufficient.",
            "Add credit under the namespace's billing settings, or choose another namespace.",
        ),
    ),
    "refused-over-max-cost": _before_a_job(
        refused=RefusedByPolicy(
            "Over max-cost", "t4-small for 2700 s can cost $0.60; max-cost is $0.50.", "Lower timeout."
        )
    ),
    "refused-bad-input": _before_a_job(
        refused=BadInput(["image: '--flavor' is not an image reference", f"volumes: {HOSTILE!r} has no mount path"])
    ),
    "five-thousand-metrics": report(
        findings=Findings(
            metrics=tuple(Metric(name=f"eval/task_{i:04}/acc", value=i / 5000, source="log") for i in range(5000))
        )
    ),
    "hostile-names": report(
        Reason.FAILED,
        key=HOSTILE,
        message=HOSTILE,
        plan=plan(command=f"echo '{HOSTILE}' '```'", metrics=f"{HOSTILE}\nabsent | {HOSTILE}"),
        findings=Findings(
            metrics=(Metric(name=HOSTILE, value=1.0, source=HOSTILE),),
            model=replace(MODEL, title=HOSTILE),
            model_note=HOSTILE,
            curve={HOSTILE: ((0.0, 1.0), (1.0, 2.0), (2.0, 1.5))},
            cause=HOSTILE,
            cause_line=HOSTILE,
            tracker_urls=(HOSTILE, "https://wandb.ai/x)[y](https://evil.test"),
        ),
        problems=(HOSTILE,),
    ),
    "dirty-snapshot": report(
        plan=plan(
            facts=replace(
                FACTS,
                code=replace(
                    SURVEY, dirty=2, notes=("2 tracked file(s) differ from the commit; the commit's version is sent.",)
                ),
            )
        ),
        snapshot=replace(SNAPSHOT, dirty=2),
    ),
    "gate-passed": report(plan=GATED, base_name="main@0000000", base=BASE, judged=_judged(GATE, BASE)),
    "gate-failed": report(plan=GATED, base_name="main@0000000", base=BETTER, judged=_judged(GATE, BETTER)),
    "gate-not-known": report(plan=GATED, judged=_judged(GATE, {})),
    "multi-gpu-with-notes": report(plan=plan(flavor="a10g-largex4", secrets="HF_TOKEN")),
    "price-not-known": report(plan=plan(facts=replace(FACTS, flavors=None))),
    "a-script-of-several-lines": report(plan=plan(command="if true\nthen\n\tpython t.py  --x 'a|b'\n    fi")),
    "a-long-command": report(plan=plan(command="echo " + "x" * 70_000)),
    "started-at-night": report(None, state=replace(RUNNING, started_at=STARTED.replace(hour=23)), findings=NOTHING),
}

"""What follows the findings: the baseline, the gate, what is stored, the model's card and release, the money."""

from __future__ import annotations

from dataclasses import replace

from hf_train.errors import Interrupted
from hf_train.flow.baseline import find
from hf_train.flow.lineage import describe
from hf_train.flow.release import release
from hf_train.flow.shelves import save
from hf_train.flow.spend import of_pull
from hf_train.inputs import Inputs
from hf_train.judge.gate import judge_all
from hf_train.plan import Plan
from hf_train.ports import Ports
from hf_train.report import Report
from hf_train.values import Reason


def afterwards(report: Report, plan: Plan, inputs: Inputs, ports: Ports) -> Report:
    """The report of an ended run, made whole. After a signal it is compared, and nothing more is written or asked.

    Args:
        report: The run with its outcome and findings.
        plan: What was planned.
        inputs: The inputs.
        ports: The world.
    """
    report = _compared(report, inputs, ports)
    if report.outcome is None or report.outcome.signum is not None:
        return report
    try:
        report = describe(report, inputs, ports)
        report = release(report, inputs, ports)
        return replace(report, pr_cost_usd=of_pull(plan, report.context, ports, report.state))
    except Interrupted:  # the results are there and stay
        words = "The workflow was cancelled before all that follows the results was written."
        return replace(report, problems=(*report.problems, words))


def _compared(report: Report, inputs: Inputs, ports: Ports) -> Report:
    """Beside the baseline, and through the gate; only a completed training has numbers to compare."""
    if report.outcome is None or report.outcome.reason is not Reason.COMPLETED:
        return report
    base = find(report, inputs, ports)
    metrics = {metric.name: metric.value for metric in report.findings.metrics}
    compared = replace(
        report,
        base_name=base.name,
        base=base.runs[0] if base.runs else {},
        base_curve=base.curve,
        judged=judge_all(inputs.gate, metrics, base.runs, diverged=report.findings.diverged),
        problems=(*report.problems, *base.problems),
    )
    if problem := save(compared, ports):
        return replace(compared, problems=(*compared.problems, f"The report could not be stored: {problem}"))
    return compared

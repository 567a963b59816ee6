"""Where a model comes from, written into its card, where `lineage` asks for it: after the results were read, once."""

from __future__ import annotations

from dataclasses import replace

from hf_train.errors import LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.inputs import Inputs
from hf_train.ports import Card, Cards, Ports
from hf_train.report import Report
from hf_train.report.lineage import hides, with_lineage
from hf_train.values import CARD_TITLE, ModelLink, Reason

LIMIT_S = 60.0


def describe(report: Report, inputs: Inputs, ports: Ports) -> Report:
    """Write the card of the model that this training published; a failure is a problem in words, never a verdict.

    Only the repo that `model-repo` names is written to: one that the log named may be anybody's.

    Args:
        report: The run, with the model that was proven; its revision stays that of the training.
        inputs: `lineage` and `model-repo`.
        ports: The world.
    """
    model, cards = report.findings.model, ports.cards
    if not inputs.lineage or cards is None or report.ref is None:
        return report
    if report.outcome is None or report.outcome.reason is not Reason.COMPLETED:
        return report
    if model is None or model.kind != "model" or model.repo.lower() != (inputs.model_repo or "").lower():
        return _with(report, "The lineage was not written: nothing was published to model-repo.")
    try:
        with ports.console.group("Write the lineage into the model card"):
            commit, problem = patiently(ports.clock, lambda: _write(cards, report, model), limit_s=LIMIT_S)
            ports.console.info(f"Commit {commit}" if commit else "Nothing to change.")
    except (RefusedByHub, LostSight) as error:
        return _with(report, f"The lineage was not written: {error.message} {error.hint}".strip())
    if commit:
        findings = replace(report.findings, model=replace(model, card=commit))
        report = replace(report, findings=findings)
    if hides(report, model):
        report = _with(report, "The card is public and names no repository, for that may be private.")
    return _with(report, f"Of the lineage: {problem}.") if problem else report


def _write(cards: Cards, report: Report, model: ModelLink) -> tuple[str, str]:
    """One try. Returns (the commit, empty when the card says it already; what is not in it, in words)."""
    card: Card = cards.read(model.repo)
    if model.revision not in card.commits:
        words = f"the commit {model.revision[:7]} is not on the main branch, whose card this would be."
        raise RefusedByHub("Not on main", words, "")
    text, problem = with_lineage(card.text, report, model)
    if text == card.text:
        return "", problem
    assert report.ref is not None  # noqa: S101  (its caller looked)
    return cards.write(model.repo, text, card.commits[0], f"{CARD_TITLE} {report.ref.id}"), problem


def _with(report: Report, problem: str) -> Report:
    return replace(report, problems=(*report.problems, problem))

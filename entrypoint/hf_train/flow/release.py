"""A model's release, where `release` asks for it: its Hub tag is the Git tag, and the GitHub release tells of it."""

from __future__ import annotations

from dataclasses import replace

from hf_train.errors import LostSight, RefusedByHub
from hf_train.flow.prepare import patiently
from hf_train.inputs import Inputs
from hf_train.ports import Ports
from hf_train.report import Report, verdict_of
from hf_train.report.release import release_text, section_name
from hf_train.text.sections import at_end
from hf_train.values import Reason, Release

LIMIT_S = 60.0


def release(report: Report, inputs: Inputs, ports: Ports) -> Report:
    """Tag the model and write the release; what cannot be done is a problem in words, never a verdict.

    Only what was trained, published to `model-repo` and passed its gate is tagged, at the very commit whose numbers
    were read. The release is told in any case, with the verdict.

    Args:
        report: The run, compared and judged.
        inputs: `release` and `model-repo`.
        ports: The world.
    """
    tag = report.context.tag
    if not inputs.release or report.outcome is None or report.outcome.reason is not Reason.COMPLETED:
        return report
    if not tag:
        return _with(report, "Nothing was released: this run is on no tag.")
    with ports.console.group(f"Release {tag}"):
        report = _tagged(replace(report, release=Release(tag=tag)), inputs, ports)
        return _told(report, tag, ports)


def _tagged(report: Report, inputs: Inputs, ports: Ports) -> Report:
    model, made = report.findings.model, report.release
    assert made is not None  # noqa: S101  (its caller made it)
    if verdict_of(report).level != "success":
        return _with(report, f"The model was not tagged {made.tag}: {verdict_of(report).headline}.")
    if model is None or model.kind != "model" or model.repo.lower() != (inputs.model_repo or "").lower():
        return _with(report, f"Nothing was tagged {made.tag}: nothing was published to model-repo.")
    tags = ports.tags
    if tags is None:
        return report
    words = f"{report.context.repository} {made.tag}"
    try:
        new = patiently(
            ports.clock, lambda: tags.tag(model.repo, made.tag, model.revision, words.strip()), limit_s=LIMIT_S
        )
    except (RefusedByHub, LostSight) as error:
        return _with(report, f"The model was not tagged {made.tag}: {error.message} {error.hint}".strip())
    ports.console.info(f"{model.repo}@{made.tag} is commit {model.revision}{'' if new else ', as it was'}")
    return replace(report, release=replace(made, hub_tag=True))


def _told(report: Report, tag: str, ports: Ports) -> Report:
    made = report.release
    assert made is not None  # noqa: S101  (its caller made it)
    if ports.releases is None:
        return _with(report, f"The release {tag} was not written: there is no GitHub token.")
    text = ports.console.redact(release_text(report))
    name = section_name(report)
    url, problem = ports.releases.edit(tag, lambda body: at_end(body, name, text))
    if problem:
        return _with(report, f"The release {tag} was not written: {problem}.")
    ports.console.info(url)
    return replace(report, release=replace(made, url=url))


def _with(report: Report, problem: str) -> Report:
    return replace(report, problems=(*report.problems, problem))

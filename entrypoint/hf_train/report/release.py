"""A model's release in the body of a GitHub release. Pure."""

from __future__ import annotations

import hashlib

from hf_train.report.comment import model_words
from hf_train.report.compare import gate_lines
from hf_train.report.model import Report
from hf_train.report.table import table
from hf_train.report.verdict import verdict_of
from hf_train.report.words import anchor, code, duration, link, money

MAX_ROWS = 30


def section_name(report: Report) -> str:
    """Name of the section: one for each workflow, job and matrix leg. A key is free text, so its hash stands for it."""
    return f"release-{hashlib.sha256(report.key.encode('utf-8', 'replace')).hexdigest()[:12]}"


def release_text(report: Report) -> str:
    """Verdict, gate, numbers beside those of the last release, the model, the image, and the run that made it."""
    verdict, model, made = verdict_of(report), report.findings.model, report.release
    lines = [f"### Model: {verdict.sign} {verdict.headline}", ""]
    if model is not None:
        tagged = f" · Hub tag {code(made.tag)}" if made is not None and made.hub_tag else ""
        lines.append(f"**Model** {model_words(report, model)}{tagged}  ")
    if report.plan is not None:
        lines.append(f"**Image** {code(report.plan.job.image)}  ")
        ran = f"**Ran** on {code(report.plan.job.flavor)} for {duration(report.duration_s)}, {money(report.cost_usd)}"
        job = f" · Job {link(report.ref.id, report.ref.url)}" if report.ref else ""
        run = f" · {anchor('workflow run', report.context.run_url)}" if report.context.run_url else ""
        lines.append(f"{ran}{job}{run}  ")
    for part in (gate_lines(report.judged), table(report, MAX_ROWS)):
        if any(part):
            lines += ["", *part]
    return "\n".join(lines)

"""The comment that lives on the pull request: queued, running, result. Readable on a phone, details folded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from hf_train import __version__
from hf_train.failure import title_of
from hf_train.report.chart import Points, caption, drawable, main_curve, mermaid, sparkline
from hf_train.report.compare import gate_lines
from hf_train.report.frames import Frame
from hf_train.report.gpus import gpu_line
from hf_train.report.live import MAX_PROBLEMS, status
from hf_train.report.marks import result_mark
from hf_train.report.model import Phase, Report
from hf_train.report.nodes import node_table
from hf_train.report.output import output_folder, output_line
from hf_train.report.table import table
from hf_train.report.verdict import verdict_of
from hf_train.report.words import anchor, block, cell, code, duration, fits, link, money, number, one_line
from hf_train.values import ModelLink, Reason

MAX_ROWS = 50
MAX_OTHERS = 5


def comment(report: Report, marker: str) -> str:
    """The comment's Markdown.

    Args:
        report: The run.
        marker: The hidden first line that makes it sticky.
    """
    return fitting(report, [marker, result_mark(report)], MAX_ROWS) + "\n"


def fitting(report: Report, before: Sequence[str], rows: int) -> str:
    """The body at its fullest that GitHub takes: first the details go, then rows, then all but the head."""
    for most, details in ((rows, True), (rows, False), (20, False), (5, False)):
        text = "\n".join([*before, *body(report, most, details=details)])
        if fits(text):
            return text
    return "\n".join([*before, _headline(report), "", _where(report), "", _footer(report)])


def body(report: Report, rows: int = MAX_ROWS, *, details: bool = True) -> list[str]:
    """The comment without its marks."""
    parts = [
        [_headline(report)],
        [_where(report)],
        status(report),
        gate_lines(report.judged),
        _cause(report),
        table(report, rows),
        _results(report),
        node_table(report),
        _earlier(report),
        _curve(report),
        _problems(report),
        _details(report) if details else [],
        [_footer(report)],
    ]
    lines: list[str] = []
    for part in parts:
        if any(part):
            lines += [*part, ""]
    return lines


def _headline(report: Report) -> str:
    verdict = verdict_of(report)
    words = [f"### {verdict.sign} {verdict.headline}"]
    if report.phase is Phase.ENDED and report.duration_s is not None:
        words.append(f"{duration(report.duration_s)}, {money(report.cost_usd)}")
    return " · ".join(words)


def _where(report: Report) -> str:
    words = [code(report.key)]
    sha = report.context.head_sha or (report.snapshot.sha if report.snapshot else "")
    if sha:
        repository = report.context.repository
        url = f"{report.context.server_url}/{repository}/commit/{sha}" if repository else ""
        words.append(f"commit {link(sha[:7], url)}")
    if report.ref:
        words.append(f"Job {link(report.ref.id, report.ref.url)}")
    if report.context.run_url:
        words.append(anchor("workflow run", report.context.run_url))
    return " · ".join(words)


def _results(report: Report) -> list[str]:
    if report.phase is not Phase.ENDED or report.state is None:
        return []
    lines = []
    if report.findings.model:
        lines.append(f"**Model** {model_words(report, report.findings.model)}")
    elif report.findings.model_note:
        lines.append(f"**Model** {code(report.findings.model_note)}")  # names repos that the log named
    if report.release is not None:
        tagged = "the model has the same tag" if report.release.hub_tag else "the model is not tagged"
        lines.append(f"**Release** {link(report.release.tag, report.release.url)} · {tagged}")
    lines += [f"**Also** {model_words(report, other)}" for other in report.findings.others[:MAX_OTHERS]]
    words = []
    if report.plan:
        words.append(f"**Ran** on {code(report.plan.job.flavor)} for {duration(report.duration_s)}")
        if report.state.queued_s is not None:
            words.append(f"queued {duration(report.state.queued_s)}")
        words.append(f"cost {money(report.cost_usd)}")
    if report.pr_cost_usd is not None:
        words.append(f"this pull request so far {money(report.pr_cost_usd)}")
    if words:
        lines.append(" · ".join(words))
    lines += [line for line in (gpu_line(report.findings.gpus), output_line(report)) if line]
    if report.findings.tracker_urls:
        links = ", ".join(link(url, url) for url in report.findings.tracker_urls[:3])
        lines.append(f"**Tracker** {links}")
    return [f"{line}  " for line in lines]


def _earlier(report: Report) -> list[str]:
    """Jobs that this run paid for before this one."""
    lines = []
    for one in report.earlier:
        name = "Smoke run" if one.kind == "smoke" else "Earlier try"
        job = link(one.ref.id, one.ref.url)
        lines.append(f"**{name}** Job {job}: {code(one.reason)} · {duration(one.seconds)} · {money(one.usd)}  ")
    return lines


def model_words(report: Report, model: ModelLink) -> str:
    """A link pinned to the commit. A public pull request does not name a private repo; the step's outputs do."""
    kind = {"model": "", "dataset": "dataset ", "space": "Space "}[model.kind]
    if model.private and report.context.private is False:
        return f"{kind}in a private repo, at {code(model.revision[:7])}"
    text = f"{kind}{link(f'{model.repo}@{model.revision[:7]}', model.url)}"
    words = [f"{code(model.title, 80)}" if model.title else ""]
    if model.has_weights is False:
        words.append("no weights at that commit")
    if model.card:
        words.append(f"card since {code(model.card[:7])}")
    return " · ".join([text, *(word for word in words if word)])


def _cause(report: Report) -> list[str]:
    findings = report.findings
    failed = verdict_of(report).level in {"failure", "warning"}
    if report.phase is not Phase.ENDED or not failed:
        return []
    lines = []
    if report.state and report.state.message:
        lines.append(f"The Hub says {code(report.state.message)}.")
    if title := title_of(findings.cause):
        lines.append(f"**{title}** ({code(findings.cause or '')}).")
    if findings.cause_line and findings.cause_line != (report.state.message if report.state else ""):
        lines.append(code(findings.cause_line))
    if report.frame:
        lines.append(f"At {_place(report, report.frame)}.")
    if findings.hint:
        lines.append(one_line(findings.hint))
    step, total = findings.progress
    if step is not None and report.outcome and report.outcome.reason is not Reason.COMPLETED:
        lines.append(f"Last seen at step {step:,}{f' of {total:,}' if total else ''}.")
    return [f"> {line}  " for line in lines]


def _place(report: Report, frame: Frame) -> str:
    """A line of the repository, linked to the commit that people see."""
    context = report.context
    path = quote(frame.path, errors="replace")
    blob = f"{context.server_url}/{context.repository}/blob/{context.head_sha}/{path}#L{frame.line}"
    return link(f"{frame.path}:{frame.line}", blob if context.repository and context.head_sha else "")


def _curve(report: Report) -> list[str]:
    found = main_curve(report.findings.curve)
    if found is None:
        return []
    name, points = found
    if report.phase is not Phase.ENDED:
        return [f"{code(caption(name, points))} {sparkline(points)}"]
    base = drawable(report.base_curve.get(name, ()))
    if len(base) < 2 or not report.base_name:
        base = ()
    # Markdown is not read on this line, so a code span would not hold the name in: HTML has to.
    words = f"<code>{escape(caption(name, points))}</code> {sparkline(points, base, 16 if base else 32)}"
    if base:
        words += f" · base <code>{number(base[0][1])} → {number(base[-1][1])}</code> {sparkline(base, points, 16)}"
    return [
        "<details>",
        f"<summary>Curve: {words}</summary>",
        "",
        mermaid(name, points, base),
        "",
        *_legend(report, points, base),
        "</details>",
    ]


def _legend(report: Report, points: Points, base: Points) -> list[str]:
    if not base:
        return []
    words = [f"Blue: this run. Grey: {code(report.base_name, 60)}"]
    if base[-1][0] < points[-1][0]:
        words.append(f"which ended at step {number(base[-1][0])} and is drawn flat from there")
    return [", ".join(words) + ".", ""]


def _problems(report: Report) -> list[str]:
    problems = [*report.problems, *report.findings.problems]
    if report.outcome:
        problems += report.outcome.log_problems
    return [f"- {code(problem)}" for problem in dict.fromkeys(problems)][:10]


def _details(report: Report) -> list[str]:
    plan = report.plan
    if plan is None:
        return []
    lines = ["<details>", "<summary>How this was run</summary>", ""]
    lines += ["The same Job by hand:", "", block(plan.equal_line, "sh"), ""]
    if report.phase is Phase.ENDED and (output := output_folder(report)):
        lines += ["What it left, as a folder of yours:", "", block(output.copy_line, "sh"), ""]
    rows = [
        ("Image", cell(plan.job.image)),
        ("Flavor", cell(_flavor_words(report))),
        *((("Nodes", str(len(plan.specs))),) if plan.others else ()),
        ("Limit", f"{duration(plan.job.timeout_s)}, {plan.job.attempts or 1} attempt(s)"),
        ("Worst case", money(plan.budget.worst_case_usd)),
    ]
    if report.snapshot:
        snapshot = report.snapshot
        dirty = f", {snapshot.dirty} changed file(s)" if snapshot.dirty else ""
        size = f"{snapshot.files} files, {snapshot.size / 1e6:.1f} MB{dirty}"
        rows.append(("Code", f"{cell(snapshot.digest[:16])} ({size})"))
    rows.append(("Key", cell(plan.key)))
    lines += ["| | |", "|:--|:--|", *(f"| {name} | {value} |" for name, value in rows), ""]
    lines += [f"- {code(note)}" for note in plan.notes[:MAX_PROBLEMS]]
    return [*lines, "", "</details>"]


def _flavor_words(report: Report) -> str:
    plan = report.plan
    if plan is None or plan.budget.flavor is None:
        return plan.job.flavor if plan else ""
    flavor = plan.budget.flavor
    parts = [flavor.name, flavor.accelerator or flavor.cpu, flavor.ram]
    return ", ".join(part for part in parts if part)


def _footer(report: Report) -> str:
    attempt = f", attempt {report.context.run_attempt}" if report.context.run_attempt > 1 else ""
    return f"<sub>hf-train {__version__}{attempt}</sub>"

"""Reports in which every text that a stranger can choose is hostile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from hf_train.context import Context
from hf_train.errors import BadInput
from hf_train.judge.gate import Condition, Judged, Judgement
from hf_train.report import Frame, Phase, Report
from hf_train.values import Findings, Metric, Outcome, Reason
from unit.makers import FACTS, MODEL, ON_GITHUB, SURVEY, plan, report

CANARY = "Zq7x"
"""Stands in every hostile text: wherever it is read outside of code, the text got out."""
PIECES = [
    "`", "``", "```", "````", "\n", "\n\n", "\r", "|", "\\", "\\|", "\\`", "[", "]", "](https://evil.test)", "![",
    "<", ">",
    "<img src=x>", "<a href=//evil.test>", "</details>", "</summary>", "<!--", "-->", "</code>", "@octo/team",
    "@dependabot",
    "#1", "fixes #2", "octo/proj#3", "GH-4", "https://evil.test/x", "www.evil.test", "a@evil.test", "&lt;", "&#64;",
    "*", "_",
    "~~", "# ", "## ", "- ", "> ", "    ", "---", "===", "$$", "%%{init: {}}%%", '"', "'", "/approve", "\u202e",
    "\u200b",
    "\U000e0041", "\x1b[31m", "\0", "\ud800", "é", "😀", ":x:", "http://[", "1. ", "|--|", ";", "{", "}", "~~~", "\t",
    "::",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=8).map(
    lambda pieces: CANARY.join(["", *pieces, ""])
)
NUMBER = st.floats() | st.sampled_from([1e308, -1e308, 5e-324, 1e15, -0.0, 1e-7])
LIVE = (Phase.QUEUED, Phase.STARTING)
POINTS = st.lists(st.tuples(NUMBER, NUMBER), max_size=60).map(tuple)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Any report, with hostile texts and numbers."""
    text = draw(st.lists(TEXT, min_size=6, max_size=6))
    metrics = draw(st.lists(st.builds(Metric, name=TEXT, value=NUMBER, source=TEXT), max_size=4))
    model = replace(MODEL, title=text[0], private=draw(st.booleans()))
    context: Context = replace(ON_GITHUB, private=draw(st.sampled_from([True, False, None])), workflow=text[1])
    findings = Findings(
        metrics=tuple(metrics),
        model=draw(st.sampled_from([model, None])),
        others=(model,) * draw(st.integers(0, 2)),
        model_note=text[1],
        curve=draw(st.dictionaries(TEXT, POINTS, max_size=2)),
        diverged=draw(st.booleans()),
        cause=text[2],
        cause_line=text[3],
        tracker_urls=(text[4], f"https://wandb.ai/{text[4]}"),
        progress=(draw(st.none() | st.integers()), draw(st.none() | st.integers())),
        problems=(text[5],),
    )
    reason = draw(st.sampled_from([None, *(one for one in Reason if one not in {Reason.SKIPPED, Reason.REFUSED})]))
    changes: dict[str, Any] = {}
    if draw(st.integers(0, 5)) == 0:
        reason, changes = None, {"phase": Phase.ENDED, "state": None, "refused": BadInput(text)}
    facts = replace(FACTS, code=replace(SURVEY, notes=tuple(text[:2])))
    command = (text[0].replace("\0", ""), text[2])
    planned = plan(context=context, facts=facts, metrics=tuple(text[3:5]))
    planned = replace(planned, job=replace(planned.job, command=command, image=text[5], env={"A": text[4]}))
    seconds = draw(st.none() | NUMBER)
    base = draw(st.dictionaries(st.sampled_from([metric.name for metric in metrics] or [text[0]]), NUMBER))
    condition = Condition(text=text[2], metric=text[3], op=">=")
    kinds: list[Judgement] = draw(st.lists(st.sampled_from(["pass", "fail", "unknown"]), max_size=2))
    judged = [Judged(condition=condition, judgement=kind, value=seconds, bound=seconds, why=text[4]) for kind in kinds]
    changes |= {"base_name": draw(st.sampled_from(["", text[5]])), "base": base, "judged": tuple(judged)}
    made = report(reason, message=text[1], context=context, key=text[0], plan=planned, findings=findings, **changes)
    if made.state is not None:
        made = replace(made, state=replace(made.state, running_s=seconds, queued_s=seconds, stage_text=text[0]))
    if made.outcome is not None:
        made = replace(made, outcome=Outcome(state=made.state, reason=made.outcome.reason, log_problems=(text[2],)))
    if draw(st.booleans()):
        made = replace(made, frame=Frame(path=text[1], line=3), base_curve=findings.curve)
    return replace(made, problems=(text[3],), eta_s=seconds, phase=draw(st.sampled_from([made.phase, *LIVE])))

"""When to say what: the sticky comment, the check, outputs and files. A failure here is a problem in the report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hf_train.errors import UserError
from hf_train.failure import title_of
from hf_train.flow.prepare import Request
from hf_train.plan import Plan
from hf_train.ports import Ports, Pulls
from hf_train.report import (
    Phase,
    Report,
    as_json,
    check_annotations,
    check_conclusion,
    check_summary,
    comment,
    outputs,
    summary,
    tells_the_same,
    verdict_of,
)
from hf_train.report.output import output_folder, output_words

LIVE_EVERY_S = 300.0
MAX_SAID = 12
"""Metrics that the step's log shows at the end; the comment and the summary have them all."""
MAX_KEY = 200
MAX_PAUSES = 2
MAX_PAUSE_S = 60.0


def marker(key: str) -> str:
    """The hidden first line that makes a comment ours. The key may not end the HTML comment."""
    safe = "".join(sign if sign.isprintable() and sign not in "<>" else " " for sign in key)
    while "--" in safe:
        safe = safe.replace("--", "-")
    if len(safe) > MAX_KEY:
        safe = f"{safe[:MAX_KEY]} {hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"<!-- hf-train:{safe} -->"


@dataclass(slots=True)
class Reporter:
    """Publishes the reports of one run.

    Attributes:
        request: What was asked for.
        ports: The world.
    """

    request: Request
    ports: Ports
    _last_live: float = field(default=0.0, init=False)
    _phase: Phase = field(default=Phase.QUEUED, init=False)
    _check_text: str = field(default="", init=False)
    _last_text: str = field(default="", init=False)
    _comment_url: str = field(default="", init=False)
    _problems: list[str] = field(default_factory=list, init=False)
    _patience_s: float = field(default=MAX_PAUSE_S, init=False)
    _quiet_until: float = field(default=0.0, init=False)

    @property
    def key(self) -> str:
        """Key of the sticky comment."""
        return self.request.inputs.comment_key or self.request.context.comment_key

    def started(self, report: Report) -> None:
        """The Job exists: its id is an output from now on, whatever happens."""
        self.ports.files.outputs(outputs(report))
        self._live(report)

    def follows(self, report: Report) -> None:
        """The Job was looked at: the comment follows each change of its phase, and else at most once in five minutes.

        The phases come in one order only, so that a log that flickers costs no calls.
        """
        order = list(Phase)
        onward = order.index(report.phase) > order.index(self._phase)
        if onward or self.ports.clock.monotonic() - self._last_live >= LIVE_EVERY_S:
            self._live(report)

    def _live(self, report: Report) -> None:
        self._last_live, self._phase = self.ports.clock.monotonic(), report.phase
        if self._last_live < self._quiet_until:
            return
        if self.request.inputs.comment == "always":
            self._write_comment(report)
        self._write_check(report)

    def refused(self, error: UserError, plan: Plan | None) -> None:
        """Nothing was started: say so where people look."""
        self.end(
            Report(
                context=self.request.context,
                key=self.key,
                phase=Phase.ENDED,
                plan=plan,
                refused=error,
                earlier=self.request.earlier,
            )
        )

    def end(self, report: Report) -> Report:
        """The last word: outputs, comment, check, files, summary, in this order."""
        self.ports.files.outputs(outputs(report))
        if report.outcome and report.outcome.signum is not None:
            self._patience_s = 0.0  # the runner kills a step that was told to stop after ten seconds
        if self._wants_last_comment(report):
            self._write_comment(report)
        self._write_check(report)
        report = replace(report, comment_url=self._comment_url, problems=(*report.problems, *self._problems))
        text = self.ports.console.redact(comment(report, marker(self.key)))
        files = self.ports.files
        report = replace(report, comment_file=files.report("comment.md", text))
        files.report("summary.md", summary(report))
        report_file = files.report("report.json", as_json(report))
        report = replace(report, report_file=report_file)
        if report_file:
            files.report("report.json", as_json(report))
        files.summary(summary(report))
        files.outputs(outputs(report))
        self._say(report)
        return report

    def _wants_last_comment(self, report: Report) -> bool:
        mode, level = self.request.inputs.comment, verdict_of(report).level
        if mode == "on-failure" and level != "success":
            return level in {"failure", "warning"}
        if mode in {"on-change", "on-failure"} and self.ports.pulls and self.request.context.pull:
            before = self.ports.pulls.previous_comment(self.request.context.pull.number, marker(self.key))
            # A success is news where a comment of ours still tells of a failure.
            return not tells_the_same(before, report) and bool(before or mode == "on-change")
        return mode != "never"

    def _write_comment(self, report: Report) -> None:
        pull = self.request.context.pull
        if pull is None or self.ports.pulls is None or self.request.inputs.comment == "never":
            return
        text = self.ports.console.redact(comment(report, marker(self.key)))
        if text == self._last_text:
            return
        pulls, url = self.ports.pulls, ""

        def write() -> str:
            nonlocal url
            url, problem = pulls.upsert_comment(pull.number, marker(self.key), text)
            return problem

        if problem := self._written(pulls, write, last=report.phase is Phase.ENDED):
            self._problem(f"The comment could not be written: {problem}.")
        else:
            self._last_text, self._comment_url = text, url

    def _write_check(self, report: Report) -> None:
        sha = self.request.context.head_sha
        if not (self.request.inputs.check and self.ports.pulls and sha):
            return
        title, markdown = check_summary(report)
        redact, conclusion = self.ports.console.redact, check_conclusion(report)
        if (text := redact(markdown)) == self._check_text and conclusion is None:
            return
        remarks = [
            replace(one, title=redact(one.title), message=redact(one.message)) for one in check_annotations(report)
        ]
        pulls = self.ports.pulls

        def write() -> str:
            return pulls.write_check(sha, self.key, conclusion, title, text, remarks)

        if problem := self._written(pulls, write, last=report.phase is Phase.ENDED):
            self._problem(f"The check could not be written: {problem}.")
        else:
            self._check_text = text

    def _written(self, pulls: Pulls, write: Callable[[], str], *, last: bool) -> str:
        """The problem of a write. Only the last word waits when GitHub asks for quiet: twice, a minute in all."""
        clock = self.ports.clock
        problem = write()
        for _ in range(MAX_PAUSES):
            pause = pulls.pause_s() if problem else 0.0
            self._quiet_until = max(self._quiet_until, clock.monotonic() + pause)
            if not (last and 0 < pause <= self._patience_s):
                break
            self.ports.console.info(f"GitHub asks for {pause:.0f} s of quiet; the last word waits for it.")
            left, self._patience_s = self._patience_s - pause, 0.0  # a signal while we wait is an end of patience
            clock.sleep(pause)
            self._patience_s = left
            problem = write()
        return problem

    def _problem(self, text: str) -> None:
        if text not in self._problems:
            self._problems.append(text)
            self.ports.console.warning("Report", text)

    def _say(self, report: Report) -> None:
        """The verdict in the step's log, outside of any group."""
        verdict, console = verdict_of(report), self.ports.console
        if report.refused:
            return  # the command line prints the error itself
        findings = report.findings
        title = title_of(findings.cause)
        cause = f"{title}: {findings.cause_line}" if title and findings.cause_line else title or findings.cause_line
        details = [report.skipped, cause, findings.hint, findings.model_note]
        text = " ".join(_sentence(part) for part in (verdict.headline, *details) if part)
        where = f" {report.ref.url}" if report.ref else ""
        if verdict.level == "failure":
            console.error("hf-train", f"{text}{where}")
            for one in check_annotations(report):
                if report.frame and one.path == report.frame.path:
                    console.error(one.title, one.message, one.path, one.line)
        elif verdict.level == "warning":
            console.warning("hf-train", f"{text}{where}")
        elif report.skipped:
            console.notice("hf-train", text)
        else:
            console.info(f"{verdict.sign} {text}{where}")
        self._say_results(report)

    def _say_results(self, report: Report) -> None:
        """What a person at a terminal came for."""
        console, findings = self.ports.console, report.findings
        for one in report.judged:
            judged = f"{one.value:g}" if one.value is not None else one.why
            console.info(f"Gate: {one.judgement}: {one.condition.text} ({judged})")
        for metric in findings.metrics[:MAX_SAID]:
            console.info(f"{metric.name} = {metric.value:g} ({metric.source})")
        for problem in report.problems:
            console.info(f"Note: {problem}")
        if findings.model:
            console.info(f"Model: {findings.model.url}")
        if output := output_folder(report):
            console.info("; ".join([f"Output: {output.address}", *output_words(report)]))
            console.info(f"To have it here: {output.copy_line}")


def _sentence(text: str) -> str:
    """A part of a longer message, ended as a sentence."""
    return text if text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."

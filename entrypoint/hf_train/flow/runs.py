"""A run of several Jobs: a smoke run first, tries of what the platform ended, and one report at the end."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from hf_train.errors import Interrupted, RefusedByPolicy, UserError
from hf_train.failure import PLATFORM
from hf_train.flow import pipeline
from hf_train.flow.prepare import Request, prepare
from hf_train.flow.reporter import Reporter
from hf_train.flow.spend import earlier, problem
from hf_train.inputs import Inputs
from hf_train.plan import Plan, usd
from hf_train.plan.watching import longest, watch_limit
from hf_train.ports import Ports
from hf_train.report import Phase, Report, verdict_of
from hf_train.report.words import duration
from hf_train.smoke import Forecast, forecast, smoke_inputs
from hf_train.values import Attempt, Outcome, Reason


def run(request: Request, ports: Ports) -> Report:
    """One whole run, of as many Jobs as it takes.

    Args:
        request: What was asked for.
        ports: The world.

    Returns:
        The report, already published.

    Raises:
        UserError: The run was refused; that was reported too.
    """
    runner = _Runner(request, ports)
    try:
        if request.inputs.smoke is None or request.problems:
            return runner.tries()
        return runner.smoke_first()
    except Interrupted as stop:
        if not runner.request.earlier:
            raise
        return runner.interrupted(stop)


class _Runner:
    """Holds the request as it changes from Job to Job."""

    def __init__(self, request: Request, ports: Ports) -> None:
        self.request = request
        self.ports = ports
        self._began = ports.clock.monotonic()

    def smoke_first(self) -> Report:
        """The short Job, and the full one when it fits."""
        inputs, console = self.request.inputs, self.ports.console
        try:
            plan = prepare(self.request, self.ports).plan  # both must be affordable, or neither is launched
        except UserError as error:
            pipeline.refuse(self.request, self.ports, error)
        console.info("Smoke run first.")
        asked, self.request = self.request, replace(self.request, inputs=smoke_inputs(inputs))
        report = self._tries(_smoke_end)
        if report.phase is not Phase.ENDED or not _goes_on(report):
            return report
        told = forecast(inputs, plan.expect.config, report.findings, report.duration_s, plan.budget.flavor)
        done = attempt_of(report, "smoke", told.text)
        console.info(f"Smoke run: {told.text}.")
        self.request = replace(asked, nonce=self.request.nonce, earlier=(*self.request.earlier, done))
        self._next(replace(inputs, smoke=None))
        if (misfit := _misfit(told, plan, self.request)) is not None:
            pipeline.refuse(self.request, self.ports, misfit)
        return self.tries()

    def tries(self) -> Report:
        """The Job, and again while the platform ends it and it may be paid for."""
        return self._tries(lambda report: report)

    def interrupted(self, stop: Interrupted) -> Report:
        """A signal between two Jobs: nothing runs, and the comment must not go on saying that something does."""
        reporter = Reporter(self.request, self.ports)
        outcome = Outcome(state=None, reason=Reason.CANCELLED, signum=stop.signum, cancel_confirmed=True)
        return reporter.end(
            Report(
                context=self.request.context,
                key=reporter.key,
                phase=Phase.ENDED,
                outcome=outcome,
                earlier=self.request.earlier,
            )
        )

    def _tries(self, last: pipeline.LastWord) -> Report:
        left = self.request.inputs.retry
        while True:
            again = False

            def last_word(report: Report, left: int = left) -> Report | None:
                nonlocal again
                if left and report.findings.cause == PLATFORM:
                    if not (why := self._not_again(report)):
                        again = True
                        return None
                    report = replace(report, problems=(*report.problems, f"It was not tried again: {why}"))
                return last(report)

            report = pipeline.run(self.request, self.ports, last_word)
            if not again:
                return report
            left -= 1
            message = report.state.message if report.state else ""
            self.ports.console.warning("Tried again", f"The platform ended the Job ({message}); a new one is launched.")
            done = attempt_of(report, "try", message or verdict_of(report).headline)
            self.request = replace(self.request, earlier=(*self.request.earlier, done))
            self._next(self.request.inputs)

    def _not_again(self, report: Report) -> str:
        """Why one more Job may not be launched, in words; empty when it may."""
        if report.left:  # it would bill beside the next one, which would take its place in the state file
            return "a Job of this one may still run."
        plan = report.plan
        worst = plan.budget.worst_case_usd if plan else None
        if plan is None or worst is None:
            return "what it costs is not known."
        budget, this = plan.budget, attempt_of(report, "try", "")
        spent = sum(one.most_usd for one in (*self.request.earlier, this))
        if budget.max_usd is not None and spent + worst > budget.max_usd:
            return (
                f"{usd(spent)} were spent, one more Job can cost {usd(worst)}, and max-cost is {usd(budget.max_usd)}."
            )
        limit = watch_limit(self.request.inputs, self.request.context)
        if limit is not None and self._elapsed() + longest(self.request.inputs) > limit:
            return f"this step follows Jobs for {duration(limit)} only (watch-timeout)."
        if budget.max_pr_usd is not None or budget.max_day_usd is not None:
            jobs = earlier(self.request.context, plan.job.namespace, self.ports)
            ended = replace(plan, nonce="")  # the Job of this mark is paid for too
            found = problem(ended, self.request.context, jobs, plan.flavors, self.ports.clock.now())
            return found.what if found else ""
        return ""

    def _next(self, inputs: Inputs) -> None:
        """A fresh mark for the next Job, and what is left of the time to follow it."""
        from_now = replace(self.request, inputs=inputs, nonce=_after(self.request.nonce))
        limit = watch_limit(from_now.inputs, from_now.context)
        if limit is not None:
            left = max(1, int(limit - self._elapsed()))
            policy = from_now.inputs.on_watch_timeout or ("fail" if longest(from_now.inputs) > left else None)
            changed = replace(from_now.inputs, watch_timeout=left, on_watch_timeout=policy)
            from_now = replace(from_now, inputs=changed)
        self.request = from_now

    def _elapsed(self) -> float:
        return self.ports.clock.monotonic() - self._began


def attempt_of(report: Report, kind: str, reason: str) -> Attempt:
    """A Job that has ended, as the final report lists it."""
    assert report.ref is not None  # noqa: S101  (it ended, so it was)
    worst = report.plan.budget.worst_case_usd if report.plan else None
    return Attempt(
        kind="smoke" if kind == "smoke" else "try",
        ref=report.ref,
        reason=reason,
        seconds=report.duration_s,
        usd=report.job_usd,
        most_usd=report.job_usd if report.job_usd is not None else worst or 0.0,
    )


def _goes_on(report: Report) -> bool:
    """Whether the smoke run lets the full one follow: it completed, or trained until its own short time was over."""
    reason = report.outcome.reason if report.outcome else None
    if report.left:
        return False
    return reason is Reason.COMPLETED or (
        reason is Reason.TIMEOUT and bool(report.findings.progress[0]) and report.findings.steps_per_second is not None
    )


def _smoke_end(report: Report) -> Report | None:
    if _goes_on(report):
        return None
    words = "This was the smoke run; the full run was not launched."
    if report.left and report.outcome is not None:  # however well the smoke run went, it was not what was asked for
        report = replace(report, outcome=replace(report.outcome, reason=Reason.LOST_SIGHT))
    return replace(report, problems=(*report.problems, words))


def _misfit(told: Forecast, plan: Plan, request: Request) -> RefusedByPolicy | None:
    """Why the full run is not launched after the smoke run; None when it is."""
    if told.seconds is None or told.timeout_s is None:
        return None
    if told.seconds > plan.job.timeout_s:
        return RefusedByPolicy(
            "The full run does not fit its timeout",
            f"By the smoke run it takes about {duration(told.seconds)}, and timeout is {duration(plan.job.timeout_s)}.",
            f"Set timeout to {duration(told.timeout_s)}. The full run was not launched; the smoke run was paid for.",
        )
    limit = plan.budget.max_usd
    spent = sum(one.most_usd for one in request.earlier)
    if limit is not None and told.cost_usd is not None and spent + told.cost_usd > limit:
        return RefusedByPolicy(
            "The full run does not fit max-cost",
            f"By the smoke run it costs about {usd(told.cost_usd)}, {usd(spent)} were spent, and max-cost is "
            f"{usd(limit)}.",
            "Raise max-cost or train less. The full run was not launched; the smoke run was paid for.",
        )
    return None


def _after(nonce: str) -> str:
    """The mark of the next Job of the same run."""
    return hashlib.sha256(f"{nonce} next".encode()).hexdigest()[:32]

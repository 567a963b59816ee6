"""The six stages over ports: inputs -> plan -> launch -> watch -> collect -> report. Report first, fail last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from hf_train.collect.reader import LogReader
from hf_train.collect.record import resumed_step
from hf_train.errors import Interrupted, LostSight, UserError
from hf_train.flow.afterwards import afterwards
from hf_train.flow.findings import collect, live
from hf_train.flow.gauging import Meter, fuller
from hf_train.flow.handover import leave
from hf_train.flow.inquiry import create_repo
from hf_train.flow.launch import Launched, launch, remembered, send
from hf_train.flow.lease import Keeper, grant
from hf_train.flow.nodes import Group, members
from hf_train.flow.output import make_folder
from hf_train.flow.prepare import Prepared, Request, prepare, with_image
from hf_train.flow.publishing import push
from hf_train.flow.reporter import Reporter
from hf_train.flow.stopping import UNSEEN_WAITS_S, after_a_bug, before_watch, while_watching
from hf_train.flow.strays import Strays
from hf_train.flow.supersede import make_room
from hf_train.flow.trackers import tracked
from hf_train.flow.watch import Policy, Watcher
from hf_train.plan import Plan, outlives, usd
from hf_train.plan.output import output_of
from hf_train.ports import Ports
from hf_train.report import Frame, Frames, Phase, Report
from hf_train.report.words import duration
from hf_train.show import show_plan
from hf_train.smoke import MARK
from hf_train.values import Findings, JobRef, JobState, Outcome, Reason, Snapshot, Stage

LastWord = Callable[[Report], Report | None]


def run(request: Request, ports: Ports, last_word: LastWord = lambda report: report) -> Report:
    """One Job from its plan to its report.

    Args:
        request: What was asked for.
        ports: The world.
        last_word: Given how the Job ended, the report to publish; None when another Job of the run follows.

    Returns:
        The report, already published unless another Job follows. Its verdict has the exit code.

    Raises:
        UserError: The run was refused before there was a Job; that was reported too.
    """
    reporter = Reporter(request, ports)
    try:
        prepared = prepare(request, ports)
        show_plan(prepared.plan, ports.console)
        prepared = with_image(prepared, request, ports)
    except UserError as error:
        reporter.refused(error, None)
        raise
    strays = Strays(prepared.plan, ports)
    try:
        return _Run(request, ports, reporter, prepared, last_word).go(strays)
    except UserError:
        raise
    except Exception:
        after_a_bug(strays, keep=request.inputs.on_cancel == "keep")
        raise


def skip(request: Request, ports: Ports, why: str) -> Report:
    """Report that nothing was run, and why."""
    reporter = Reporter(request, ports)
    report = Report(context=request.context, key=reporter.key, phase=Phase.ENDED, skipped=why)
    return reporter.end(report)


def resume(request: Request, ports: Ports, plan: Plan, snapshot: Snapshot | None, state: JobState) -> Report:
    """A run from its watch on: for a Job that an earlier step launched and does not follow any more."""
    reporter = Reporter(request, ports)
    base = Report(
        context=request.context,
        key=reporter.key,
        phase=Phase.QUEUED,
        plan=plan,
        snapshot=snapshot,
        state=state,
        earlier=request.earlier,
    )
    run = _Run(request, ports, reporter, Prepared(plan=plan, secrets={}))
    launched = Launched(state=state, snapshot=snapshot, others=members(state, plan, ports))
    return run.follow(base, launched, anew=False)


def refuse(request: Request, ports: Ports, error: UserError) -> NoReturn:
    """Report that the run was refused before anything was looked at, and fail.

    Raises:
        UserError: The given one.
    """
    Reporter(request, ports).refused(error, None)
    raise error


@dataclass(slots=True)
class _Run:
    request: Request
    ports: Ports
    reporter: Reporter
    prepared: Prepared
    last_word: LastWord = lambda report: report
    resumed: int | None = None

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    def go(self, strays: Strays) -> Report:
        snapshot: Snapshot | None = None
        launching = False
        try:
            with self.ports.console.group("Send the code"):
                create_repo(self.prepared.new_repo, self.ports)
                snapshot = send(self.plan, self.ports)
                self._say_sent(snapshot)
            make_room(self.plan, self.request.inputs, self.request.context, self.ports)
            left = self._leave(snapshot)
            grant(self.plan, self.ports)
            reuse = self.request.inputs.reuse == "auto"
            make_folder(self.plan, self.request.context, self.ports, reuse=reuse)
            launching = True
            launched = launch(self.prepared, self.request.context, strays, reuse=reuse, snapshot=snapshot)
        except UserError as error:
            self.reporter.refused(error, self.plan)
            if not isinstance(error, LostSight):  # a launch without an answer may have made a Job: the cleanup looks
                self.ports.files.forget()
            raise
        except Interrupted as stop:
            waits = UNSEEN_WAITS_S if launching else UNSEEN_WAITS_S[:1]
            return self._stopped_before_watch(stop, snapshot, strays, waits)
        base = Report(
            context=self.request.context,
            key=self.reporter.key,
            phase=Phase.QUEUED,
            plan=self.plan,
            snapshot=launched.snapshot,
            state=launched.state,
            reused=launched.reused,
            problems=left,
            earlier=self.request.earlier,
        )
        try:
            return self.follow(base, launched)
        except Interrupted as stop:  # between the launch and the watch, or after it: there is a Job either way
            return self._stopped_before_watch(stop, launched.snapshot, strays, UNSEEN_WAITS_S)

    def follow(self, base: Report, launched: Launched, *, anew: bool = True) -> Report:
        """Watch, collect, report.

        Args:
            base: What is known before.
            launched: The Job.
            anew: Whether this step launched it (or attached to it), and says so.
        """
        console, ref = self.ports.console, launched.state.ref
        reader, frames = LogReader(), Frames(self.request.inputs.mount, self.request.inputs.path)
        keeper = Keeper(self.ports) if anew else None
        lines = partial(self._lines, reader, frames)
        strays, meter = launched.strays or Strays(self.plan, self.ports), Meter(self.plan, self.ports)
        patience = self._policy().queue_timeout_s
        group = Group(self.plan, self.ports, strays, launched.state, lines, patience, launched.others)
        watcher = Watcher(
            ref=ref,
            hub=self.ports.hub,
            console=console,
            clock=self.ports.clock,
            policy=self._policy(),
            on_lines=lines,
            on_state=lambda state: self._live(group.on(base, state), meter.seen(state), reader, keeper, strays),
            nonce=self.plan.nonce,
            so_far=lambda: self._so_far(replace(group.on(base), state=watcher.seen), reader),
            over=group.over,
            seen=launched.state,
        )
        try:
            if anew:
                console.info(launched.reused or f"Job {ref.id} was submitted.")
                for one in (ref, *group.refs):
                    console.info(one.url)
                self.reporter.started(group.on(base))
            if self.plan.detach:
                outcome = Outcome(state=launched.state, reason=Reason.DETACHED)
            else:
                with console.group("Training log"), console.untrusted():
                    try:
                        outcome = group.ended(watcher.run())
                    finally:
                        self._lines(reader, frames, (), last=True)
        except Interrupted as stop:
            keep = self._keep and not group.ending
            outcome = while_watching(watcher, stop, self.ports, keep=keep, beside=group.refs)
            group.glance(watcher.seen)
        outcome, left = self._settled(ref, outcome, strays)
        base = replace(group.on(base), problems=(*base.problems, *left), left=tuple(left))
        base = replace(base, findings=Findings(gpus=meter.close()))
        return self._finish(base, outcome, reader, frames)

    def _settled(self, ref: JobRef, outcome: Outcome, strays: Strays) -> tuple[Outcome, Sequence[str]]:
        """Nothing of ours that should not run does; else the cleanup tries once more, and what may run is said."""
        hurry = outcome.signum is not None
        again = outcome.cancel_wanted and not outcome.cancel_confirmed and not hurry
        confirmed = outcome.cancel_confirmed or (again and strays.cancel(ref))
        left = strays.settle(ref, hurry=hurry)
        confirmed = confirmed or (again and not any(ref.url in words for words in left))
        if left or (outcome.cancel_wanted and not confirmed):
            spared = {ref.id, *strays.beside} - strays.owed  # they are to go on; what is owed a cancel is not
            kept = {} if outcome.cancel_wanted else {"spare": " ".join(sorted(spared))}
            self.ports.files.remember({**remembered(self.plan, self.ports, "" if strays.unclear else ref.id), **kept})
        else:
            self.ports.files.forget()
        return replace(outcome, cancel_confirmed=confirmed), left

    def _finish(self, base: Report, outcome: Outcome, reader: LogReader, frames: Frames) -> Report:
        """Collect, compare, report. The Job has ended: a signal from here on may shorten the report, not lose it."""
        ended = replace(base, phase=Phase.ENDED, outcome=outcome, state=outcome.state or base.state)
        if ended.state and (sha := ended.state.superseded_by):
            ended = replace(ended, problems=(*ended.problems, f"The Job was superseded by {sha}, a newer push."))
        reading = reader.close()
        try:
            pushed = push(self.plan, ended.state, outcome, self.ports)
            findings = collect(reading, self.plan, ended.state, outcome, self.ports, pushed)
            findings = tracked(findings, ended.state, outcome, self.ports)
            findings = replace(findings, gpus=fuller(findings.gpus, base.findings.gpus))
            if findings.resumed_from is None:
                findings = replace(findings, resumed_from=self.resumed)
            ended = replace(ended, findings=findings, frame=self._frame(frames, findings.cause_line))
            last = self.last_word(ended)
            if last is None:
                return ended
            ended = afterwards(last, self.plan, self.request.inputs, self.ports)
        except Interrupted:
            words = "The workflow was cancelled while the results were collected; only the log was read."
            ended = replace(ended, findings=live(reading.progress), problems=(*ended.problems, words))
        try:
            return self.reporter.end(ended)
        except Interrupted:  # only the first signal raises, so this one goes through
            return self.reporter.end(ended)

    def _leave(self, snapshot: Snapshot | None) -> tuple[str, ...]:
        """What `hf-train collect` needs, where it may be needed: on a laptop only for a Job that outlives the run."""
        context = self.request.context
        if MARK in self.plan.job.env:  # a collect must not say that the training completed when its smoke run did
            return ()
        if not (context.on_github or outlives(self.request.inputs, context)):
            return ()
        problem = leave(self.plan, self.request, snapshot, self.ports)
        return (f"hf-train collect could not finish this report, should it have to: {problem}",) if problem else ()

    def _frame(self, frames: Frames, cause: str) -> Frame | None:
        """Where the failure left the code that was sent. The log proposes; the checkout knows its files."""
        if self.plan.code is None:
            return None
        return next((one for one in frames.of(cause) if self.ports.workspace.is_file(one.path)), None)

    def _lines(self, reader: LogReader, frames: Frames, lines: Sequence[str], *, last: bool = False) -> None:
        lines = self.ports.console.whole(lines, last=last)
        if not lines:
            return
        self.ports.console.remote(lines)
        self.ports.files.log(lines)
        # The line that proves a cause is quoted in the comment, so no secret may get as far as the reader.
        redacted = self.ports.console.redact("\n".join(lines))
        if output_of(self.plan.job):
            said = resumed_step(redacted.split("\n"))
            self.resumed = self.resumed if said is None else said
        reader.feed(redacted + "\n")
        frames.feed(redacted.split("\n"))

    def _live(self, base: Report, state: JobState, reader: LogReader, keeper: Keeper | None, strays: Strays) -> None:
        strays.look(state.ref)
        if keeper is not None:
            keeper.seen(state)
        if state.stage is Stage.SCHEDULING:
            self.reporter.follows(replace(base, state=state))
        if state.stage is not Stage.RUNNING:
            return
        progress = reader.snapshot()
        phase = Phase.STARTING if progress.step is None and not progress.metrics else Phase.RUNNING
        findings = replace(live(progress), resumed_from=self.resumed)
        report = replace(base, phase=phase, state=state, findings=findings, eta_s=progress.eta_seconds)
        self.reporter.follows(report)

    def _so_far(self, report: Report, reader: LogReader) -> str:
        """Time left by the log's word, and money spent, for the heartbeat."""
        left, spent = reader.snapshot().eta_seconds, report.cost_usd
        words = [f"about {duration(left)} left" if left else "", f"{usd(spent)} so far" if spent else ""]
        return ", ".join(filter(None, words))

    def _policy(self) -> Policy:
        inputs = self.request.inputs
        return Policy(
            queue_timeout_s=inputs.queue_timeout,
            watch_s=self.plan.watch_s,
            on_watch_timeout=inputs.on_watch_timeout or "fail",
        )

    def _stopped_before_watch(
        self, stop: Interrupted, snapshot: Snapshot | None, strays: Strays, waits: Sequence[float]
    ) -> Report:
        """A signal while the code was sent, the POST was on its way, or nothing was watched yet or any more."""
        outcome = before_watch(strays, stop, waits, keep=self._keep)
        report = Report(
            context=self.request.context,
            key=self.reporter.key,
            phase=Phase.ENDED,
            plan=self.plan,
            snapshot=snapshot,
            state=outcome.state,
            outcome=outcome,
            earlier=self.request.earlier,
        )
        return self.reporter.end(report)

    @property
    def _keep(self) -> bool:
        return self.request.inputs.on_cancel == "keep"

    def _say_sent(self, snapshot: Snapshot | None) -> None:
        if snapshot is None:
            self.ports.console.info("No code is sent.")
        else:
            self.ports.console.info(
                f"{snapshot.files} files, {snapshot.size / 1e6:.2f} MB in {snapshot.bucket}/{snapshot.path}"
            )

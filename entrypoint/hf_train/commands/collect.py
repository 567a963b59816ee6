"""`hf-train collect`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.commands.around import signals
from hf_train.context import Context
from hf_train.errors import BadInput, ExitCode, JobGone, RefusedByHub
from hf_train.files import read_state
from hf_train.flow.collector import Collected, Fate, newest_of_families
from hf_train.flow.collector import collect as collect_one
from hf_train.flow.prepare import Request, patiently
from hf_train.github.pulls import GitHubPulls
from hf_train.hub import HuggingFaceHub
from hf_train.hub.reports import BucketReports
from hf_train.hub_api import make_api
from hf_train.inputs import Inputs
from hf_train.plan import label
from hf_train.ports import Ports
from hf_train.report import verdict_of
from hf_train.runfile import RunFile
from hf_train.text.untrusted import Redactor
from hf_train.values import JobRef, JobState, Secret

PATIENCE_S = 60.0
SINCE_S = 7 * 24 * 3600
"""Without names, only Jobs of the last seven days are looked at: the list of a busy namespace is long."""


def collect(
    job: Annotated[
        list[str] | None, typer.Argument(help="Job ids, `ID` or `NAMESPACE/ID`.", metavar="[JOB]...")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Owner of the Jobs. Default: the owner of the token.")] = None,
    state_file: Annotated[str | None, typer.Option(help="State file of a run that is gone.")] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="Jobs with this label, `NAME=VALUE`; all of several.")
    ] = None,
    report_dir: Annotated[str | None, typer.Option(help="Folder for the reports, one folder a Job.")] = None,
) -> int:
    """`hf-train collect`: finishes the reports of Jobs that their own steps do not follow any more.

    Without any name: all detached Jobs of this repository whose report is not finished.
    """
    environ = os.environ
    token = wiring.given_token(environ)
    job = job or (environ.get("HF_TRAIN_JOBS") or "").split()
    namespace = namespace or environ.get("HF_TRAIN_NAMESPACE") or None
    report_dir = report_dir or environ.get("HF_TRAIN_REPORT_DIR") or None
    if sum(map(bool, (job, state_file, labels))) > 1:
        raise BadInput(["JOB, --state-file and --label: they name Jobs in three ways; keep one"])
    if token is None:
        raise RefusedByHub("No token", "Collecting needs a Hub token.", "Set the variable HF_TOKEN.")
    with signals():
        desk = _Desk(environ, token, namespace, report_dir)
        found = desk.named(job) if job else desk.labelled(state_file, labels or [])
        collected = [desk.collect(one) for one in found]
    codes = [_code(one) for one in collected]
    named = bool(job or state_file)
    return next((code for code in codes if code), 0) if named else _quiet(collected)


def _code(one: Collected) -> int:
    """What a run of one Job would have ended with."""
    if one.fate is Fate.STRANGE:
        return int(ExitCode.REFUSED)
    if one.fate is Fate.BEFORE:
        return one.code_before
    return int(verdict_of(one.report).code) if one.report and one.fate is Fate.REPORTED else 0


def _quiet(collected: Sequence[Collected]) -> int:
    """A round over all Jobs is red when it lost sight of one, not when a training failed: its report says that."""
    lost = [one for one in collected if one.fate is Fate.REPORTED and _code(one) == ExitCode.LOST_SIGHT]
    return int(ExitCode.LOST_SIGHT if lost else ExitCode.OK)


@dataclass(slots=True)
class _Desk:
    """Where reports are finished."""

    environ: Mapping[str, str]
    token: Secret
    namespace: str | None
    report_dir: str | None

    @property
    def context(self) -> Context:
        return wiring.context_of(self.environ)

    @property
    def endpoint(self) -> str:
        return self.environ.get("HF_ENDPOINT") or wiring.HUB

    @property
    def hub(self) -> HuggingFaceHub:
        return HuggingFaceHub(self.endpoint, self.token)

    def owner(self) -> str:
        return self.namespace or patiently(SystemClock(), self.hub.whoami, limit_s=PATIENCE_S).name

    def named(self, names: Sequence[str]) -> list[JobState]:
        """Jobs by their ids."""
        states = []
        for name in names:
            space, _, job = name.rpartition("/")
            ref = JobRef(id=job, namespace=space or self.owner(), url="")
            try:
                states.append(patiently(SystemClock(), lambda ref=ref: self.hub.look(ref), limit_s=PATIENCE_S))  # type: ignore[misc]
            except JobGone as error:
                raise RefusedByHub("Not found", f"The Hub has no Job {ref.namespace}/{ref.id}.", "") from error
        return states

    def labelled(self, state_file: str | None, labels: Sequence[str]) -> list[JobState]:
        """Jobs by what a state file says, by labels, or all detached ones of this repository; the oldest first."""
        owner, wanted = self.namespace, {"hf-train": "1"}
        if state_file is not None:
            state = read_state(Path(state_file))
            if not state.get("nonce"):
                raise BadInput([f"state-file: {state_file} is not there, or names no launch"])
            owner, wanted = owner or state.get("namespace"), {"hft-nonce": state["nonce"]}
        elif labels:
            wanted |= dict(_label(one) for one in labels)
        else:
            if not self.context.repository:
                raise BadInput(["JOB: name at least one Job, or run in a workflow (GITHUB_REPOSITORY is not set)"])
            wanted |= {"hft-repo": label(self.context.repository), "hft-mode": "detach"}
        clock, hub, space = SystemClock(), self.hub, owner or self.owner()
        found = patiently(clock, lambda: hub.find(space, wanted), limit_s=PATIENCE_S)
        found = [one for one in found if not one.node]  # further nodes are in the report of the first
        if state_file is None and not labels:
            since = clock.now() - timedelta(seconds=SINCE_S)
            found = [one for one in found if one.created_at and one.created_at > since]
        return list(reversed(found))

    def collect(self, job: JobState) -> Collected:
        """One Job, with a line about it."""
        console = wiring.console_of(Redactor([self.token.reveal()]), self.environ)
        with ExitStack() as stack:
            one = collect_one(
                job,
                self.context,
                BucketReports(make_api(self.endpoint, self.token)),
                SystemClock(),
                lambda run: self._world(stack, run, job),
                superseded=self._superseded(job),
            )
        why = f" ({one.why})" if one.why else ""
        line = f"Job {job.ref.namespace}/{job.ref.id}: {one.fate.value}{why}."
        if one.fate is Fate.STRANGE:
            console.warning("Collect", line)
        else:
            console.info(line)
        return one

    def _superseded(self, job: JobState) -> bool:
        """Whether a newer run of the same pull request has the sticky comment."""
        family = job.labels.get("hft-family")
        if not family:
            return False
        found = patiently(
            SystemClock(), lambda: self.hub.find(job.ref.namespace, {"hft-family": family}), limit_s=PATIENCE_S
        )
        return job.ref.id not in newest_of_families(found)

    def _world(self, stack: ExitStack, run: RunFile, job: JobState) -> Ports:
        """A world of its own for each Job: its secrets' values, where this step has them, are taken out of its log."""
        github = (self.environ.get("HF_TRAIN_GITHUB_TOKEN") or self.environ.get("GITHUB_TOKEN") or "").strip()
        folder = Path(self.report_dir) if self.report_dir else None
        if folder is None and self.context.temp:
            folder = Path(self.context.temp) / "hf-train-report"
        inputs = Inputs(
            secrets=tuple(name for name in run.plan.job.secrets if self.environ.get(name)),
            job_token=Secret(token) if (token := self.environ.get("HF_TRAIN_JOB_TOKEN", "").strip()) else None,
            github_token=Secret(github) if github else None,
            report_dir=str(folder / job.ref.id) if folder else None,
        )
        here = replace(self.context, repository=run.context.repository)
        environ = {name: value for name, value in self.environ.items() if name != "HF_TRAIN_STATE_FILE"}
        request = Request(inputs=inputs, context=here, environ=environ, nonce=run.plan.nonce)
        ports = wiring.ports_of(stack, request, self.endpoint, self.token)
        if inputs.github_token is None:
            if run.context.pull:
                ports.console.notice("Collect", "No GitHub token here: the report is written to files only.")
            return ports
        pulls = GitHubPulls(here.api_url, inputs.github_token, here.repository, resumes=True)
        return replace(ports, pulls=pulls)


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadInput([f"label: {text!r} is not NAME=VALUE"])
    return name, value

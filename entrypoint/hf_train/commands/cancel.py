"""`hf-train cancel`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hf_train import wiring
from hf_train.clock import SystemClock
from hf_train.console import PlainConsole
from hf_train.errors import BadInput, ExitCode, JobGone, LostSight, RefusedByHub, TransientHubError
from hf_train.files import read_state
from hf_train.flow.closing import close
from hf_train.flow.prepare import patiently
from hf_train.flow.verdict import cancel as cancel_job
from hf_train.github.pulls import GitHubPulls
from hf_train.hub import HuggingFaceHub
from hf_train.text.untrusted import Redactor
from hf_train.values import NODE, JobRef, JobState, Secret

CANCEL_PATIENCE_S = 30.0
LATE_WAITS_S = (0.0, 5.0, 10.0, 15.0, 30.0)
"""Waits before each look for the Job of a launch that was cut off: its POST may take effect a minute later."""


def cancel(
    job: Annotated[
        list[str] | None, typer.Argument(help="Job ids, `ID` or `NAMESPACE/ID`.", metavar="[JOB]...")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Owner of the Jobs.")] = None,
    state_file: Annotated[str | None, typer.Option(help="State file of a run; a missing one is fine.")] = None,
) -> int:
    """`hf-train cancel`."""
    environ = os.environ
    token = wiring.given_token(environ)
    console = wiring.console_of(Redactor([token.reveal()] if token else ()), environ)
    if state_file is not None:
        return _clean_up(Path(state_file), environ, token, console)
    if not job:
        raise BadInput(["JOB: name at least one Job, or give --state-file"])
    if token is None:
        raise RefusedByHub("No token", "Cancelling needs a Hub token.", "Set the variable HF_TOKEN.")
    hub = HuggingFaceHub(environ.get("HF_ENDPOINT") or wiring.HUB, token)
    clock = SystemClock()
    owner = namespace or patiently(clock, hub.whoami, limit_s=CANCEL_PATIENCE_S).name
    failed = 0
    for one in job:
        space, _, name = one.rpartition("/")
        ref = JobRef(id=name, namespace=space or owner, url="")
        try:
            state = patiently(clock, lambda ref=ref: hub.look(ref), limit_s=CANCEL_PATIENCE_S)  # type: ignore[misc]
        except JobGone:
            console.error("Not cancelled", f"The Hub has no Job {ref.namespace}/{ref.id}.")
            failed += 1
            continue
        failed += _cancel_named(hub, state, clock, console)
    return int(ExitCode.REFUSED if failed else ExitCode.OK)


def _cancel_named(hub: HuggingFaceHub, state: JobState, clock: SystemClock, console: PlainConsole) -> int:
    """Cancel a Job, then the other nodes of its launch: one without the others does nothing but bill.

    Returns:
        How many may still run: those whose cancel was not taken, and 1 when the other nodes could not be looked for.
    """

    def undone(ref: JobRef) -> bool:
        if cancel_job(hub, ref, clock):
            console.info(f"Cancelled {ref.namespace}/{ref.id}")
            return False
        console.error("Not cancelled", f"The Hub did not take the cancel of {ref.namespace}/{ref.id}.")
        return True

    name, failed = f"{state.ref.namespace}/{state.ref.id}", 0
    if state.stage.is_terminal:
        console.info(f"{name} has ended already ({state.stage.value}).")
    else:
        failed += undone(state.ref)
    try:
        others = _beside(hub, state, clock)
    except (LostSight, RefusedByHub, JobGone) as error:
        console.error("Not cancelled", f"The other nodes beside {name} could not be looked for ({error}).")
        return failed + 1
    return failed + sum(undone(one.ref) for one in others)


def _beside(hub: HuggingFaceHub, state: JobState, clock: SystemClock) -> list[JobState]:
    """The other nodes of the same launch that may run; none for a Job by itself."""
    nonce = state.labels.get("hft-nonce")
    if not nonce or NODE not in state.labels:
        return []
    wanted = {"hf-train": "1", "hft-nonce": nonce}
    found = patiently(clock, lambda: hub.find(state.ref.namespace, wanted), limit_s=CANCEL_PATIENCE_S)
    return [one for one in found if one.ref.id != state.ref.id and not one.stage.is_terminal and NODE in one.labels]


def _clean_up(path: Path, environ: Mapping[str, str], token: Secret | None, console: PlainConsole) -> int:
    """The second line behind the signal handler: what a killed run left. Never changes a verdict."""
    job, fate = _cancel_leftover(path, environ.get("HF_ENDPOINT") or wiring.HUB, token, console)
    context = wiring.context_of(environ)
    if not (context.on_github and context.repository):
        return 0
    inputs, _ = wiring.inputs_of({}, environ, context, ())
    if inputs.github_token is not None:
        pulls = GitHubPulls(context.api_url, inputs.github_token, context.repository, origin=context.origin)
        redact = Redactor(wiring.environment_secrets(environ))
        for line in close(context, inputs, pulls, job, fate, redact):
            console.warning("Cleanup", line)
    return 0


def _cancel_leftover(
    path: Path, endpoint: str, token: Secret | None, console: PlainConsole
) -> tuple[JobState | None, str]:
    """Cancel what the run left: its Job by the Hub's word, and what became of it in words.

    The file lies where other steps can write, so it may not say whom the token is shown to, nor name a Job by its id.
    """
    state = read_state(path)
    nonce = state.get("nonce", "")
    if not nonce:
        console.info("Nothing is left to cancel.")
        return None, "It left no word of a Job."
    if token is None:
        console.warning("Cleanup", f"No Hub token here: cancel by hand what has the label hft-nonce={nonce}.")
        return None, "There was no Hub token to look for its Job."
    if state.get("endpoint", "").rstrip("/") != endpoint.rstrip("/"):
        console.info("The run was on another Hub (an embedded one ends with its run); nothing is cancelled here.")
        return None, "Its Job was on another Hub."
    hub = HuggingFaceHub(endpoint, token)
    found, undone, unanswered = _ended(hub, state, console)
    if unanswered:
        console.warning("Cleanup", f"The Hub could not be asked ({unanswered}); look for the label hft-nonce={nonce}.")
    elif not undone:
        path.unlink(missing_ok=True)
    if unanswered and not found:
        return None, "The Hub could not be asked about its Job."
    return _fate(found, undone)


def _ended(
    hub: HuggingFaceHub, state: Mapping[str, str], console: PlainConsole
) -> tuple[list[JobState], list[str], Exception | None]:
    """Cancel what the Hub shows of a launch, and look for what it may show later: a POST that was cut off.

    A look without an answer and a cancel that was not taken are tried again until the waits are over: nobody else will.

    Returns:
        The Jobs as they were found, the ids of those whose cancel was not confirmed, and why the last look had no
        answer (None when it had one).
    """
    text = state.get("nodes", "")
    nodes = int(text) if re.fullmatch(r"[0-9]{1,2}", text) else 1
    spared = state.get("spare", "").split()  # the Jobs that the run followed are to go on
    found: dict[str, JobState] = {}
    undone: dict[str, bool] = {}
    unanswered: Exception | None = None
    clock, known = SystemClock(), bool(state.get("job-id"))
    for wait in LATE_WAITS_S:
        clock.sleep(wait)
        try:
            seen = hub.find(state.get("namespace", ""), {"hft-nonce": state.get("nonce", "")})
        except (TransientHubError, RefusedByHub, JobGone) as error:
            unanswered = error
            continue
        unanswered = None
        found |= {one.ref.id: one for one in seen if one.ref.id not in found}
        undone |= _ended_now(hub, [one for one in seen if one.ref.id not in spared], undone, clock, console)
        whole = (known and nodes == 1) or len(found if known else undone) >= nodes
        if whole and not any(undone.values()):
            break
    return [*found.values()], [name for name, still in undone.items() if still], unanswered


def _ended_now(
    hub: HuggingFaceHub, jobs: Sequence[JobState], before: Mapping[str, bool], clock: SystemClock, console: PlainConsole
) -> dict[str, bool]:
    """Cancel those that run. Returns whether each of them, and of those that ran before, may go on running."""
    undone = {one.ref.id: False for one in jobs if one.ref.id in before}
    for name, ref in ((one.ref.id, one.ref) for one in jobs if not one.stage.is_terminal):
        undone[name] = not cancel_job(hub, ref, clock)
        if before.get(name) != undone[name]:
            done = "NOT cancelled" if undone[name] else "cancelled"
            console.warning("Cleanup", f"Job {name} was left running; {done}.")
    return undone


def _fate(found: Sequence[JobState], undone: Sequence[str]) -> tuple[JobState | None, str]:
    """The Job to name, and what became of it."""
    if not found:
        return None, "It had launched no Job."
    job = next((one for one in found if one.ref.id in undone), found[0])
    if undone:
        return job, "Its Job may still run: the Hub did not confirm the cancel."
    if job.stage.is_terminal:
        return (
            job,
            f"Its Job has ended ({job.stage.value}); hf-train collect {job.ref.namespace}/{job.ref.id} reads it.",
        )
    return job, "Its Job was cancelled."

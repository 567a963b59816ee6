"""Ten moments of a run at which it may be stopped, and what must be true afterwards: nothing bills."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.local_hub_process import LIVE, Hub
from support.product import Live, Product

WITHIN_S = 3.0
SLEEP = ("--path", "none", "--", "sh", "-c", "trap '' INT; echo began; sleep 120")
SENDS = ("--", "sleep", "120")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def wait_until(condition: Callable[[], object], timeout_s: float = 40) -> None:
    """Until something holds.

    Raises:
        AssertionError: It did not in time.
    """
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One moment.

    Attributes:
        name: What the run is at.
        come: Waits until it has come.
        faults: What makes it last.
        words: Words after `hf-train run`.
        has_job: Whether there is a Job by then.
    """

    name: str
    come: Callable[[Live, Hub], object]
    faults: Sequence[str] = ()
    words: Sequence[str] = SLEEP
    has_job: bool = True


def _asked(method: str, part: str, count: int = 1) -> Callable[[Live, Hub], object]:
    def come(_run: Live, hub: Hub) -> None:
        wait_until(lambda: len([one for one in hub.requests(method) if part in one["path"]]) >= count)

    return come


def _lists(_run: Live, hub: Hub) -> None:
    """The list of Jobs by key after the POST. (Nobody else may ask for Jobs here, that would be a list as well.)"""
    path = f"/api/jobs/{hub.user}"

    def listed() -> bool:
        methods = [one["method"] for one in hub.requests() if one["path"] == path]
        return "POST" in methods and "GET" in methods[methods.index("POST") :]

    wait_until(listed)


def _made(_run: Live, hub: Hub) -> None:
    wait_until(hub.jobs)


def _outage(run: Live, hub: Hub) -> None:
    run.wait_for("The Hub does not answer")
    assert hub.jobs()


MOMENTS = (
    Moment(name="starts up", come=lambda _run, _hub: time.sleep(0.15), has_job=False),
    Moment(
        name="asks who it is",
        faults=["GET /api/whoami-v2 delay=5"],
        come=_asked("GET", "/api/whoami-v2"),
        has_job=False,
    ),
    Moment(
        name="sends the code",
        faults=["POST /api/buckets/*/*/batch delay=5"],
        words=SENDS,
        come=_asked("POST", "/batch"),
        has_job=False,
    ),
    Moment(
        name="waits for the store",
        faults=["POST /cas/** delay=20"],
        words=SENDS,
        come=_asked("POST", "/cas/"),
        has_job=False,
    ),
    Moment(name="waits for the launch's answer", faults=["POST /api/jobs/* delay=3 after-effect"], come=_made),
    Moment(name="looks for a launch without an answer", faults=["POST /api/jobs/* drop=after times=1"], come=_made),
    Moment(name="looks for an older twin", come=_lists),
    Moment(name="is queued", faults=["jobs schedule-seconds=60"], come=lambda run, _hub: run.wait_for("was submitted")),
    Moment(name="follows the log", come=lambda run, _hub: run.wait_for("| began")),
    Moment(name="waits out an outage", faults=["GET /api/jobs/*/* status=503 nth=2"], come=_outage),
)


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """How a run was stopped.

    Attributes:
        seconds: From the signal (for SIGKILL: from the start of the cleanup) until nothing lived on the Hub.
        stages: Stages of the account's Jobs afterwards.
        code: Exit code of the run.
    """

    seconds: float
    stages: tuple[str, ...]
    code: int


def stop(moment: Moment, signum: signal.Signals, product: Product, hub: Hub, state_file: Path) -> Stopped:
    """Start a run, wait for the moment, stop the run as the runner does, and look at the Hub."""
    hub.fault(*moment.faults)
    run = product.start(*moment.words, env={"HF_TRAIN_STATE_FILE": str(state_file)})
    moment.come(run, hub)
    began = time.monotonic()
    run.signal(signum)
    if signum is signal.SIGKILL:
        run.done()
        hub.heal()
        began = time.monotonic()
        cleanup = product.call("cancel", "--state-file", str(state_file))
        assert cleanup.code == 0, cleanup.out
    wait_until(lambda: not alive(hub), WITHIN_S * 2)
    seconds = time.monotonic() - began
    code = run.done().code
    hub.heal()
    assert not alive(hub), "a Job came to life after the cancel"
    return Stopped(seconds=seconds, stages=tuple(job["status"]["stage"] for job in hub.jobs()), code=code)


def alive(hub: Hub) -> list[str]:
    """Ids of Jobs that bill, or will."""
    return [job["id"] for job in hub.jobs() if job["status"]["stage"] in LIVE]


def problems(moment: Moment, signum: signal.Signals, stopped: Stopped) -> list[str]:
    """What is not as it must be."""
    wrong = []
    wanted = ("CANCELED",) if moment.has_job else ()
    if stopped.stages != wanted:
        wrong.append(f"stages {stopped.stages}, not {wanted}")
    if signum is not signal.SIGKILL and stopped.seconds > WITHIN_S:
        wrong.append(f"{stopped.seconds:.1f} s until nothing lived")
    codes = {CODES.get(signum, -signum), *([-signum] if moment.name == "starts up" else [])}
    if stopped.code not in codes:
        wrong.append(f"exit code {stopped.code}, not one of {codes}")
    return wrong

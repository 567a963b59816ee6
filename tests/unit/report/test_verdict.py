"""From outcome and findings to a verdict: one exit code per reason, and never green when it is not known."""

from __future__ import annotations

import pytest

from hf_train.errors import BadInput, ExitCode, LostSight, RefusedByHub, RefusedByPolicy, UserError
from hf_train.report import Phase, check_conclusion, verdict_of
from hf_train.values import Findings, Outcome, Reason
from unit.makers import MODEL, STATE, plan, report
from unit.report.situations import SITUATIONS

CODES = {
    Reason.COMPLETED: 0,
    Reason.DETACHED: 0,
    Reason.FAILED: 1,
    Reason.OUT_OF_MEMORY: 1,
    Reason.CANCELLED_ON_HUB: 4,
    Reason.DELETED_ON_HUB: 4,
    Reason.TIMEOUT: 5,
    Reason.NOT_PUBLISHED: 6,
    Reason.GATE_FAILED: 7,
    Reason.GATE_UNKNOWN: 7,
    Reason.QUEUE_TIMEOUT: 75,
    Reason.WATCH_TIMEOUT: 75,
    Reason.LOST_SIGHT: 75,
    Reason.CANCELLED: 130,
    Reason.KEPT: 130,
}


@pytest.mark.case(60)
def test_every_reason_has_a_code() -> None:
    assert set(CODES) == set(Reason) - {Reason.SKIPPED, Reason.REFUSED}


@pytest.mark.case(60)
@pytest.mark.parametrize(("reason", "code"), CODES.items())
def test_the_exit_code_of_a_reason(reason: Reason, code: int) -> None:
    verdict = verdict_of(report(reason))
    assert (int(verdict.code), verdict.reason) == (code, reason.value)
    assert (verdict.level in {"success", "neutral"}) == (code == 0)


@pytest.mark.parametrize(("signum", "code"), [(2, 130), (15, 143), (None, 130)])
@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.KEPT])
def test_a_signal_has_its_own_code(reason: Reason, signum: int | None, code: int) -> None:
    outcome = Outcome(state=STATE, reason=reason, signum=signum, cancel_confirmed=True)
    assert int(verdict_of(report(outcome=outcome)).code) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput(["x"]), 2),
        (RefusedByPolicy("Over max-cost", "x"), 2),
        (RefusedByHub("No credit", "x"), 3),
        (LostSight("Hub not reached", "x"), 75),
    ],
)
def test_the_exit_code_of_a_refusal(error: UserError, code: int) -> None:
    verdict = verdict_of(report(None, phase=Phase.ENDED, state=None, refused=error))
    assert (int(verdict.code), verdict.reason, verdict.level) == (code, "refused", "failure")
    assert error.title in verdict.headline


def test_skipped_is_neither_red_nor_green() -> None:
    verdict = verdict_of(report(None, skipped="no token"))
    assert (verdict.code, verdict.reason, verdict.level) == (ExitCode.OK, "skipped", "neutral")


@pytest.mark.parametrize(("phase", "reason"), [(Phase.QUEUED, "queued"), (Phase.RUNNING, "running")])
def test_a_live_run_has_no_verdict_yet(phase: Phase, reason: str) -> None:
    live = report(None, phase=phase)
    assert verdict_of(live).reason == reason
    assert check_conclusion(live) is None


def test_a_required_model_that_is_not_there_is_red() -> None:
    ended = report(plan=plan(model_repo="alice/m"), findings=Findings())
    assert verdict_of(ended).code is ExitCode.NOT_PUBLISHED
    assert verdict_of(report(plan=plan(model_repo="alice/m"), findings=Findings(model=MODEL))).code is ExitCode.OK
    assert verdict_of(report(plan=plan(model_repo="a/m", require_model="false"), findings=Findings())).code == 0
    assert verdict_of(report(findings=Findings())).code is ExitCode.OK


@pytest.mark.case(60)
def test_divergence_warns_and_the_log_never_makes_red() -> None:
    verdict = verdict_of(report(findings=Findings(diverged=True, cause="import", cause_line="Error")))
    assert (verdict.code, verdict.level) == (ExitCode.OK, "warning")
    assert verdict_of(report(Reason.FAILED, findings=Findings(diverged=True))).level == "failure"


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        ("Job failed with exit code: 1. Reason: Error", "Training failed with exit code 1"),
        ("Job failed with exit code 139", "Training failed with exit code 139"),
        ("exit code: 1234", "Training failed"),
        ("", "Training failed"),
    ],
)
def test_the_exit_code_is_named_when_the_hub_names_it(message: str, headline: str) -> None:
    assert verdict_of(report(Reason.FAILED, message=message)).headline == headline


def test_a_cancel_that_was_not_confirmed_says_so() -> None:
    outcome = Outcome(state=STATE, reason=Reason.CANCELLED, signum=2)
    assert "did not confirm" in verdict_of(report(outcome=outcome)).headline
    assert "did not confirm" not in verdict_of(report(outcome=outcome, state=None)).headline


def test_the_conclusion_of_the_check() -> None:
    conclusions = {name: check_conclusion(one) for name, one in SITUATIONS.items()}
    wanted = {
        "queued": None,
        "detached": None,
        "completed-with-a-model": "success",
        "diverged": "neutral",
        "skipped-on-a-fork": "neutral",
        "failed-with-a-cause": "failure",
        "not-published": "failure",
        "lost-sight": "failure",
        "gate-passed": "success",
        "gate-failed": "failure",
        "gate-not-known": "failure",
        "refused-no-credit": "failure",
        "timed-out": "timed_out",
        "cancelled-by-a-signal": "cancelled",
        "cancelled-on-the-hub": "cancelled",
        "kept-running": "failure",
    }
    assert {name: conclusions[name] for name in wanted} == wanted
    allowed = {"success", "neutral", "failure", "timed_out", "cancelled", None}
    assert set(conclusions.values()) <= allowed

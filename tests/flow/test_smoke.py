"""Smoke first: a short Job, what it says about the full one, and whether that follows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flow.money import Life, MoneyHub
from flow.steps import report_json, request
from hf_train import runfile
from hf_train.errors import Interrupted, RefusedByPolicy
from hf_train.flow import runs
from hf_train.report import Report, verdict_of
from hf_train.values import Flavor, Stage
from support.fakes import World

FLAVORS = (Flavor(name="cpu-basic", usd_per_minute=0.1), Flavor(name="t4-small", gpus=1, usd_per_minute=1.0))
RATE = "{'train_runtime': '10.0', 'train_samples_per_second': '16', 'train_steps_per_second': '2.0', 'epoch': '0.5'}"
BAR = " 100%|##########| 20/20 [00:10<00:00,  2.00it/s]"
SMOKE = Life(seconds=40, log=((5.0, "{'loss': '1.5', 'epoch': '0.25'}"), (30.0, BAR), (31.0, RATE)))
FULL = "python train.py --max_steps 4000"


def _go(world: World, lives: list[Life], **flags: Any) -> tuple[Report, int, MoneyHub]:
    hub = MoneyHub(world.clock, flavors=FLAVORS, lives=lives)
    world.hub = hub
    given = {"smoke": "timeout: 5m\nargs: --max_steps 20", "command": FULL, "timeout": "1h", **flags}
    report = runs.run(request(**given), world.ports)
    return report, int(verdict_of(report).code), hub


def test_a_short_job_then_the_full_one(world: World) -> None:
    report, code, hub = _go(world, [SMOKE, Life(seconds=1900)])
    assert (code, hub.posts) == (0, 2)
    (first, _), (second, _) = hub.submitted
    assert first.command[-4:] == ("--max_steps", "4000", "--max_steps", "20")
    assert (first.timeout_s, first.env["HFT_SMOKE"], first.attempts) == (300, "1", None)
    assert second.command[-2:] == ("--max_steps", "4000")
    assert (second.timeout_s, "HFT_SMOKE" in second.env) == (3600, False)
    assert first.labels["hft-key"] != second.labels["hft-key"]
    assert first.labels["hft-nonce"] != second.labels["hft-nonce"]
    (smoke,) = report.earlier
    assert (smoke.kind, smoke.usd) == ("smoke", 0.1)
    # 40 s, of which 20 steps at 2 a second took 10: 30 s to get ready, and 4,000 steps take 2,000 s.
    words = "4,000 steps at 2 a second: the full run takes about 33 min 50 s ($3.40); a timeout of 55 min would do"
    assert smoke.reason == words
    assert any(words in line for line in world.console.said)
    document = report_json(world)
    assert document["cost-usd"] == pytest.approx(0.1 + 3.2)
    assert "**Smoke run** Job" in world.pulls.bodies[-1]


def test_a_full_run_that_does_not_fit_its_timeout_is_not_launched(world: World) -> None:
    with pytest.raises(RefusedByPolicy, match="does not fit its timeout") as caught:
        _go(world, [SMOKE], timeout="30m")
    assert "Set timeout to 55 min." in caught.value.hint
    hub = world.hub
    assert isinstance(hub, MoneyHub)
    assert hub.posts == 1
    document = report_json(world)
    assert (document["reason"], document["exit-code"], document["cost-usd"]) == ("refused", 2, 0.1)
    assert "**Smoke run**" in world.pulls.bodies[-1]


@pytest.mark.case(22)
def test_both_must_be_affordable_or_neither_is_launched(world: World) -> None:
    # An hour is $6.00, five minutes are $0.50.
    with pytest.raises(RefusedByPolicy, match=r"and its smoke run \$0\.50"):
        _go(world, [SMOKE], max_cost="6.49")
    assert isinstance(world.hub, MoneyHub)
    assert world.hub.posts == 0
    assert world.workspace.uploads == []
    _, code, hub = _go(world, [SMOKE, Life(seconds=1900)], max_cost="6.50")
    assert (code, hub.posts) == (0, 2)
    assert hub.dearest <= 6.5


@pytest.mark.parametrize(
    "life",
    [
        Life(stage=Stage.ERROR, message="Job failed with exit code: 1. Reason: Error"),
        Life(stage=Stage.ERROR, message="Job failed with exit code: 137. Reason: OOMKilled"),
        Life(stage=Stage.CANCELED),
        Life(seconds=99_999),
    ],
    ids=lambda life: life.message or life.stage.value,
)
def test_a_smoke_run_that_fails_fails_the_step(world: World, life: Life) -> None:
    report, code, hub = _go(world, [life])
    assert hub.posts == 1
    assert code in {1, 4, 5}
    assert report_json(world)["exit-code"] == code
    assert "the full run was not launched" in world.pulls.bodies[-1]
    assert report.findings.model_note != ""


def test_a_smoke_run_that_is_cut_off_in_mid_training_has_measured(world: World) -> None:
    bars = tuple((float(s), f"{s // 10}%|#| {s * 2}/2000 [00:{s}<10:00,  2.00it/s]") for s in range(10, 100, 10))
    report, code, hub = _go(
        world, [Life(seconds=99_999, log=bars), Life(seconds=900)], smoke="timeout: 2m", command="python train.py"
    )
    assert (code, hub.posts) == (0, 2)
    assert "2,000 steps" in report.earlier[0].reason


def test_another_machine_says_nothing_about_the_time(world: World) -> None:
    report, code, hub = _go(world, [SMOKE, Life(seconds=60)], smoke="flavor: t4-small\nargs: --max_steps 20")
    assert (code, hub.posts) == (0, 2)
    assert hub.submitted[0][0].flavor == "t4-small"
    assert "another machine has another speed" in report.earlier[0].reason
    assert report.earlier[0].usd == 1.0


def test_a_log_without_a_speed_lets_the_full_run_follow(world: World) -> None:
    report, code, hub = _go(world, [Life(seconds=40), Life(seconds=60)])
    assert (code, hub.posts) == (0, 2)
    assert "is not known: its log shows no speed" in report.earlier[0].reason


def test_the_smoke_run_is_no_baseline_and_needs_no_model(world: World) -> None:
    _, code, _ = _go(world, [SMOKE, Life(seconds=60)], model_repo="alice/m", gate="eval_loss <= 1")
    assert code == 6, "the full run was judged"
    stored = [json.loads(text) for path, text in world.reports.stored.items() if "/commits/" in path]
    assert all("HFT_SMOKE" not in document.get("hf-jobs-run", "") for document in stored)


def test_a_later_collect_never_takes_the_smoke_run_for_the_training(world: World) -> None:
    _go(world, [SMOKE, Life(seconds=60)], mode="detach")
    left = [text for path, text in world.reports.stored.items() if "/runs/" in path]
    assert len(left) == 1
    assert '"HFT_SMOKE"' not in left[0]
    run = runfile.read(left[0])
    assert run is not None
    assert [one.kind for one in run.earlier] == ["smoke"], "its cost is in the report that a collect finishes"


def test_a_signal_during_the_smoke_run_cancels_it(world: World) -> None:
    def strike(now: float) -> None:
        if now > 10:
            world.clock.on_sleep = None
            raise Interrupted(15)

    world.clock.on_sleep = strike
    report, code, hub = _go(world, [Life(seconds=9000)], on_cancel="keep")
    assert (code, hub.posts, hub.cancelled) == (143, 1, [f"{1:024x}"])
    assert "Cancelled with the workflow" in world.pulls.bodies[-1]
    assert world.files.state is None
    assert report.earlier == ()


def test_a_re_run_takes_the_smoke_run_that_was_paid_for(world: World) -> None:
    hub = MoneyHub(world.clock, flavors=FLAVORS, lives=[SMOKE, Life(seconds=60, stage=Stage.ERROR)])
    world.hub = hub
    asked = request(smoke="args: --max_steps 20", command=FULL, timeout="1h")
    runs.run(asked, world.ports)
    assert hub.posts == 2
    hub.lives = [Life(seconds=60)]
    report = runs.run(asked, world.ports)
    assert hub.posts == 3, "only the full run is paid for again"
    assert report.earlier[0].kind == "smoke"


def test_detach_is_for_the_full_run(world: World) -> None:
    _, code, hub = _go(world, [SMOKE, Life(seconds=60)], mode="detach")
    assert (code, hub.posts) == (0, 2)
    assert report_json(world)["reason"] == "detached"


def test_a_smoke_run_that_the_platform_ended_is_tried_again(world: World) -> None:
    lost = Life(seconds=30, stage=Stage.ERROR, message="Node was lost")
    report, code, hub = _go(world, [lost, SMOKE, Life(seconds=60)], retry="1")
    assert (code, hub.posts) == (0, 3)
    assert [one.kind for one in report.earlier] == ["try", "smoke"]


@pytest.mark.parametrize("mode", ["detach", "fail"])
def test_a_smoke_run_that_outlives_its_watch_is_ended_and_not_green(mode: str, world: World) -> None:
    """Its log without an end tells nothing, and the full run is not launched by anybody else."""
    report, code, hub = _go(world, [Life(seconds=200)], watch_timeout="1m", on_watch_timeout=mode)
    assert (code, hub.posts, len(hub.cancelled)) == (75, 1, 1)
    assert any("full run was not launched" in problem for problem in report.problems)

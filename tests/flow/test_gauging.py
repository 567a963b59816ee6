"""Use of the GPUs beside the watch: read for a Job with GPUs that runs, said once, and no part of the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow.steps import go, report_json, request
from hf_train.flow.gauging import fuller
from hf_train.values import Flavor, GpuUse, Stage
from support.fakes import World

IDLE = GpuUse(name="a", samples=600, mean_pct=0.2, max_pct=2.0)
BUSY = GpuUse(name="b", samples=600, mean_pct=80.0, max_pct=99.0)


@pytest.fixture(autouse=True)
def with_gpus(world: World) -> None:
    world.hub.flavors = (*world.hub.flavors, Flavor(name="a10g-largex2", gpus=2, usd_per_minute=0.05))


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ((IDLE, IDLE), ["Idle: 2 of 2 GPUs under 5 % for the whole run."]),
        ((BUSY, IDLE), ["1 of 2 GPUs was used; the others were under 5 % for the whole run."]),
        ((BUSY, BUSY), []),
        ((), []),
    ],
)
def test_idle_gpus_are_said_once(world: World, gpus: tuple[GpuUse, ...], said: list[str]) -> None:
    world.hub.gpus = gpus
    _, code = go(world, request(flavor="a10g-largex2"))
    assert code == 0
    assert [text for _, title, text in world.console.annotations if title == "GPU"] == said
    assert [one["name"] for one in report_json(world)["gpus"]] == [one.name for one in gpus]
    assert world.hub.gauge_open is not None
    assert world.hub.gauge_open.closed


def test_no_stream_is_opened_for_a_cpu_or_a_job_that_never_ran(world: World) -> None:
    go(world)
    assert world.hub.gauged == []
    world.hub.life = [(0.0, Stage.SCHEDULING), (5.0, Stage.CANCELED)]
    go(world, request(flavor="a10g-largex2", reuse="never"))
    assert world.hub.gauged == []


def test_one_stream_for_one_job(world: World) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (5.0, Stage.RUNNING), (4000.0, Stage.ERROR)]
    world.hub.gpus = (BUSY,)
    assert go(world, request(flavor="a10g-largex2"))[1] == 1
    assert len(world.hub.gauged) == 1


def test_the_measurement_with_more_samples_counts() -> None:
    short, long = replace(BUSY, samples=3), replace(IDLE, samples=400)
    assert fuller((short,), (long,)) == fuller((long,), (short,)) == (long,)
    assert fuller((BUSY,), (replace(BUSY, name="b2"),)) == (BUSY,), "the Job's own, as long as it has as many"
    assert fuller((), ()) == ()

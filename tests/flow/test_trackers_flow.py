"""A tracker's curves: only when nothing nearer has one, only of this Job's time, and never missed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flow.steps import go, report_json
from hf_train.errors import RefusedByHub, TransientHubError
from support.fakes import START, World
from support.trackio import database

ROWS = [(START + timedelta(seconds=at), at, {"loss": 1.0 - at / 10}) for at in range(4)]
SAID = "* Trackio metrics will be synced to Hugging Face Bucket: https://hub.test/buckets/alice/board"


@pytest.fixture(autouse=True)
def board(world: World) -> None:
    world.hub.log = [(1.0, SAID)]
    world.trackers.stored = {"alice/board": [b"no database", database(ROWS)]}


def _curve(world: World) -> list[list[float]]:
    curve: list[list[float]] = report_json(world)["curve"].get("loss", [])
    return curve


def test_the_bucket_that_the_log_names_has_the_curve(world: World) -> None:
    assert go(world)[1] == 0
    assert _curve(world) == [[0, 1.0], [1, 0.9], [2, 0.8], [3, pytest.approx(0.7)]]
    assert report_json(world)["trackers"] == ["https://hub.test/buckets/alice/board"]


def test_a_curve_of_the_log_is_nearer(world: World) -> None:
    world.hub.log += [(2.0, f"{{'loss': '{1 - at / 10}', 'epoch': '{at}'}}") for at in range(3)]
    go(world)
    assert len(_curve(world)) == 3
    assert world.trackers.asked == []


@pytest.mark.parametrize(
    "line",
    [
        SAID.replace("hub.test", "evil.test"),
        SAID.replace("buckets/", "spaces/"),
        f"{SAID}/../../x",
        "* Trackio project initialized: board",
    ],
)
def test_no_other_page_is_asked(world: World, line: str) -> None:
    world.hub.log = [(1.0, line)]
    go(world)
    assert (world.trackers.asked, _curve(world)) == ([], [])


@pytest.mark.parametrize("error", [RefusedByHub("No", "403"), TransientHubError("HTTP 503")])
def test_a_bucket_that_cannot_be_read_is_not_missed(world: World, error: Exception) -> None:
    world.trackers.error = error
    assert go(world)[1] == 0
    assert report_json(world)["problems"] == []

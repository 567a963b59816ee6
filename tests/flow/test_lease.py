"""The lease: granted before there is a Job, renewed as long as it is followed, no part of the training's key."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flow.steps import go, report_json, request
from hf_train.errors import BadInput, LostSight, RefusedByHub
from hf_train.flow.prepare import prepare
from hf_train.inputs import Layers, parse
from hf_train.plan.lease import Lease, lease_of
from hf_train.values import Stage
from support.fakes import START, World

FILE = "alice/jobs-artifacts/leases/nonce1/renewed"


def renewals(world: World, monkeypatch: pytest.MonkeyPatch, errors: list[Exception] | None = None) -> list[float]:
    """Seconds at which the lease was written."""
    written: list[float] = []
    save = world.reports.save

    def watched(bucket: str, paths: list[str], content: str) -> None:
        if paths[0].startswith("leases/"):
            if errors and len(written) >= 2:
                raise errors[0]
            written.append(world.clock.seconds)
        save(bucket, paths, content)

    monkeypatch.setattr(world.reports, "save", watched)
    return written


@pytest.mark.case(57)
def test_it_is_renewed_four_times_in_its_own_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.SCHEDULING), (900.0, Stage.RUNNING), (3600.0, Stage.COMPLETED)]
    written = renewals(world, monkeypatch)
    _, code = go(world, request(lease="10m", timeout="2h"))
    assert code == 0
    gaps = [later - earlier for earlier, later in pairwise(written)]
    assert written[0] == 0.0, "before the POST"
    assert max(gaps) <= 180
    assert 20 <= len(written) <= 26
    spec, _ = world.hub.submitted[0]
    assert spec.env["HF_TRAIN_LEASE"] == "600:/hf-train-lease/renewed"
    assert spec.volumes[-1].as_option() == "hf://buckets/alice/jobs-artifacts/leases/nonce1:/hf-train-lease:rw"
    assert world.reports.stored[FILE].startswith(f"{START:%Y-%m-%d}")


def test_it_is_no_part_of_the_training(world: World) -> None:
    plain = prepare(request(), world.ports).plan
    leased = prepare(request(lease="10m"), world.ports).plan
    assert leased.key == plain.key
    assert leased.job.command == plain.job.command
    assert lease_of(leased.job.labels) == Lease(seconds=600, name="nonce1")


@pytest.mark.case(76)
def test_a_renewal_that_fails_is_said_once_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.hub.life = [(0.0, Stage.RUNNING), (900.0, Stage.COMPLETED)]
    errors: list[Exception] = [RefusedByHub("No", "no right", "")]
    renewals(world, monkeypatch, errors)
    _, code = go(world, request(lease="10m"))
    assert code == 0
    assert [title for _, title, _ in world.console.annotations].count("Lease") == 1


def test_without_a_bucket_to_write_to_nothing_is_launched(world: World) -> None:
    world.reports.problem = "HTTP 503"
    with pytest.raises(LostSight):
        go(world, request(lease="10m"))
    assert world.hub.submitted == []
    assert report_json(world)["exit-code"] == 75


def test_who_attaches_renews_the_lease_of_the_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = World()
    go(first, request(lease="10m", timeout="2h"))
    world.hub.existing = [first.hub.stored[0]]
    world.hub.life = [(0.0, Stage.RUNNING), (1200.0, Stage.COMPLETED)]
    written = renewals(world, monkeypatch)
    report, _ = go(world, request(timeout="2h"))
    assert "Attached" in report.reused
    assert len(written) >= 6
    ((_, labels),) = world.hub.relabelled
    assert labels["hft-lease"] == "600-nonce1"


def test_a_job_without_a_lease_gets_no_label_of_one(world: World) -> None:
    first = World()
    go(first, request(timeout="2h"))
    world.hub.existing = [first.hub.stored[0]]
    go(world, request(lease="10m", timeout="2h"))
    ((_, labels),) = world.hub.relabelled
    assert "hft-lease" not in labels


@pytest.mark.parametrize(
    ("label", "lease"),
    [
        ("600-abc", Lease(seconds=600, name="abc")),
        ("600", None),
        ("600-../x", None),
        ("-abc", None),
        ("99999999-abc", None),
        ("", None),
    ],
)
def test_a_label_is_read_strictly(label: str, lease: Lease | None) -> None:
    assert lease_of({"hft-lease": label}) == lease


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"lease": "30s"}, "lease: 30 s is too short"),
        ({"lease": "-5m"}, "lease: '-5m' is not a duration"),
        ({"lease": "10m", "mode": "detach"}, "mode: detach leaves it"),
        ({"lease": "10m", "on-cancel": "keep"}, "on-cancel: keep leaves it"),
        ({"lease": "10m", "on-watch-timeout": "detach"}, "on-watch-timeout: detach leaves it"),
        ({"lease": "10m", "path": "none"}, "path is none"),
        ({"lease": "10m", "volumes": "hf://buckets/o/a:/hf-train-lease"}, "mounted twice"),
    ],
)
def test_what_a_lease_does_not_go_with(flags: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        parse(Layers(flags={"command": "true", **flags}))

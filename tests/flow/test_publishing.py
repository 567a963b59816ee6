"""Publish: what a completed Job left in a bucket is pushed by this step, and nothing else is."""

from __future__ import annotations

import pytest

from flow.steps import ON_GITHUB, go, published, request
from hf_train.errors import BadInput, RefusedByHub, TransientHubError
from hf_train.flow.prepare import Request
from hf_train.inputs import Layers, parse
from hf_train.inputs.mounts import in_bucket
from hf_train.values import LocalVolume, Stage, Volume
from support.fakes import World

BUCKET = Volume(kind="bucket", source="alice/out", mount="/out", read_only=False, path="runs/1")
ASKED = {"model-repo": "alice/m", "publish": "/out/model", "volumes": "hf://buckets/alice/out/runs/1:/out:rw"}


def world() -> World:
    made = World()
    made.hub.repos[f"alice/m@{made.publisher.revision}"] = published()
    return made


def asked(**more: str) -> Request:
    flags = {name.replace("-", "_"): value for name, value in {**ASKED, **more}.items()}
    return request(ON_GITHUB, None, **flags)


def test_a_completed_training_is_pushed_and_linked() -> None:
    made = world()
    report, code = go(made, asked())
    (spec, secrets), *_ = made.hub.submitted
    assert made.publisher.pushed == [("alice/out", "runs/1/model", "alice/m", f"Trained by Job {'1'.zfill(24)}")]
    assert (code, "HF_TOKEN" in secrets) == (0, False)
    assert report.findings.model
    assert report.findings.model.revision == made.publisher.revision
    assert spec.secrets == ()


@pytest.mark.parametrize("end", [Stage.ERROR, Stage.CANCELED])
def test_nothing_is_pushed_of_a_training_that_did_not_complete(end: Stage) -> None:
    made = world()
    made.hub.life = [(0.0, Stage.RUNNING), (10.0, end)]
    go(made, asked())
    assert made.publisher.pushed == []


def test_a_push_that_fails_is_told_with_the_place_of_the_files_and_exit_6() -> None:
    made = world()
    made.publisher.errors = [RefusedByHub("Not a trusted publisher", "The Hub answered 400.", "Add this workflow.")]
    report, code = go(made, asked())
    assert code == 6
    assert report.findings.model is None
    assert (
        "alice/out/runs/1/model was not pushed to alice/m: The Hub answered 400. Add this" in report.findings.model_note
    )


def test_a_push_is_tried_again_when_the_hub_hiccups() -> None:
    made = world()
    made.publisher.errors = [TransientHubError("HTTP 502 for the exchange"), TransientHubError("HTTP 503")]
    _, code = go(made, asked())
    assert (code, len(made.publisher.pushed)) == (0, 1)


def test_a_hub_that_stays_away_costs_the_model_and_not_the_verdict_of_the_training() -> None:
    made = world()
    made.publisher.errors = [TransientHubError("HTTP 502")] * 200
    report, code = go(made, asked())
    assert code == 6
    assert "was not pushed" in report.findings.model_note
    assert report.state
    assert report.state.stage is Stage.COMPLETED


@pytest.mark.parametrize(
    ("path", "volumes", "place"),
    [
        ("/out/model", [BUCKET], ("alice/out", "runs/1/model")),
        ("/out", [BUCKET], ("alice/out", "runs/1")),
        ("/out", [Volume(kind="bucket", source="alice/out", mount="/out")], ("alice/out", "")),
        ("/output", [BUCKET], None),
        ("/out/model", [Volume(kind="bucket", source="alice/out", mount="/out", read_only=True)], None),
        ("/out/model", [Volume(kind="model", source="alice/out", mount="/out", read_only=False)], None),
        ("/out/model", [LocalVolume(folder="out", mount="/out", read_only=False)], None),
        ("/out/a/b", [BUCKET, Volume(kind="bucket", source="alice/in", mount="/out/a")], ("alice/in", "b")),
        ("/out/a/b", [BUCKET, Volume(kind="model", source="alice/in", mount="/out/a")], None),
    ],
)
def test_the_place_in_a_bucket(path: str, volumes: list[Volume | LocalVolume], place: tuple[str, str] | None) -> None:
    assert in_bucket(path, volumes) == place


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model-repo": ""}, "publish: give model-repo"),
        ({"volumes": ""}, "publish: /out/model is in no bucket that the Job writes to"),
        ({"volumes": "hf://buckets/alice/out:/out:ro"}, "is in no bucket that the Job writes to"),
        ({"publish": "model"}, "publish: "),
        ({"publish": "/out/../etc"}, "publish: "),
    ],
)
def test_what_cannot_be_published_is_bad_input(changes: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse(Layers(flags={"command": "python train.py", **ASKED, **changes}))

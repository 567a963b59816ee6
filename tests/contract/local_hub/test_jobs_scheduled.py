"""Scheduled Jobs over time and over restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from hf_train.local_hub.pytest import LocalHubHandle

Start = Callable[..., LocalHubHandle]


def test_times_of_one(api: HfApi) -> None:
    one = api.create_scheduled_job(image="i", command=["echo", "tick"], schedule="* * * * *")
    assert one.status.next_job_run_at is not None
    assert timedelta() < one.status.next_job_run_at - datetime.now(UTC) <= timedelta(minutes=1)
    job = api.trigger_scheduled_job(scheduled_job_id=one.id)
    seen = api.inspect_scheduled_job(scheduled_job_id=one.id).status
    assert seen.last_job is not None
    assert (seen.last_job.id, seen.last_job.at) == (job.id, job.created_at)
    api.suspend_scheduled_job(scheduled_job_id=one.id)
    assert api.inspect_scheduled_job(scheduled_job_id=one.id).status.next_job_run_at is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedule": "61 * * * *"}, "minute: '61' is not a number from 0 to 59"),
        ({"schedule": "@sometimes"}, "five fields are expected"),
        ({"schedule": "0 0 30 2 *"}, "this day never comes"),
        ({"schedule": "@daily", "flavor": "abacus"}, "invalid value 'abacus'"),
    ],
)
def test_bad_ones(local_hub: LocalHubHandle, api: HfApi, options: dict[str, str], words: str) -> None:
    with pytest.raises(HfHubHTTPError, match="Bad request") as caught:
        api.create_scheduled_job(image="i", command=["true"], **options)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert list(api.list_scheduled_jobs()) == []


def test_they_are_kept_and_secrets_are_not(own_hub: Start, tmp_path: Path) -> None:
    hub = own_hub(data=tmp_path / "kept")
    api = HfApi(endpoint=hub.endpoint, token=hub.token)
    plain = api.create_scheduled_job(
        image="i", command=["true"], schedule="@hourly", labels={"a": "b", "name": "n"}, concurrency=True
    )
    secret = api.create_scheduled_job(image="i", command=["true"], schedule="@hourly", secrets={"S": "hf_local_value"})
    assert api.trigger_scheduled_job(scheduled_job_id=secret.id).initiator.type == "scheduled-job"  # type: ignore[union-attr]
    hub.process.terminate()
    hub.process.wait(10)
    assert not [path for path in hub.data.rglob("*.json") if "hf_local_value" in path.read_text()]
    again = own_hub(data=tmp_path / "kept")
    api = HfApi(endpoint=again.endpoint, token=again.token)
    found = {one.id: one for one in api.list_scheduled_jobs()}
    assert found.keys() == {plain.id, secret.id}
    assert (found[plain.id].suspend, found[plain.id].concurrency, found[plain.id].job_spec.labels) == (
        False,
        True,
        {"a": "b", "name": "n"},
    )
    assert found[secret.id].suspend is True, "its secrets are gone, so it cannot run"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.resume_scheduled_job(scheduled_job_id=secret.id)
    assert [one.id for one in api.list_scheduled_jobs(labels={"a": "b"})] == [plain.id]
    requests = json.dumps(again.requests())
    assert "hf_local_value" not in requests


def test_others_may_not(local_hub: LocalHubHandle, api: HfApi) -> None:
    one = api.create_scheduled_job(image="i", command=["true"], schedule="@hourly")
    other = HfApi(endpoint=local_hub.endpoint, token="hf_local_as_somebody-else")
    for call in (other.delete_scheduled_job, other.trigger_scheduled_job, other.suspend_scheduled_job):
        with pytest.raises(HfHubHTTPError, match="403"):
            call(scheduled_job_id=one.id, namespace=local_hub.user)

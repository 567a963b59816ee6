"""Scheduled Jobs: create, list, remove."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hf_train.errors import JobGone
from hf_train.hub.jobs import hub_volume
from hf_train.hub_api import make_api, translated
from hf_train.values import JobSpec, Scheduled, Secret

if TYPE_CHECKING:  # the library does not export it
    from huggingface_hub._jobs_api import ScheduledJobInfo


class HubSchedules:
    """The `ports.Schedules` of the Hub.

    Args:
        endpoint: Base address.
        token: The token that launches.
    """

    def __init__(self, endpoint: str, token: Secret | None) -> None:
        self._api = make_api(endpoint, token)

    def create(
        self, spec: JobSpec, secrets: Mapping[str, Secret], cron: str, *, suspend: bool | None, concurrency: bool | None
    ) -> Scheduled:
        """Make one; one POST, never repeated here."""
        with translated("the schedule"):
            info = self._api.create_scheduled_job(
                image=spec.image,
                command=list(spec.command),
                schedule=cron,
                suspend=suspend,
                concurrency=concurrency,
                env=dict(spec.env),
                secrets={name: secrets[name].reveal() for name in spec.secrets},
                flavor=spec.flavor,
                timeout=spec.timeout_s,
                attempts=spec.attempts,
                labels=dict(spec.labels),
                volumes=[hub_volume(volume) for volume in spec.volumes],
                namespace=spec.namespace,
            )
        return _scheduled(info)

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Scheduled]:
        """Those with all of these labels, newest first."""
        with translated("the list of schedules"):
            found = [
                _scheduled(info) for info in self._api.list_scheduled_jobs(labels=dict(labels), namespace=namespace)
            ]
        return sorted(found, key=lambda one: one.created_at.timestamp() if one.created_at else 0.0, reverse=True)

    def remove(self, namespace: str, name: str) -> None:
        """Delete one by its id; one that is gone is fine."""
        with contextlib.suppress(JobGone), translated("the end of a schedule"):
            self._api.delete_scheduled_job(scheduled_job_id=name, namespace=namespace)


def _scheduled(info: ScheduledJobInfo) -> Scheduled:
    spec, last = info.job_spec, info.status.last_job
    return Scheduled(
        id=info.id,
        namespace=info.owner.name,
        schedule=info.schedule or "",
        suspend=bool(info.suspend),
        concurrency=bool(info.concurrency),
        image=spec.docker_image or spec.space_id or "",
        command=tuple(spec.command or ()),
        flavor=str(getattr(spec.flavor, "value", spec.flavor) or ""),
        labels=dict(spec.labels or {}),
        created_at=info.created_at,
        next_at=info.status.next_job_run_at,
        last_job=last.id if last else "",
        last_at=last.at if last else None,
    )

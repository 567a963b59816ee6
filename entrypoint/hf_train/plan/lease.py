"""The lease of a Job: a small file in the bucket that its watcher renews, mounted where the start script reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hf_train.inputs.across import LEASE_MOUNT
from hf_train.values import JobSpec, Volume

LABEL = "hft-lease"
FILE = "renewed"
ENV = "HF_TRAIN_LEASE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """One lease.

    Attributes:
        seconds: The Job ends itself when the file has not changed for so long.
        name: Random word of the launch that granted it; its folder in the bucket.
    """

    seconds: int
    name: str

    @property
    def folder(self) -> str:
        """Its folder in the bucket."""
        return f"leases/{self.name}"

    @property
    def label(self) -> str:
        """The label's value. Whoever follows the Job, also a run that attached to it, renews what stands here."""
        return f"{self.seconds}-{self.name}"


def lease_of(labels: Mapping[str, str]) -> Lease | None:
    """The lease that a Job's labels name; None when they name none."""
    match = re.fullmatch(r"([0-9]{1,7})-([A-Za-z0-9]{1,64})", labels.get(LABEL, ""))
    return Lease(seconds=int(match[1]), name=match[2]) if match else None


def leased(job: JobSpec, lease: Lease, bucket: str) -> JobSpec:
    """The spec with its lease. It is no part of the training: with or without, the key is the same."""
    volume = Volume(kind="bucket", source=bucket, mount=LEASE_MOUNT, read_only=False, path=lease.folder)
    return replace(
        job,
        env={**job.env, ENV: f"{lease.seconds}:{LEASE_MOUNT}/{FILE}"},
        volumes=(*job.volumes, volume),
        labels={**job.labels, LABEL: lease.label},
    )

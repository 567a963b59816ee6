"""From a Job to what an executor runs: environment, folders behind its volumes, limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.executors.base import Mount, Task
from hf_train.local_hub.faults import Faults
from hf_train.local_hub.hub import HubContext, VolumeSource
from hf_train.local_hub.jobs.hardware import HARDWARE, Hardware
from hf_train.local_hub.jobs.job import Job
from hf_train.local_hub.network import environment


class Tasks:
    """Makes tasks.

    Args:
        hub: The Hub.
        volumes: Where volumes come from.
        faults: What goes wrong on purpose (`memory-mb`).
    """

    def __init__(self, hub: HubContext, volumes: VolumeSource, faults: Faults) -> None:
        self._hub = hub
        self._volumes = volumes
        self._faults = faults

    def source(self, volume: Mapping[str, Any]) -> Path:
        """The folder of this machine that is behind a volume.

        Raises:
            HubError: 404 when there is none.
        """
        source, path = volume["source"], volume.get("path") or ""
        try:
            if volume["type"] == "bucket":
                return self._volumes.bucket_folder(source, path)
            return self._volumes.repo_folder(volume["type"], source, volume.get("revision"), path)
        except KeyError as error:
            raise HubError(404, f"Volume source not found: {volume['type']} {source}", "RepoNotFound") from error

    def task(self, job: Job, folder: Path) -> Task:
        """What to run for one attempt.

        Args:
            job: The Job.
            folder: Fresh folder of the attempt.

        Raises:
            HubError: A volume has gone since the Job was submitted.
        """
        hardware = HARDWARE[job.spec["flavor"]]
        megabytes = self._faults.number("memory-mb", 0)
        return Task(
            job_id=job.id,
            namespace=job.namespace,
            image=str(job.spec.get("dockerImage") or f"hf.co/spaces/{job.spec.get('spaceId')}"),
            command=(*job.spec["command"], *(job.spec.get("arguments") or [])),
            env=self._environment(job, hardware),
            mounts=tuple(self._mount(volume) for volume in job.spec.get("volumes") or []),
            folder=folder,
            hardware=hardware,
            memory_bytes=int(megabytes * (1 << 20)) or hardware.ram_gb << 30,
            network=job.spec.get("network") or {},
        )

    def _mount(self, volume: Mapping[str, Any]) -> Mount:
        """Repos are always read-only, buckets when it was asked for (hub-docs `jobs-configuration`)."""
        read_only = bool(volume.get("readOnly")) or volume["type"] != "bucket"
        return Mount(source=self.source(volume), target=volume["mountPath"], read_only=read_only)

    def _environment(self, job: Job, hardware: Hardware) -> dict[str, str]:
        """What the Job brings, what the Hub sets (hub-docs `jobs-configuration`), and the way back to this Hub."""
        return {
            **(job.spec.get("environment") or {}),
            **job.secrets,
            "JOB_ID": job.id,
            "ACCELERATOR": job.spec["flavor"] if hardware.gpu else "none",
            "CPU_CORES": str(hardware.cpus),
            "MEMORY": f"{hardware.ram_gb}Gi",
            "HF_ENDPOINT": self._hub.endpoint,
            **environment(job.namespace, job.spec.get("network") or {}),
        }

"""The output folder of a training: a folder of the bucket that is named by the training's key, mounted read-write.

Whoever runs the same training again gets the same folder, so it goes on from the checkpoints in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from hf_train.inputs import Inputs
from hf_train.inputs.output import OUTPUT_MOUNT
from hf_train.values import JobSpec, Volume

ROOT = "runs"
RECORDS = ".hf-train"
"""Folder in it where the Job's own side keeps a record of each Job."""
LIBRARY_FOLDER = f"{OUTPUT_MOUNT}/model"
"""Where a library writes. Not the mount itself: our records would be pushed with the model, and the example scripts of
Transformers refuse a folder that is not empty."""
ENV = "HF_TRAIN_OUTPUT"
FLAG_ENV = "HF_TRAIN_RESUME_FLAG"
METRICS_ENV = "HF_TRAIN_METRICS_FILE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The output folder of one training.

    Attributes:
        bucket: `namespace/name`.
        folder: Its folder in the bucket.
        resume: The library's option that continues from a checkpoint; empty when the training looks for itself.
    """

    bucket: str
    folder: str
    resume: str = ""

    @property
    def address(self) -> str:
        """As `hf buckets` takes it."""
        return f"hf://buckets/{self.bucket}/{self.folder}"

    @property
    def copy_line(self) -> str:
        """The line that brings all of it onto the reader's machine (`hf buckets cp` takes single files only)."""
        return f"hf buckets sync {self.address} output"

    def record(self, job_id: str) -> str:
        """Folder of the record that a Job keeps there."""
        return f"{self.folder}/{RECORDS}/{job_id}"


def output_env(inputs: Inputs) -> Mapping[str, str]:
    """What the Job's own side is told. It is part of the training: with an output folder the key is another one."""
    if inputs.output is None:
        return {}
    resume = inputs.recipe.resume if inputs.recipe else ""
    told = {ENV: OUTPUT_MOUNT, FLAG_ENV: resume, METRICS_ENV: inputs.metrics_file or ""}
    return {name: value for name, value in told.items() if value}


def output_volume(key: str, bucket: str) -> Volume:
    """The folder of the training with this key."""
    return Volume(kind="bucket", source=bucket, mount=OUTPUT_MOUNT, read_only=False, path=f"{ROOT}/{key}")


def with_output(job: JobSpec, key: str, bucket: str) -> JobSpec:
    """The spec with its output folder, where it asks for one."""
    return replace(job, volumes=(*job.volumes, output_volume(key, bucket))) if ENV in job.env else job


def output_of(job: JobSpec) -> Output | None:
    """The output folder of a spec; None when it has none."""
    mount = job.env.get(ENV)
    found = next((one for one in job.volumes if one.mount == mount and _is_ours(one)), None)
    return Output(bucket=found.source, folder=found.path, resume=job.env.get(FLAG_ENV, "")) if found else None


def _is_ours(volume: Volume) -> bool:
    path = PurePosixPath(volume.path)
    return volume.kind == "bucket" and volume.read_only is False and path.parts[:1] == (ROOT,) and len(path.parts) == 2

"""The values that the rooms hand to each other. All frozen, none does anything."""

from hf_train.values.job import (
    NODE,
    SUPERSEDED,
    Attempt,
    Flavor,
    JobRef,
    JobSpec,
    JobState,
    Network,
    Outcome,
    Reason,
    Snapshot,
    Stage,
)
from hf_train.values.result import CARD_TITLE, Annotation, Findings, GpuUse, Metric, ModelLink, Release
from hf_train.values.schedule import Scheduled
from hf_train.values.secret import Secret
from hf_train.values.volumes import LocalVolume, Volume, VolumeKind

__all__ = [
    "CARD_TITLE",
    "NODE",
    "SUPERSEDED",
    "Annotation",
    "Attempt",
    "Findings",
    "Flavor",
    "GpuUse",
    "JobRef",
    "JobSpec",
    "JobState",
    "LocalVolume",
    "Metric",
    "ModelLink",
    "Network",
    "Outcome",
    "Reason",
    "Release",
    "Scheduled",
    "Secret",
    "Snapshot",
    "Stage",
    "Volume",
    "VolumeKind",
]

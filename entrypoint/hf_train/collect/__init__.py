"""What came out of a training: log lines, repo files and the model card become findings.

Pure: no I/O, no clock, no environment, no network.
"""

from __future__ import annotations

from hf_train.collect.candidates import Candidate, model_candidates
from hf_train.collect.explain import explain, explain_json
from hf_train.collect.files import (
    EventFile,
    Metrics,
    ModelCard,
    TrainerState,
    read_all_results,
    read_metrics_file,
    read_model_card,
    read_tensorboard_events,
    read_trainer_state,
)
from hf_train.collect.reader import LogReader, read_log
from hf_train.collect.reading import LogReading, Progress, Push
from hf_train.collect.trust import Metric, Source, merge

__all__ = [
    "Candidate",
    "EventFile",
    "LogReader",
    "LogReading",
    "Metric",
    "Metrics",
    "ModelCard",
    "Progress",
    "Push",
    "Source",
    "TrainerState",
    "explain",
    "explain_json",
    "merge",
    "model_candidates",
    "read_all_results",
    "read_log",
    "read_metrics_file",
    "read_model_card",
    "read_tensorboard_events",
    "read_trainer_state",
]

"""The record that the Job's own side keeps in the output folder (`docs/jobside.md`), as sources of numbers. Pure.

Whatever runs in the Job can write there, so nothing of it is more than a claim: JSON only, known names, bounded sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from hf_train.collect.files import json_object
from hf_train.collect.results import read_results
from hf_train.collect.trust import CHECKPOINT, Source, in_output
from hf_train.collect.values import number

RESULTS = ("all_results.json", "trainer_state.json", "eval_results.json", "train_results.json")
END, USAGE, TRACEBACK = "end.json", "usage.json", "traceback.txt"
FOLDER = "results"
MAX_BYTES = 1 << 20
"""Of each file; the Job's side writes no larger ones."""
MAX_STEP = 10**12
MAX_GPUS = 64
MAX_CHECKPOINTS = 1000
_RESUMED = re.compile(r"hf-train: resumed from step ([0-9]{1,12}) \(")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """How one GPU was used, by `nvidia-smi` in the Job.

    Attributes:
        name: What it is called.
        mean_pct: Mean utilisation, percent.
        max_pct: Highest utilisation, percent.
        memory_max_bytes: Most memory in use; None when that is not known.
        memory_total_bytes: Memory that it has; None when that is not known.
    """

    name: str
    mean_pct: float
    max_pct: float
    memory_max_bytes: int | None
    memory_total_bytes: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What the record says.

    Attributes:
        sources: Numbers, one entry per file.
        curve: Name to (step, value) points.
        has_metrics_file: Whether the metrics file is in it.
        resumed_from: Step that the Job went on from; None when it began anew, or that is not known.
        checkpoint: Step of the newest checkpoint; None when there is none.
        gpus: Use of the GPUs.
        samples: How many looks that stands for.
        traceback: The traceback that torchrun kept of the first rank that failed; empty when there is none.
        problems: What could not be read, in words.
    """

    sources: tuple[Source, ...] = ()
    curve: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    has_metrics_file: bool = False
    resumed_from: int | None = None
    checkpoint: int | None = None
    gpus: tuple[Gpu, ...] = ()
    samples: int = 0
    traceback: str = ""
    problems: tuple[str, ...] = ()


def wanted(metrics_file: str | None) -> tuple[str, ...]:
    """Paths in a record that are read.

    Args:
        metrics_file: The user's own file, which is kept by its last name.
    """
    own = PurePosixPath(metrics_file).name if metrics_file else ""
    names = dict.fromkeys([*RESULTS, *([own] if _NAME.fullmatch(own) else [])])
    return (*(f"{FOLDER}/{name}" for name in names), END, USAGE, TRACEBACK)


def read_record(contents: Mapping[str, bytes], metrics_file: str | None = None) -> Record:
    """Read a record.

    Args:
        contents: Content by path in the record; what is not `wanted` is left out.
        metrics_file: Path of the file whose numbers are trusted most, None when the user named none.
    """
    names = [path for path in wanted(metrics_file) if path in contents and len(contents[path]) <= MAX_BYTES]
    allowed = {path: contents[path] for path in names}
    files = {PurePosixPath(path).name: one for path, one in allowed.items() if path.startswith(f"{FOLDER}/")}
    own = PurePosixPath(metrics_file).name if metrics_file else ""
    results = read_results(files, own if own in files else None)
    end, usage = _json(allowed.get(END)), _json(allowed.get(USAGE))
    checkpoints = end.get("checkpoints")
    listed = checkpoints[:MAX_CHECKPOINTS] if isinstance(checkpoints, list) else []
    steps = [step for one in listed if (step := _step(one)) is not None]
    samples = _step(usage.get("samples")) or 0
    return Record(
        sources=tuple(_placed(source) for source in results.sources),
        curve=results.curve,
        has_metrics_file=own in files,
        resumed_from=_step(end.get("resumed_from_step")),
        checkpoint=max(steps, default=None),
        gpus=_gpus(usage.get("gpu")) if samples else (),
        samples=samples,
        traceback=allowed.get(TRACEBACK, b"").decode("utf-8", "replace"),
        problems=tuple(f"output: {problem}" for problem in results.problems),
    )


def resumed_step(lines: Iterable[str]) -> int | None:
    """The step that a Job says it goes on from, in its log; None when none of these lines says it."""
    found = [match for line in lines if (match := _RESUMED.search(line))]
    return int(found[-1][1]) if found else None


def longer(
    curve: Mapping[str, Sequence[tuple[float, float]]], log: Mapping[str, Sequence[tuple[float, float]]]
) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Curves of a record, and what the log tells beyond their ends: a checkpoint's end before the Job's.

    Args:
        curve: By the record; from the first step on, also when the Job was resumed.
        log: By the log of this Job alone.
    """
    ends = {name: points[-1][0] for name, points in curve.items() if points}
    reached = max(ends.values(), default=float("-inf"))
    names = dict.fromkeys([*curve, *log])
    return {
        name: [*curve.get(name, ()), *(point for point in log.get(name, ()) if name not in ends or point[0] > reached)]
        for name in names
    }


def _placed(source: Source) -> Source:
    """A source as one of the output folder: what a checkpoint says of a training is not its last word."""
    if source.kind == "metrics-file":
        return replace(source, name=f"{source.name} (output)")
    final = source.kind != "trainer_state.json" or "train_runtime" in source.metrics
    kind = in_output(source.kind) if final else CHECKPOINT
    return replace(source, kind=kind, name=f"{source.name or source.kind} (output)")


def _json(content: bytes | None) -> Mapping[str, object]:
    if content is None:
        return {}
    return json_object(content.decode("utf-8", "replace"), MAX_BYTES)[0] or {}


def _step(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < MAX_STEP else None


def _gpus(rows: object) -> tuple[Gpu, ...]:
    found = []
    for row in rows[:MAX_GPUS] if isinstance(rows, list) else []:
        one = row if isinstance(row, dict) else {}
        name, mean, most = one.get("name"), *(number(one.get(f"utilization_{what}_pct")) for what in ("mean", "max"))
        if isinstance(name, str) and mean is not None and most is not None and 0 <= mean <= most <= 100:
            used, total = (_bytes(one.get(f"memory_{what}_bytes")) for what in ("max", "total"))
            found.append(
                Gpu(name=name[:100], mean_pct=mean, max_pct=most, memory_max_bytes=used, memory_total_bytes=total)
            )
    return tuple(found)


def _bytes(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 50 else None

"""What `report.json` holds: one table. The published schema is made from it, and foreign reports are checked by it.

The dialect is JSON Schema, draft 2020-12, of which the shapes below use a part that a page of code can check: the
action's lock has no validator, and a report that somebody hands to `merge` may be anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from hf_train.values import Reason

VERSION = 1
"""Raised whenever a key comes, goes or changes its meaning."""
MAX_FAULTS = 20
Shape = Mapping[str, Any]

TEXT: Shape = {"type": "string"}
TEXTS: Shape = {"type": "array", "items": TEXT}
WHOLE: Shape = {"type": "integer", "minimum": 0}
YES_NO: Shape = {"type": "boolean"}
NUMBER: Shape = {"type": "number"}
MAYBE: Shape = {"type": ["number", "null"]}
MAYBE_WHOLE: Shape = {"type": ["integer", "null"], "minimum": 0}
LIVE = ("queued", "starting", "running")


def _one_of(*words: str) -> Shape:
    return {"type": "string", "enum": list(words)}


def _by_name(shape: Shape) -> Shape:
    return {"type": "object", "additionalProperties": shape}


def _with(shape: Mapping[str, Shape], kind: str | list[str] = "object") -> Shape:
    return {"type": kind, "properties": shape, "required": list(shape), "additionalProperties": False}


_POINT: Shape = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
_CONDITION = _with(
    {
        "condition": TEXT,
        "judgement": _one_of("pass", "fail", "unknown"),
        "value": MAYBE,
        "bound": MAYBE,
        "why": TEXT,
    }
)
_EARLIER = _with(
    {
        "kind": _one_of("smoke", "try"),
        "job-id": TEXT,
        "job-url": TEXT,
        "reason": TEXT,
        "duration-s": MAYBE,
        "cost-usd": MAYBE,
    }
)
_NODE = _with(
    {
        "node": WHOLE,
        "job-id": TEXT,
        "job-url": TEXT,
        "stage": TEXT,
        "message": TEXT,
        "duration-s": MAYBE,
        "cost-usd": MAYBE,
    }
)
_GPU = _with(
    {
        "name": TEXT,
        "samples": WHOLE,
        "mean-pct": MAYBE,
        "max-pct": MAYBE,
        "memory-max-bytes": MAYBE_WHOLE,
        "memory-total-bytes": MAYBE_WHOLE,
    }
)
FIELDS: Mapping[str, tuple[Shape, str]] = {
    "schema": ({"const": VERSION}, "Version of this format."),
    "job-id": (TEXT, "Id of the Job; empty when there was none."),
    "job-url": (TEXT, "Page of the Job."),
    "stage": (TEXT, "The Hub's own word (`COMPLETED`, `ERROR`, ...), `SKIPPED`, or empty when there was no Job."),
    "reason": (_one_of(*LIVE, *(reason.value for reason in Reason)), "Why the run ended as it did."),
    "exit-code": (WHOLE, "Exit code of `hf-train run`."),
    "model-repo": (TEXT, "The model repo that the Job published to; empty when there is none."),
    "model-revision": (TEXT, "Its commit."),
    "model-url": (TEXT, "Its page at that commit."),
    "release": (
        _with({"tag": TEXT, "hub-tag": YES_NO, "url": TEXT}, ["object", "null"]),
        "The release of the model: the Git tag, whether the model's commit has it on the Hub, and the page of it.",
    ),
    "model-card-revision": (TEXT, "The later commit that wrote the lineage into the card; empty when there is none."),
    "model-private": ({"type": ["boolean", "null"]}, "Whether it is private; null when there is none."),
    "metrics": (_by_name(MAYBE), "Name to number; null for NaN and infinities."),
    "deltas": (_by_name(NUMBER), "This run minus the baseline, where both are known."),
    "gate": (_one_of("pass", "fail", "unknown", "none"), "The worst of all conditions; `none` when there are none."),
    "cost-usd": (MAYBE, "US dollars; null when the price or the time is not known."),
    "duration-s": (MAYBE, "Seconds that the Job ran, by the Hub's count."),
    "image": (TEXT, "Image of the Job."),
    "snapshot": (TEXT, "Content address of the code that was sent; empty when none was."),
    "comment-url": (TEXT, "Address of the comment on the pull request."),
    "comment-file": (TEXT, "Path of the comment's text."),
    "report-file": (TEXT, "Path of this report."),
    "headline": (TEXT, "The verdict in a few words."),
    "level": (_one_of("success", "warning", "failure", "neutral"), "The verdict's weight."),
    "diverged": (YES_NO, "Whether a NaN or infinite loss was seen."),
    "cause": (
        {"type": ["string", "null"]},
        "Code of the failure's cause: `oom-gpu`, `gated`, `disk-full` and so on, `unknown` when the log does not say.",
    ),
    "cause-line": (TEXT, "The line of the log that proves it."),
    "cause-frame": (
        _with({"path": TEXT, "line": {"type": "integer", "minimum": 1}}, ["object", "null"]),
        "Where the traceback left this repository: a path in it, and the line.",
    ),
    "hint": (TEXT, "What to try next."),
    "model-note": (TEXT, "Why there is no model."),
    "shown": (TEXTS, "Names of the metrics to show first, in that order."),
    "sources": (_by_name(TEXT), "Name of a metric to where it was read."),
    "directions": (_by_name(_one_of("higher", "lower")), "Name of a metric to which way is better, where it is known."),
    "baseline": (
        _with({"name": TEXT, "metrics": _by_name(MAYBE)}, ["object", "null"]),
        "What the run is compared with; null when there is nothing.",
    ),
    "conditions": ({"type": "array", "items": _CONDITION}, "The gate, line by line."),
    "non-finite": (_by_name(_one_of("nan", "inf", "-inf")), "The metrics that are null, in words."),
    "also-published": (
        {
            "type": "array",
            "items": _with({"repo": TEXT, "kind": _one_of("model", "dataset", "space"), "revision": TEXT}),
        },
        "Further repos that the Job published to.",
    ),
    "curve": (_by_name({"type": "array", "items": _POINT}), "Name to `[step, value]` points, at most 500 each."),
    "trackers": (TEXTS, "Pages of experiment trackers that the log names."),
    "gpus": (
        {"type": "array", "items": _GPU},
        "Use of each GPU while the Job ran, as far as it was measured.",
    ),
    "output": (TEXT, "Address of the output folder (`hf://buckets/...`); empty when there is none."),
    "resumed-from-step": (MAYBE_WHOLE, "Step that the Job went on from; null when it began anew, or it is not known."),
    "checkpoint-step": (MAYBE_WHOLE, "Step of the newest checkpoint in the output folder; null when there is none."),
    "problems": (TEXTS, "What went wrong beside the training."),
    "log-lines": (WHOLE, "Log lines seen."),
    "queued-s": (MAYBE, "Seconds that the Job waited for hardware."),
    "reused": (TEXT, "Why no new Job was paid for; empty when one was."),
    "skipped": (TEXT, "Why nothing was run; empty when something was."),
    "repository": (TEXT, "`owner/name` on GitHub; empty outside."),
    "sha": (TEXT, "The commit that people see."),
    "pull": (MAYBE_WHOLE, "Number of the pull request."),
    "run-url": (TEXT, "Page of the workflow run."),
    "comment-key": (TEXT, "Which run on the pull request this is: workflow, job and matrix leg, or the input."),
    "flavor": (TEXT, "Hardware flavor."),
    "command": (TEXTS, "The command in the Job, word by word."),
    "key": (TEXT, "Hash of all that makes this training what it is."),
    "worst-case-usd": (MAYBE, "What it could have cost."),
    "pr-cost-usd": (MAYBE, "What all Jobs of the pull request cost; null when there is one only, or it is not known."),
    "earlier": ({"type": "array", "items": _EARLIER}, "Jobs of this run before this one; `cost-usd` counts them."),
    "nodes": ({"type": "array", "items": _NODE}, "The Jobs of a training on several nodes, the first one first."),
    "hf-jobs-run": (TEXT, "The same Job as an `hf jobs run` line; with several nodes a line for each."),
    "notes": (TEXTS, "What was worth knowing before the launch."),
}


def json_schema() -> str:
    """The text of `docs/report.schema.json`."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:hf-train:report:{VERSION}",
        "title": "report.json of hf-train",
        **_with({name: {"description": says, **shape} for name, (shape, says) in FIELDS.items()}),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def faults(document: object) -> list[str]:
    """What is wrong with a report, in words; empty when nothing is. At most `MAX_FAULTS`.

    Args:
        document: A JSON value, from anywhere.
    """
    shape = _with({name: shape for name, (shape, _) in FIELDS.items()})
    found: list[str] = []
    for fault in _faults(document, shape, "report"):
        found.append(fault)
        if len(found) == MAX_FAULTS:
            break
    return found


def _faults(value: object, shape: Shape, where: str) -> Iterator[str]:
    kinds = shape.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is no {' or '.join(kinds)}"
    elif "const" in shape and value != shape["const"]:
        yield f"{where} is not {shape['const']!r}"
    elif "enum" in shape and value not in shape["enum"]:
        yield f"{where} is none of {', '.join(shape['enum'])}"
    elif isinstance(value, int | float) and value < shape.get("minimum", value):
        yield f"{where} is less than {shape['minimum']}"
    elif isinstance(value, dict):
        yield from _object(value, shape, where)
    elif isinstance(value, list):
        if not shape.get("minItems", 0) <= len(value) <= shape.get("maxItems", len(value)):
            yield f"{where} has {len(value)} items"
        for number, item in enumerate(value):
            yield from _faults(item, shape["items"], f"{where}[{number}]")


def _object(value: Mapping[str, object], shape: Shape, where: str) -> Iterator[str]:
    known = shape.get("properties", {})
    yield from (f"{where} has no {name}" for name in shape.get("required", ()) if name not in value)
    for name, item in value.items():
        inner = known.get(name, shape.get("additionalProperties", False))
        if inner is False:
            yield f"{where} has an unknown key {name[:60]!r}"
        else:
            yield from _faults(item, inner, f"{where}.{name[:60]}")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return math.isfinite(value) and (kind == "number" or (kind == "integer" and whole))
    names: Mapping[str, type] = {"string": str, "object": dict, "array": list, "null": type(None)}
    return kind in names and isinstance(value, names[kind])

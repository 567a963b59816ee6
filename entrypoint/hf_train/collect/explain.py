"""A reading in words, for ``hf-train explain``."""

from __future__ import annotations

import json
import math

from hf_train.collect.reading import LogReading

_HEADLINES = {
    "completed": "The training completed.",
    "failed": "The training failed.",
    "diverged": "The training diverged: a loss or gradient became NaN or infinite.",
    "truncated": "The log is cut: its last line is not whole, and nothing in it says how the training ended.",
    "running": "The log shows no end: the training was still running, or the log stops early.",
}
WARNINGS = {
    "empty-log": "The log is empty: there is nothing to read in it.",
    "compressed-log": "This is a compressed file, not a text log: nothing was read from it. "
    "Unpack it first: `zcat FILE | hf-train explain -`.",
    "binary-log": "This is not a text log (binary content): nothing was read from it.",
    "utf-16": "The log is UTF-16 and was read as such.",
    "line-too-long": "A line was longer than 32,768 characters; the rest of it was not read.",
    "nan-grad": "Some gradient norms were NaN or infinite. A few are normal with fp16 loss scaling.",
    "nan-loss": "Before it failed, the training had diverged (NaN or infinite loss).",
    "no-gpu": "No GPU was found: the training ran on the CPU.",
    "bad-metrics-line": "A ::metrics:: line holds no JSON object and was left out.",
}
"""Text of each warning code."""


def explain(reading: LogReading) -> str:
    """A reading in words.

    Args:
        reading: What `LogReader.close` returned.

    Returns:
        Lines of plain text, ending with a line feed.
    """
    for code in ("empty-log", "compressed-log", "binary-log"):
        if code in reading.warnings:
            return WARNINGS[code] + "\n"
    lines = [_HEADLINES[reading.status]]
    lines += _progress(reading)
    if reading.cause:
        where = f" on rank {reading.cause_rank}" if reading.cause_rank is not None else ""
        lines.append(f"Cause: {reading.cause}{where}")
        lines.append(f"  {reading.cause_line.strip()}" if reading.cause_line else "  The log does not hold the error.")
    if reading.hint:
        lines.append(f"Hint: {reading.hint}")
    if reading.metrics:
        width = min(40, max(len(name) for name in reading.metrics))
        lines.append("Metrics:")
        lines += [f"  {name:<{width}}  {_number(value)}" for name, value in reading.metrics.items()]
    else:
        lines.append("Metrics: none found.")
    lines += [f"Model: {url} (as the log says; not checked)" for url in reading.model_urls]
    lines += [f"Tracker: {url}" for url in reading.tracker_urls]
    lines += [f"Note: {WARNINGS.get(code, code)}" for code in reading.warnings]
    return "\n".join(lines) + "\n"


def explain_json(reading: LogReading) -> str:
    """The same as one strict JSON object in ASCII, indented, ending with a line feed.

    A runner obeys ``##[command]`` anywhere in a line that a step prints, so the second of two hashes is escaped.
    """
    return json.dumps(reading.to_json(), indent=2, allow_nan=False).replace("##", "#\\u0023") + "\n"


def _progress(reading: LogReading) -> list[str]:
    progress = reading.progress
    parts = []
    if progress.step is not None:
        of = f" of {progress.total:,}" if progress.total is not None else ""
        parts.append(f"step {progress.step:,}{of}")
    if progress.epoch is not None:
        parts.append(f"epoch {progress.epoch:g}")
    if reading.steps_per_second:
        parts.append(f"{reading.steps_per_second:g} steps/s")
    return [f"Progress: {', '.join(parts)}"] if parts else []


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.10g}" if math.isfinite(value) else str(value)

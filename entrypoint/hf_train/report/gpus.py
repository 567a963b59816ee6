"""How GPUs were used, in words; said only when enough was seen of them."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.report.words import number
from hf_train.values import GpuUse

IDLE_PCT = 5.0
"""A GPU that trains passes this within seconds; one that is only held shows 0 or 1."""
ENOUGH = 30
"""Samples: half a minute of the Hub's stream, half an hour of the Job's own looks. Fewer may have met a download."""


def idle_words(gpus: Sequence[GpuUse]) -> str:
    """What was paid for and not used; empty when all were, or it is not known."""
    known = _known(gpus)
    idle = [one for one in known if one.max_pct < IDLE_PCT]
    if not idle:
        return ""
    under = f"under {IDLE_PCT:.0f} % for the whole run"
    if len(idle) == len(known):
        return f"idle: {len(idle)} of {len(known)} GPUs {under}" if len(known) > 1 else f"idle: {under}"
    used = len(known) - len(idle)
    return f"{used} of {len(known)} GPUs {'was' if used == 1 else 'were'} used; the others were {under}"


def gpu_line(gpus: Sequence[GpuUse]) -> str:
    """Use of the GPUs in one line of Markdown; empty when it is not known. All of it is numbers."""
    known = _known(gpus)
    if not known:
        return ""
    words = [f"⚠️ {idle}" if (idle := idle_words(known)) else ""]
    busy = [one for one in known if one.max_pct >= IDLE_PCT]
    if busy:
        means = [one.mean_pct for one in busy]
        span = f" ({min(means):.0f} to {max(means):.0f} %)" if max(means) - min(means) >= 1 else ""
        words.append(f"use {sum(means) / len(means):.0f} % on average{span}")
    words.append(_memory(busy or known))
    return f"**GPU** {' · '.join(word for word in words if word)}"


def _known(gpus: Sequence[GpuUse]) -> list[GpuUse]:
    return [one for one in gpus if one.samples >= ENOUGH]


def _memory(gpus: Sequence[GpuUse]) -> str:
    """The fullest one."""
    full = [(one.memory_max_bytes, one.memory_total_bytes) for one in gpus]
    sizes = [(most, total) for most, total in full if most is not None and total]
    if not sizes:
        return ""
    most, total = max(sizes, key=lambda one: one[0] / one[1])
    return f"memory at most {number(round(most / 1e9, 1))} of {number(round(total / 1e9, 1))} GB"

"""The line about GPUs: what idled is said, and only when enough was seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hf_train.report.comment import comment
from hf_train.report.gpus import ENOUGH, gpu_line, idle_words
from hf_train.values import Findings, GpuUse
from unit.makers import report

BUSY = GpuUse(
    name="a", samples=300, mean_pct=87.4, max_pct=100.0, memory_max_bytes=18_200_000_000,
    memory_total_bytes=24_000_000_000,
)  # fmt: skip
IDLE = replace(BUSY, name="b", mean_pct=0.1, max_pct=1.0, memory_max_bytes=500_000_000)


@pytest.mark.parametrize(
    ("gpus", "line"),
    [
        ((), ""),
        ((BUSY,), "**GPU** use 87 % on average · memory at most 18.2 of 24 GB"),
        ((IDLE,), "**GPU** ⚠️ idle: under 5 % for the whole run · memory at most 0.5 of 24 GB"),
        (
            (IDLE,) * 4,
            "**GPU** ⚠️ idle: 4 of 4 GPUs under 5 % for the whole run · memory at most 0.5 of 24 GB",
        ),
        (
            (BUSY, IDLE, IDLE, IDLE),
            (
                "**GPU** ⚠️ 1 of 4 GPUs was used; the others were under 5 % for the whole run · use 87 % on average · "
                "memory at most 18.2 of 24 GB"
            ),
        ),
        (
            (BUSY, replace(BUSY, mean_pct=40.0)),
            "**GPU** use 64 % on average (40 to 87 %) · memory at most 18.2 of 24 GB",
        ),
        ((replace(BUSY, memory_total_bytes=None),), "**GPU** use 87 % on average"),
    ],
)
def test_the_line(gpus: tuple[GpuUse, ...], line: str) -> None:
    assert gpu_line(gpus) == line


def test_too_few_samples_say_nothing() -> None:
    few = replace(IDLE, samples=ENOUGH - 1)
    assert (gpu_line((few,)), idle_words((few,))) == ("", "")
    assert idle_words((replace(IDLE, samples=ENOUGH),))


def test_the_line_stands_in_the_comment() -> None:
    text = comment(report(findings=Findings(gpus=(BUSY, IDLE))), "<!-- m -->")
    assert "\n**GPU** ⚠️ 1 of 2 GPUs was used" in text
    assert "**GPU**" not in comment(report(), "<!-- m -->")

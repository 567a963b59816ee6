"""The nodes of a training on several: one row each, the first node first."""

from __future__ import annotations

from typing import Any

from hf_train.report.model import Phase, Report
from hf_train.report.words import cell, duration, link, money
from hf_train.values import JobState, Stage


def node_table(report: Report) -> list[str]:
    """The nodes as Markdown; nothing for a Job by itself."""
    if not report.nodes:
        return []
    rows = [
        f"| {one.node} | {link(one.ref.id, one.ref.url).replace('|', '')} | {cell(_stage(report, one), 120)} | "
        f"{duration(one.running_s)} | {money(report.node_usd(one))} |"
        for one in report.nodes
    ]
    return ["| Node | Job | Stage | Ran | Cost |", "|--:|:--|:--|--:|--:|", *rows]


def nodes_json(report: Report) -> list[dict[str, Any]]:
    """The nodes for `report.json`; empty for a Job by itself."""
    return [
        {
            "node": one.node,
            "job-id": one.ref.id,
            "job-url": one.ref.url,
            "stage": one.stage_text or one.stage.value,
            "message": one.message,
            "duration-s": None if one.running_s is None else round(one.running_s, 3),
            "cost-usd": None if (cost := report.node_usd(one)) is None else round(cost, 6),
        }
        for one in report.nodes
    ]


def _stage(report: Report, node: JobState) -> str:
    words = node.stage_text or node.stage.value
    live = report.phase is not Phase.ENDED or node.stage is Stage.COMPLETED
    return words if live or not node.message else f"{words}: {node.message}"

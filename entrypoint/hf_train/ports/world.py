"""All ports of a run."""

from __future__ import annotations

from dataclasses import dataclass

from hf_train.images.ports import Images
from hf_train.ports.github import People, Pulls, Releases
from hf_train.ports.hub import Access, Cards, Hub, Publisher, Reports, Tags, Trackers
from hf_train.ports.runner import Clock, Console, Files, Scripts, Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class Ports:
    """All of them."""

    hub: Hub
    pulls: Pulls | None
    workspace: Workspace
    scripts: Scripts
    console: Console
    files: Files
    reports: Reports
    clock: Clock
    access: Access | None = None
    people: People | None = None
    images: Images | None = None
    publisher: Publisher | None = None
    cards: Cards | None = None
    tags: Tags | None = None
    releases: Releases | None = None
    trackers: Trackers | None = None

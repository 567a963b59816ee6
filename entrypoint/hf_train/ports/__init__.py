"""What the flow asks of the world. Adapters fulfil these; tests have fakes that obey the same contract suite."""

from hf_train.ports.answers import Account, Card, Head, Published, RepoFact, Scope, Survey
from hf_train.ports.github import People, Pulls, Releases, Runs
from hf_train.ports.hub import Access, Cards, Gauge, Hub, LogFeed, Publisher, Reports, Schedules, Tags, Trackers
from hf_train.ports.runner import Clock, Console, Files, Scripts, Workspace
from hf_train.ports.world import Ports

__all__ = [
    "Access",
    "Account",
    "Card",
    "Cards",
    "Clock",
    "Console",
    "Files",
    "Gauge",
    "Head",
    "Hub",
    "LogFeed",
    "People",
    "Ports",
    "Published",
    "Publisher",
    "Pulls",
    "Releases",
    "RepoFact",
    "Reports",
    "Runs",
    "Schedules",
    "Scope",
    "Scripts",
    "Survey",
    "Tags",
    "Trackers",
    "Workspace",
]

"""What is mounted into the Job, and whether it can be."""

from __future__ import annotations

from collections.abc import Mapping

from hf_train.errors import ExitCode
from hf_train.ports import RepoFact
from hf_train.preflight.model import Finding
from hf_train.values import Volume


def volume_findings(looked: Mapping[Volume, RepoFact]) -> list[Finding]:
    """Volumes that are not there for the launch token, all of them: the Hub names the first one only."""
    found = []
    for volume, fact in looked.items():
        if what := _missing(volume, fact):
            found.append(
                Finding(
                    level="error",
                    title="Volume not there",
                    what=f"{volume.as_option()}: {what}.",
                    why="The Hub could not mount it.",
                    fix="Check its name and revision, or give hf-token the right to read it.",
                    field="volumes",
                    code=ExitCode.REFUSED,
                )
            )
    return found


def pinned(looked: Mapping[Volume, RepoFact]) -> tuple[tuple[Volume, str], ...]:
    """The commit of each repo that is mounted. A branch may move while the Job waits, and what was trained on with it.

    A bucket has no commits; it is what it is when the Job reads it.
    """
    return tuple((volume, fact.commit) for volume, fact in looked.items() if volume.kind != "bucket" and fact.commit)


def _missing(volume: Volume, fact: RepoFact) -> str:
    if not fact.exists:
        return f"the {volume.kind} {volume.source} is not there, or the token that launches cannot see it"
    if fact.closed:
        return f"the {volume.kind} {volume.source} is gated, and the token that launches was not let in"
    if volume.kind != "bucket" and not fact.commit:
        return f"the {volume.kind} {volume.source} has no revision {volume.revision or 'main'}"
    return ""

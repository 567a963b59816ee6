"""Where a model comes from, for its card: a folded section, and the key `hf-train` of its metadata. Pure.

The card is the training's, so it is hostile. Its front matter is changed as text, for loading and dumping it would lose
comments and order, and the result is only taken when it reads as the same mapping with our key beside the rest. The
section stands right below it: an open comment, fence or `<pre>` that a card leaves could swallow one further down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from hf_train import __version__
from hf_train.report.model import Report
from hf_train.report.words import anchor, cell, duration, link, money
from hf_train.text.sections import section, without
from hf_train.values import ModelLink, Volume

NAME = "lineage"
KEY = "hf-train"
MAX_CARD = 2 << 20
MAX_FRONT = 128 << 10
MAX_DEPTH = 40
_FRONT = re.compile(r"\A(\ufeff?---[ \t]*\r?\n)(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_OWN = re.compile(rf"^{KEY}:[^\n]*\n(?:[ \t][^\n]*\n|[ \t]*\r?\n(?=[ \t]))*", re.MULTILINE)


def facts(report: Report, model: ModelLink) -> dict[str, Any]:
    """The metadata, for machines. What a public card would tell of a private repository is left out."""
    plan, context, state = report.plan, report.context, report.state
    data: dict[str, Any] = {"version": __version__}
    if not hides(report, model):
        data |= {"repository": context.repository, "commit": _commit(report), "run": context.run_url}
    if state is not None:
        data["job"] = state.ref.url
    data |= {"trained-commit": model.revision}
    if plan is not None:
        data |= {"image": plan.job.image, "flavor": plan.job.flavor, "data": _data(report)}
    if report.snapshot is not None:
        data["snapshot"] = report.snapshot.digest
    if report.duration_s is not None:
        data["duration-s"] = round(report.duration_s)
    if report.cost_usd is not None:
        data["cost-usd"] = round(report.cost_usd, 4)
    return {name: value for name, value in data.items() if value not in ("", [])}


def body(report: Report, model: ModelLink) -> str:
    """The section, for people."""
    plan, context = report.plan, report.context
    rows: list[tuple[str, str]] = []
    if not hides(report, model):
        sha, home = _commit(report), f"{context.server_url}/{context.repository}"
        rows += [
            ("Repository", link(context.repository, home) if context.repository else ""),
            ("Commit", link(sha, f"{home}/commit/{sha}" if context.repository else "") if sha else ""),
            ("Workflow run", anchor(cell(context.run_id), context.run_url) if context.run_url else ""),
        ]
    if report.ref is not None:
        rows.append(("Job", link(report.ref.id, report.ref.url)))
    if plan is not None:
        rows.append(("Image", cell(plan.job.image)))
        rows += [("Data", cell(one)) for one in _data(report)]
        rows.append(("Ran", f"{cell(plan.job.flavor)} for {duration(report.duration_s)}, {money(report.cost_usd)}"))
    if report.snapshot is not None:
        dirty = f", {report.snapshot.dirty} changed file(s)" if report.snapshot.dirty else ""
        rows.append(("Code", f"{cell(report.snapshot.digest)}{dirty}"))
    rows.append(("Weights", f"as of commit {cell(model.revision)}"))
    table = ["| | |", "|:--|:--|", *(f"| {name} | {value} |" for name, value in rows if value)]
    head = ["<details>", "<summary>How this model was trained</summary>", ""]
    return "\n".join([*head, *table, "", f"<sub>hf-train {__version__}</sub>", "", "</details>"])


def hides(report: Report, model: ModelLink) -> bool:
    """Whether the card must not name the repository: it is not known to be public, and the model is."""
    return bool(report.context.repository) and report.context.private is not False and not model.private


def with_lineage(card: str, report: Report, model: ModelLink) -> tuple[str, str]:
    """The card with section and metadata, each once, whatever it held before.

    Returns:
        The card; and why it has no metadata, in words, empty when it has.
    """
    front, rest = _split(without(card, NAME))
    if front and not front.endswith("\n"):
        front += "\n"
    changed, problem = _with_key(front, facts(report, model))
    return f"{changed}\n{section(NAME, body(report, model))}\n\n{rest.lstrip()}", problem


def _split(card: str) -> tuple[str, str]:
    found = _FRONT.match(card)
    return (card[: found.end()], card[found.end() :]) if found else ("", card)


def _with_key(front: str, data: Mapping[str, Any]) -> tuple[str, str]:
    """The front matter, marks included, with our key as its last one; as it was when that cannot be done."""
    own = yaml.safe_dump({KEY: data}, sort_keys=False, width=4096)
    if not front:
        return f"---\n{own}---\n", ""
    found = _FRONT.match(front)
    assert found is not None  # noqa: S101  (it was split off by the same pattern)
    before = _mapping(found[2])
    if before is None:
        return front, "the card's metadata is no plain YAML mapping, so the lineage stands in its text only"
    kept = _OWN.sub("", found[2])
    kept = kept if kept.endswith("\n") or not kept else f"{kept}\n"
    after = _mapping(f"{kept}{own}")
    before.pop(KEY, None)
    if after is None or _mapping(kept) != before or after != {**before, KEY: dict(data)}:
        return front, "the card's metadata cannot be added to, so the lineage stands in its text only"
    return f"{found[1]}{kept}{own}{found[3]}", ""


def _mapping(text: str) -> dict[Any, Any] | None:
    """A small YAML mapping without aliases (a few lines of them can mean gigabytes); None for anything else."""
    if len(text) > MAX_FRONT:
        return None
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > MAX_DEPTH:
                return None
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return None  # the safe loader leaks other errors than YAMLError on odd dates, tags and keys
    return {} if loaded is None else loaded if isinstance(loaded, dict) else None


def _commit(report: Report) -> str:
    """The commit that was trained."""
    return (report.snapshot.sha if report.snapshot else "") or report.context.head_sha


def _data(report: Report) -> list[str]:
    """What was mounted beside the code, and what the command names, at its commit: `hf://datasets/OWNER/NAME@COMMIT`.

    A loader takes what is newest when it runs, so of the latter the commit is that of the launch.
    """
    if report.plan is None:
        return []
    sent = {report.snapshot.bucket} if report.snapshot else set()
    mounted = [_source(one) for one in report.plan.job.volumes if one.source not in sent]
    named = [f"hf://{kind}s/{repo}@{commit}" for kind, repo, commit in report.plan.sources]
    return list(dict.fromkeys([*mounted, *named]))


def _source(volume: Volume) -> str:
    """`hf://datasets/OWNER/NAME@REVISION/PATH`, without where it was mounted."""
    return volume.as_option().partition(f":{volume.mount}")[0]

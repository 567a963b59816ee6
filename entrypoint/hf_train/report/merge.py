"""The legs of a matrix in one table: read from their `report.json`, a row each, the best one marked.

The reports come as files, through artifacts that a pull request's code can write: each is checked by the table of the
schema, nothing of it is told outside of a code span, and links lead to the Hub and to GitHub only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from hf_train import __version__
from hf_train.report.schema import faults
from hf_train.report.table import is_quiet
from hf_train.report.verdict import headline_of
from hf_train.report.words import DASH, anchor, cell, code, duration, fits, money, number

MAX_LEGS = 256
"""GitHub's own limit of a matrix (docs: workflow syntax, `strategy.matrix`)."""
COLUMNS = (6, 3, 1, 0)
"""Metrics to show: the most, then fewer when the comment would be too long."""
BEST = "🏆"
_SIGNS = {"success": "✅", "warning": "⚠️", "failure": "❌", "neutral": "⚪"}
_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Where links may lead, and who reads them.

    Attributes:
        hub: Address of the Hub.
        github: Address of GitHub.
        public: Whether strangers read the table: then private repos are not named.
    """

    hub: str = "https://huggingface.co"
    github: str = "https://github.com"
    public: bool = False


def parse_report(text: str) -> Mapping[str, Any]:
    """One `report.json`.

    Raises:
        ValueError: It is no report; with the reason in a few words.
    """
    try:
        document = json.loads(text, parse_constant=_no_number, parse_int=_whole)
    except RecursionError as error:
        message = "it is nested too deeply"
        raise ValueError(message) from error
    except json.JSONDecodeError as error:
        message = "it is not JSON"
        raise ValueError(message) from error
    if found := faults(document):
        raise ValueError(found[0])
    checked: Mapping[str, Any] = document
    return checked


def merge(
    reports: Sequence[Mapping[str, Any]],
    missing: Sequence[tuple[str, str]] = (),
    expected: int = 0,
    places: Places | None = None,
) -> str:
    """One table of all legs.

    Args:
        reports: What `parse_report` gave, in the order to show.
        missing: Legs that have no report that can be read: name and reason.
        expected: How many legs there should be; 0 when that is not known.
        places: Where links may lead.

    Returns:
        Markdown, short enough for a comment.
    """
    where = places or Places()
    absent = max(0, expected - len(reports) - len(missing))
    for columns in COLUMNS:
        text = "\n".join(_text(reports, missing, absent, where, columns))
        if fits(text):
            return text
    head = _headline(reports, len(missing) + absent)
    return f"{head}\n\nThe legs are too many to be shown here.\n\n{_footer()}"


def _text(
    reports: Sequence[Mapping[str, Any]],
    missing: Sequence[tuple[str, str]],
    absent: int,
    where: Places,
    most: int,
) -> list[str]:
    names, common = _names([report["comment-key"] for report in reports])
    shown, more = _columns(reports, most)
    best = _best(reports, shown)
    winners = _winners(reports, shown, best)
    lines = [_headline(reports, len(missing) + absent), "", *([code(common), ""] if common else [])]
    lines.append("| " + " | ".join(["Leg", "Result", *(cell(name, 40) for name in shown), "Time", "Cost", ""]) + " |")
    lines.append("|:--|:--|" + "--:|" * (len(shown) + 2) + ":--|")
    for number_, (name, report) in enumerate(zip(names, reports, strict=True)):
        sign = f"{BEST} " if number_ in winners else ""
        values = [_value(report, metric, best, take_part=_takes_part(report)) for metric in shown]
        time, cost = duration(report["duration-s"]), money(report["cost-usd"])
        row = [f"{sign}{cell(name, 60)}", _result(report), *values, time, cost, _links(report, where)]
        lines.append("| " + " | ".join(row) + " |")
    blank = " | ".join([DASH] * (len(shown) + 2))
    lines += [f"| {cell(name, 60)} | ❓ no report: {cell(why, 60)} | {blank} |  |" for name, why in missing]
    if winners and any(name in best for name in shown):
        main = next(name for name in shown if name in best)
        lines += ["", f"{BEST} best by {code(main, 40)}. Bold: the best value of its column."]
    if more:
        lines += ["", f"+{more} more metrics in the reports of the legs."]
    if absent:
        lines += ["", f"{absent} more leg(s) should have a report, and have none."]
    return [*lines, "", _total(reports), "", _footer()]


def _headline(reports: Sequence[Mapping[str, Any]], missing: int) -> str:
    levels = [report["level"] for report in reports]
    words = [
        (levels.count("success") + levels.count("warning"), "completed"),
        (levels.count("failure"), "failed"),
        (levels.count("neutral"), "without a result"),
        (missing, "without a report"),
    ]
    failed = "failure" in levels or missing
    sign = "❌" if failed else "⚠️" if "warning" in levels else "✅" if "success" in levels else "⚪"
    told = ", ".join(f"{count} {word}" for count, word in words if count)
    count = len(reports) + missing
    return f"### {sign} {count} leg{'' if count == 1 else 's'}: {told}"


def _names(keys: Sequence[str]) -> tuple[list[str], str]:
    """The legs' names without what is common to all, and that common part."""
    parts = [key.split(" / ") for key in keys]
    same = 0
    if len(parts) > 1:
        while all(len(one) > same + 1 and one[same] == parts[0][same] for one in parts):
            same += 1
    common = " / ".join(parts[0][:same]) if parts else ""
    return [" / ".join(one[same:]) or DASH for one in parts], common


def _columns(reports: Sequence[Mapping[str, Any]], most: int) -> tuple[list[str], int]:
    """The metrics to show: first those that most legs have, in the legs' own order; speeds and counters never."""
    counts: dict[str, int] = {}
    for report in reports:
        for name in report["shown"]:
            if not is_quiet(name):
                counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts, key=lambda name: -counts[name])
    return ordered[:most], max(0, len(ordered) - most)


def _takes_part(report: Mapping[str, Any]) -> bool:
    """Only a training that completed and did not diverge can be the best."""
    return bool(report["reason"] == "completed" and report["level"] == "success")


def _best(reports: Sequence[Mapping[str, Any]], shown: Sequence[str]) -> dict[str, float]:
    """The best value of each metric whose direction all legs agree on."""
    best: dict[str, float] = {}
    if len(reports) < 2:
        return best
    for name in shown:
        ways = {report["directions"].get(name) for report in reports if name in report["metrics"]}
        values = [report["metrics"].get(name) for report in reports if _takes_part(report)]
        known = [value for value in values if value is not None]
        if known and len(ways) == 1 and None not in ways:
            best[name] = max(known) if ways == {"higher"} else min(known)
    return best


def _winners(reports: Sequence[Mapping[str, Any]], shown: Sequence[str], best: Mapping[str, float]) -> set[int]:
    main = next((name for name in shown if name in best), None)
    if main is None:
        return set()
    return {i for i, report in enumerate(reports) if _takes_part(report) and report["metrics"].get(main) == best[main]}


def _value(report: Mapping[str, Any], name: str, best: Mapping[str, float], *, take_part: bool) -> str:
    if name in report["non-finite"]:
        return number(float(report["non-finite"][name]))
    value = report["metrics"].get(name)
    if value is None:
        return DASH
    return f"**{number(value)}**" if take_part and best.get(name) == value else number(value)


def _result(report: Mapping[str, Any]) -> str:
    """The verdict in our own words: the headline of the report may say anything."""
    words = f"{_SIGNS[report['level']]} {headline_of(report['reason']).removeprefix('Training ')}"
    if report["diverged"] and report["level"] == "warning":
        words += ", diverged"
    return f"{words}: {cell(report['cause'], 40)}" if report["cause"] and report["level"] == "failure" else words


def _links(report: Mapping[str, Any], where: Places) -> str:
    links = []
    if report["job-url"].startswith(f"{where.hub}/jobs/"):
        links.append(_link("Job", report["job-url"]))
    if _REPO.fullmatch(report["model-repo"]) and _SHA.fullmatch(report["model-revision"]):
        private = report["model-private"] is not False and where.public
        url = f"{where.hub}/{report['model-repo']}/tree/{report['model-revision']}"
        links.append("private model" if private else _link("model", url))
    for word, key in (("report", "comment-url"), ("run", "run-url")):
        if report[key].startswith(f"{where.github}/"):
            links.append(_link(word, report[key]))
    return " · ".join(link for link in links if link)


def _link(word: str, url: str) -> str:
    """A link, or nothing when the address is odd."""
    text = anchor(word, url)
    return text if text != word and "|" not in url else ""


def _total(reports: Sequence[Mapping[str, Any]]) -> str:
    known = [report["cost-usd"] for report in reports if report["cost-usd"] is not None]
    unknown = len(reports) - len(known)
    if not known:
        return "Total cost: not known."
    rest = f", and what {unknown} leg(s) cost is not known" if unknown else ""
    return f"Total cost: {money(sum(known))}{rest}."


def _footer() -> str:
    return f"<sub>hf-train {__version__}</sub>"


def _no_number(word: str) -> NoReturn:
    message = f"{word} is not JSON"
    raise ValueError(message)


def _whole(digits: str) -> int | float:
    """A whole number; one that no float holds is told by the check of the schema."""
    return int(digits) if len(digits) < 16 else float(digits)

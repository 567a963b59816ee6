"""Ten thousand names that a Job can print, many in a comment: nothing in the tree that we did not write."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence

import pytest

from hf_train.flow.reporter import marker
from hf_train.report import Report, as_json, comment, summary
from hf_train.report.merge import merge, parse_report
from hf_train.values import Findings, Metric
from unit.makers import ON_GITHUB, REF, report
from unit.report.hostile import CANARY, PIECES
from unit.report.tree import foreign_nodes

COUNT = 10_000
LINKS = [
    f"{ON_GITHUB.server_url}/{ON_GITHUB.repository}/commit/{ON_GITHUB.head_sha}", ON_GITHUB.run_url, REF.url,
]  # fmt: skip
_VALUES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e15, 0.1, -12345.678, 7.0]
_MORE = [
    "fixes #1", "Closes octo/proj#2", "resolves GH-3", "cc @octo/team", "@dependabot merge", "\u202etxt.exe", "\u2066x",
    "\u2069", "\u200f", "\ufeff", "<details>", "<summary>", "<!-- hf-train:train / sft -->",
    "<script>alert(1)</script>",
    "[x]: https://evil.test", "![](//evil.test/p.png)", "<https://evil.test>", "javascript:alert(1)", "|:--|",
    "\\", "\\\\",
    "`|`", "``|``", "eval_loss", "😀" * 20, "# h", "\n# h\n", "\n\n---\n", "\n```\n", "    code", "&vert;", "&#124;",
    "$`x`$",
    "https://github.com/octo/proj/issues/1", "a@evil.test", "0123456789abcdef0123456789abcdef01234567",
]  # fmt: skip


def names(count: int) -> list[str]:
    """Names that differ, the same ones each time; each holds a mark that must not be seen outside of code."""
    chance = random.Random(20261202)
    pieces = [*PIECES, *_MORE]
    made = [CANARY.join(["", *chance.choices(pieces, k=chance.randint(1, 7)), str(number)]) for number in range(count)]
    return [name[: chance.randint(len(CANARY) + 1, len(name))] + chance.choice(pieces) for name in made]


NAMES = names(COUNT)


def metrics(some: Sequence[str]) -> tuple[Metric, ...]:
    """A metric of each name, with odd values and the next name as source."""
    return tuple(Metric(name=name, value=_VALUES[i % len(_VALUES)], source=some[i - 1]) for i, name in enumerate(some))


def told(some: Sequence[str]) -> Report:
    """A report in which the names stand wherever a name can stand."""
    return report(
        plan=None,
        findings=Findings(metrics=metrics(some), curve={some[0]: ((0.0, 1.0), (1.0, 2.0), (2.0, 1.5))}),
        base=dict.fromkeys(some[::2], 0.5),
        base_name=some[-1],
        base_curve={some[0]: ((0.0, 1.0), (2.0, 2.0))},
        key=some[-2],
    )


@pytest.mark.parametrize("part", range(10))
def test_a_summary_of_a_thousand_names(part: int) -> None:
    some = NAMES[part * COUNT // 10 : (part + 1) * COUNT // 10]
    text = summary(told(some))
    assert foreign_nodes(text, LINKS) == []
    assert text.count("\n|") >= len(some)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]", text), "nothing turns the reading direction"


def test_comments_of_these_names() -> None:
    for start in range(0, COUNT, 500):
        one = told(NAMES[start : start + 50])
        text = comment(one, marker(one.key))
        assert foreign_nodes(text, LINKS) == []
        assert len(text.encode("utf-16-le")) // 2 <= 60_000


def test_tables_of_legs_with_these_names() -> None:
    for start in range(0, COUNT, 1000):
        some = NAMES[start : start + 60]
        legs = [parse_report(as_json(told(some[n : n + 6]))) for n in range(0, 60, 6)]
        assert foreign_nodes(merge(legs, [(some[0], some[1])]), LINKS) == []


def test_each_name_can_be_read() -> None:
    """A name is told, not dropped: what is seen of it stands in the table."""
    text = summary(told(NAMES[:200]))
    for name in NAMES[:200]:
        seen = re.sub(r"[^\w]+", "", name.encode("utf-8", "replace").decode())[:12]
        assert seen in re.sub(r"[^\w]+", "", text), json.dumps(name)


def test_a_comment_of_the_longest_names_is_short_enough() -> None:
    long = [name + "😀" * 40_000 for name in NAMES[:60]]
    text = comment(told(long), marker(long[-2]))
    assert len(text.encode("utf-16-le")) // 2 <= 60_000
    assert foreign_nodes(text, LINKS) == []

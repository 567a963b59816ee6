"""The comment of each situation, as Markdown that people can read in review."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_train import __version__
from hf_train.flow.reporter import marker
from hf_train.report import comment
from unit.report.situations import SITUATIONS

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_comment_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    report = SITUATIONS[name]
    text = comment(report, marker(report.key)).replace(f"hf-train {__version__}", "hf-train VERSION")
    path = GOLDEN / f"{name}.md"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "run pytest --update-golden tests/unit/report, and read the new file"
    assert text == path.read_text(encoding="utf-8"), "run pytest --update-golden tests/unit/report, and read the diff"


def test_no_golden_comment_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.md")} == set(SITUATIONS)

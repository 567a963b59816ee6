"""The register of cases with the tests that hold each: `python scripts/cases.py [--check] [--missing]`.

Reads docs/cases.md and the marks `@pytest.mark.case(...)` in tests/, without running or importing a test.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_ROW = re.compile(r"^\| (\d+) \| (P[012]) \| (.+) \|$", re.MULTILINE)


class Case(NamedTuple):
    """A row of the register."""

    number: int
    priority: str
    words: str


def cases() -> list[Case]:
    """The register."""
    text = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
    return [Case(int(number), priority, words) for number, priority, words in _ROW.findall(text)]


def marks() -> dict[int, list[str]]:
    """Case number -> names of the tests that are marked with it."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        name = path.relative_to(ROOT / "tests").as_posix()
        for where, number in _numbers(tree, name):
            found.setdefault(number, []).append(where)
    return found


def _numbers(tree: ast.Module, name: str) -> Iterator[tuple[str, int]]:
    """(test, number) of every mark; one of the whole module (`pytestmark`) counts as the file's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((f"{name}::{node.name}", number) for number in _of(decorator))
        elif isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id == "pytestmark" for to in node.targets
        ):
            yield from ((name, number) for number in _of(node.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.param":
            inner = [number for word in node.keywords if word.arg == "marks" for number in _of(word.value)]
            yield from ((name, number) for number in inner)


def _of(node: ast.expr) -> list[int]:
    """Numbers of every `pytest.mark.case(...)` in an expression."""
    return [
        word.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.case"
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, int)
    ]


def problems(register: list[Case], held: dict[int, list[str]]) -> list[str]:
    """What is wrong with the register: a gap in it, a mark that it does not know, a P0 case without a test."""
    numbers = [case.number for case in register]
    wrong = [] if numbers == list(range(1, len(numbers) + 1)) else ["docs/cases.md: the numbers do not run from 1"]
    wrong += [f"{tests[0]}: there is no case {number}" for number, tests in held.items() if number not in numbers]
    wrong += [
        f"case {case.number} ({case.priority}) has no test: {case.words}"
        for case in register
        if case.priority == "P0" and case.number not in held
    ]
    return wrong


def main() -> int:
    """Print the register, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what is wrong; fails when something is")
    parser.add_argument("--missing", action="store_true", help="only the cases without a test")
    options = parser.parse_args()
    register, held = cases(), marks()
    wrong = problems(register, held)
    if not options.check:
        for case in register:
            tests = sorted(set(held.get(case.number, [])))
            if options.missing and tests:
                continue
            print(f"{case.number:3} {case.priority} {case.words}")
            for test in tests:
                print(f"         {test}")
        open_ones = [case for case in register if case.number not in held]
        by_rank = ", ".join(f"{sum(one.priority == rank for one in open_ones)} {rank}" for rank in ("P0", "P1", "P2"))
        print(f"\n{len(register)} cases, {len(register) - len(open_ones)} held by a test; without one: {by_rank}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""The register of cases: whole, known to the tests, and every P0 case held by one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from support.paths import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """scripts/cases.py."""
    spec = importlib.util.spec_from_file_location("cases", ROOT / "scripts" / "cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    return module


def test_the_register_is_whole_and_every_p0_case_has_a_test(script: ModuleType) -> None:
    register = script.cases()
    assert len(register) == 122
    assert script.problems(register, script.marks()) == []


def test_what_is_wrong_is_said(script: ModuleType) -> None:
    register = script.cases()
    held = {case.number: ["test_x.py::test_y"] for case in register}
    assert script.problems(register, held) == []
    assert script.problems(register, {**held, 500: ["test_x.py::test_y"]}) == [
        "test_x.py::test_y: there is no case 500"
    ]
    del held[1], held[10]
    assert [line[:18] for line in script.problems(register, held)] == ["case 1 (P0) has no"], "a P2 case may be open"
    assert script.problems(register[1:], held)[0] == "docs/cases.md: the numbers do not run from 1"


def test_every_open_p1_case_has_its_reason(script: ModuleType) -> None:
    model = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    held = script.marks()
    open_ones = [case.number for case in script.cases() if case.priority == "P1" and case.number not in held]
    assert [number for number in open_ones if f"| {number} |" not in model] == []

"""The published schema of report.json: one table in code, checked by a validator that is not ours."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hf_train.report import Frame, Report, as_json
from hf_train.report.schema import FIELDS, MAX_FAULTS, VERSION, faults, json_schema
from unit.makers import report
from unit.report.hostile import reports
from unit.report.situations import SITUATIONS
from unit.words import examples

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA: dict[str, Any] = json.loads(json_schema())
VALIDATOR = Draft202012Validator(SCHEMA)
WHOLE: dict[str, Any] = json.loads(as_json(SITUATIONS["gate-failed"]))


def valid(document: object) -> bool:
    """What the real validator says."""
    return bool(VALIDATOR.is_valid(document))


def test_the_published_schema_is_the_tables(request: pytest.FixtureRequest) -> None:
    path = DOCS / "report.schema.json"
    if request.config.getoption("--update-golden"):
        path.write_text(json_schema(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == json_schema(), "run pytest --update-golden tests/unit/report"


def test_the_page_names_each_key(request: pytest.FixtureRequest) -> None:
    path = DOCS / "report.md"
    rows = [f"| `{name}` | {says} |" for name, (_, says) in FIELDS.items()]
    table = "\n".join(["| key | what it is |", "|:--|:--|", *rows])
    head, _, rest = path.read_text(encoding="utf-8").partition("<!-- keys -->\n")
    _, _, tail = rest.partition("<!-- /keys -->")
    whole = f"{head}<!-- keys -->\n{table}\n<!-- /keys -->{tail}"
    if request.config.getoption("--update-golden"):
        path.write_text(whole, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == whole, "run pytest --update-golden tests/unit/report"


def test_it_is_a_schema_of_the_draft_that_it_names() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["properties"]["schema"]["const"] == VERSION == 1
    assert all(says.endswith(".") for _, says in FIELDS.values())


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_report_of_each_situation_is_valid(name: str) -> None:
    document = json.loads(as_json(SITUATIONS[name]))
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert faults(document) == []


@examples(30)
@given(reports())
def test_any_report_is_valid(one: Report) -> None:
    document = json.loads(as_json(one))
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert faults(document) == []


@pytest.mark.parametrize("key", FIELDS)
def test_a_missing_key_is_a_fault(key: str) -> None:
    document = {name: value for name, value in WHOLE.items() if name != key}
    assert not valid(document)
    assert faults(document) == [f"report has no {key}"]


def test_an_unknown_key_is_a_fault() -> None:
    document = {**WHOLE, "colour": 1}
    assert not valid(document)
    assert faults(document) == ["report has an unknown key 'colour'"]


def test_the_faults_of_a_report_are_few() -> None:
    document = {**WHOLE, **{f"colour-{i}": 1 for i in range(10_000)}}
    assert len(faults(document)) == MAX_FAULTS


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "pass", "x", "nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["line", "path", "x"]), inner),
    max_leaves=5,
)


@examples(150)
@given(st.sampled_from(sorted(FIELDS)), _JSON)
def test_our_checker_and_the_validator_agree(key: str, value: object) -> None:
    document = {**deepcopy(WHOLE), key: value}
    assert (faults(document) == []) == valid(document), (key, value)


@pytest.mark.parametrize("value", [None, [], "x", 1, float("nan")])
def test_what_is_no_report_is_a_fault(value: object) -> None:
    assert faults(value) != []


def test_a_number_that_is_none_is_a_fault() -> None:
    assert faults({**WHOLE, "cost-usd": float("inf")}) == ["report.cost-usd is no number or null"]


def test_the_report_says_where_the_traceback_left_the_repository() -> None:
    document = json.loads(as_json(report(frame=Frame(path="src/train.py", line=12))))
    assert document["cause-frame"] == {"path": "src/train.py", "line": 12}
    assert valid(document)

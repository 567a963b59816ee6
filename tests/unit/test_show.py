"""The plan on the screen and as JSON."""

from __future__ import annotations

import json

from hf_train.show import plan_json, rows, show_plan
from support.fakes import RecordingConsole
from unit.makers import plan


def test_the_rows_of_a_plan() -> None:
    made = plan(env="LR=1", secrets="A_KEY", volumes="hf://datasets/a/b:/in")
    table = dict(rows(made))
    assert table["flavor"] == "t4-small (1x T4 (16 GB), 15 GB, $0.0067 a minute)"
    assert table["worst case"] == "$0.30"
    assert table["env"] == "PYTHONUNBUFFERED, LR", "names only"
    assert table["secrets"] == "A_KEY"
    assert table["code"] == "12 files, 0.03 MB"
    assert [value for name, value in rows(made) if name == "volume"][1] == "hf://datasets/a/b:/in"


def test_a_plan_without_price_and_code() -> None:
    table = dict(rows(plan(flavor="mystery")))
    assert table["worst case"] == "price not known"
    assert table["flavor"] == "mystery (? vCPU, ? GB)"


def test_the_plan_is_a_group_and_its_notes_stand_outside() -> None:
    console = RecordingConsole(secrets=("hf_local_abc",))
    show_plan(plan(secrets="HF_TOKEN", env="A=hf_local_abc"), console)
    assert console.said[0] == "[Plan"
    assert console.said[-1] == "]"
    assert any(line.startswith("hf jobs run ") for line in console.said)
    assert not any("hf_local_abc" in line for line in console.said)
    assert [kind for kind, _, _ in console.annotations] == ["notice"]


def test_the_plan_as_json_is_the_spec() -> None:
    made = plan(env="LR=1", attempts="2")
    document = json.loads(plan_json(made), parse_constant=lambda word: word * 0)
    assert document["command"] == list(made.job.command)
    assert document["env"] == {"PYTHONUNBUFFERED": "1", "LR": "1"}
    assert document["labels"]["hft-key"] == document["key"] == made.key
    assert document["snapshot"] == "5" * 64
    assert document["attempts"] == 2
    assert document["hf-jobs-run"] == made.equal_line

"""`[tool.hf-jobs]` in a script: shown, and obeyed only where that cannot cost more."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.header import adopt, table_of
from hf_train.inputs import Inputs
from unit.words import examples, from_flags

HOSTILE = """\
image = "evil/miner:latest"
namespace = "victim"
volumes = [".:/leak", "hf://buckets/victim/private:/data"]
secrets = ["GITHUB_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "AWS_SECRET_ACCESS_KEY"]
env = { LD_PRELOAD = "./evil.so" }
labels = { hf-train = "1" }
network_group = "x"
"""


def _script(table: str) -> str:
    body = "".join(f"# {line}\n" for line in f'dependencies = ["torch"]\n[tool.hf-jobs]\n{table}'.splitlines())
    return f"#!/usr/bin/env python\n# /// script\n{body}# ///\nprint(1)\n"


def _inputs(**flags: str) -> Inputs:
    return dataclasses.replace(from_flags(**flags), script="train.py")


@pytest.mark.case(21, 35)
@pytest.mark.parametrize("on_github", [True, False])
def test_nothing_but_flavor_and_timeout_is_ever_taken(on_github: bool) -> None:
    inputs = _inputs(max_cost="5")
    found = adopt(inputs, _script(HOSTILE), on_github=on_github)
    assert found.inputs == inputs
    assert found.problems == ()
    (note,) = found.notes
    for key in ("image", "namespace", "volumes", "secrets", "env", "labels", "network_group"):
        assert key in note


ASKS = _script('flavor = "h200x8"\ntimeout = "24h"')


@pytest.mark.case(21, 22)
def test_on_a_runner_flavor_and_timeout_count_below_a_cap_only() -> None:
    inputs = _inputs()
    found = adopt(inputs, ASKS, on_github=True)
    assert found.inputs == inputs
    assert ["below a max-cost only" in note for note in found.notes] == [True, True]
    capped = adopt(_inputs(max_cost="5"), ASKS, on_github=True)
    assert (capped.inputs.flavor, capped.inputs.timeout) == ("h200x8", 86400)
    here = adopt(inputs, ASKS, on_github=False)
    assert (here.inputs.flavor, here.inputs.timeout) == ("h200x8", 86400)
    assert ["and gets it" in note for note in here.notes] == [True, True]


@pytest.mark.case(21)
def test_what_an_input_sets_stands() -> None:
    inputs = _inputs(max_cost="5", flavor="t4-small", timeout="1h")
    found = adopt(inputs, ASKS, on_github=True)
    assert found.inputs == inputs
    assert ["stands" in note for note in found.notes] == [True, True]


@pytest.mark.parametrize("timeout", ['"90m"', "5400"])
def test_a_timeout_as_the_real_client_takes_it(timeout: str) -> None:
    assert adopt(_inputs(), _script(f"timeout = {timeout}"), on_github=False).inputs.timeout == 5400


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('flavor = "-x; id"', "flavor in its header"),
        ('timeout = "soon"', "timeout in its header"),
        ("timeout = true", "timeout in its header"),
        ("flavor = ", "not TOML"),
    ],
)
def test_a_broken_header_is_told_before_anything_is_spent(table: str, says: str) -> None:
    (problem,) = adopt(_inputs(max_cost="5"), _script(table), on_github=True).problems
    assert problem.startswith("script: train.py: ")
    assert says in problem


def test_no_table_is_a_fault_when_it_is_something_else() -> None:
    text = "# /// script\n# [tool]\n# hf-jobs = 3\n# ///\n"
    assert adopt(_inputs(), text, on_github=True).problems == (
        "script: train.py: [tool.hf-jobs] in its header is no table",
    )


@pytest.mark.parametrize(
    "text", ["", "print(1)", "# /// script\n# dependencies = []\n# ///\n", "# /// other\n# x\n# ///\n"]
)
def test_a_script_without_such_a_header(text: str) -> None:
    inputs = _inputs()
    assert adopt(inputs, text, on_github=True).notes == ()
    assert adopt(inputs, text, on_github=True).inputs is inputs


def test_line_ends_of_windows() -> None:
    assert table_of(ASKS.replace("\n", "\r\n")) == {"flavor": "h200x8", "timeout": "24h"}


@examples(100)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_read(before: str, table: str) -> None:
    for text in (before, before + _script(table)):
        adopt(_inputs(), text, on_github=True)

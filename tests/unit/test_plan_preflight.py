"""The preflight's pure checks: tokens, the command, repos, the disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.errors import BadInput, ExitCode
from hf_train.hub.access import account_of
from hf_train.inputs import Inputs, Layers, parse
from hf_train.plan import Plan, make_plan
from hf_train.ports import Account, RepoFact
from hf_train.preflight import (
    Finding,
    Known,
    NotReady,
    command_findings,
    job_token,
    launch_token,
    loaded,
    may,
    of_error,
    refusal,
    repo_findings,
    source_findings,
    target,
)
from hf_train.preflight.sources import pushes
from unit.makers import FACTS, FLAVORS, ON_GITHUB

WRITE = Account(name="alice", orgs=("acme",), role="write")


def _fine(**scopes: str) -> Account:
    """A fine-grained token as whoami-v2 of the Hub tells it."""
    scoped = [
        {"entity": {"_id": "0", "type": "user", "name": name.replace("__", "/")}, "permissions": words.split()}
        for name, words in scopes.items()
    ]
    token = {"displayName": "ci", "role": "fineGrained", "fineGrained": {"global": [], "scoped": scoped}}
    return account_of({"name": "alice", "orgs": [{"name": "acme"}], "auth": {"accessToken": token}})


# ---- what a token may do ----


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("account", "namespace", "says"),
    [
        (WRITE, "alice", ["advice"]),
        (WRITE, "acme", ["advice"]),
        (WRITE, "other", ["error"]),
        (replace(WRITE, role="read"), "alice", ["error"]),
        (_fine(alice="job.write repo.write"), "alice", []),
        (_fine(acme="job.write repo.write"), "acme", []),
        (_fine(alice="repo.write"), "alice", ["error"]),
        (_fine(alice="job.write"), "alice", ["warning"]),
        (_fine(alice="job.write repo.write"), "acme", ["error", "warning"]),
        (_fine(), "alice", ["error", "warning"]),
        (Account(name="alice", role="fineGrained"), "alice", []),
        (Account(name="alice", role="god"), "alice", []),
        (Account(name="alice"), "elsewhere", []),
        (None, "alice", []),
    ],
    ids=str,
)
def test_the_token_that_launches(account: Account | None, namespace: str, says: list[str]) -> None:
    found = launch_token(account, namespace)
    assert [one.level for one in found] == says
    assert all(one.code is ExitCode.REFUSED for one in found if one.level == "error")


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("account", "exists", "error"),
    [
        (WRITE, True, ""),
        (WRITE, False, ""),
        (replace(WRITE, name="bob", orgs=()), True, "may not write to acme/m"),
        (replace(WRITE, role="read"), True, "may not write to acme/m"),
        (_fine(acme__m="repo.write"), True, ""),
        (_fine(acme__m="repo.write"), False, "may not create it"),
        (_fine(acme="repo.write"), False, ""),
        (_fine(acme__m="repo.content.read"), True, "may not write to acme/m"),
        (_fine(acme__other="repo.write"), True, "may not write to acme/m"),
        (Account(name="alice", role="fineGrained"), False, ""),
        (None, False, ""),
    ],
    ids=str,
)
def test_the_token_of_the_job(account: Account | None, exists: bool, error: str) -> None:
    found = job_token(Known(target="acme/m", fact=RepoFact(exists=exists), job_account=account), "job-token")
    assert [error in one.what for one in found] == ([True] if error else [])


def test_a_token_of_the_job_that_the_hub_does_not_know() -> None:
    (found,) = job_token(Known(target="acme/m", job_refused="The Hub answered 401 for whoami."), "secrets")
    assert (found.level, found.field, found.code) == ("error", "secrets", ExitCode.REFUSED)


@pytest.mark.parametrize(
    "fine",
    [None, 1, [], {}, {"scoped": None}, {"scoped": [1]}, {"scoped": [{"entity": 1, "permissions": []}]}],
    ids=str,
)
def test_scopes_of_another_form_are_not_known(fine: object) -> None:
    account = account_of({"name": "a", "auth": {"accessToken": {"role": "fineGrained", "fineGrained": fine}}})
    assert account.scopes is None
    assert may(account, "job.write", "a") is None


@given(st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)))
def test_no_answer_of_whoami_breaks_the_reader(body: Any) -> None:
    account_of(body if isinstance(body, dict) else {"auth": body})


# ---- the command ----


def _plan(config: str | None = None, **flags: Any) -> tuple[Plan, Inputs]:
    inputs = parse(Layers(flags={name.replace("_", "-"): value for name, value in flags.items()}))
    return make_plan(inputs, ON_GITHUB, FACTS, config_text=config), inputs


def _titles(config: str | None = None, **flags: Any) -> list[tuple[str, str]]:
    return [(one.level, one.title) for one in command_findings(*_plan(config, **flags))]


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ({"command": "python t.py --push_to_hub"}, "error"),
        ({"command": "python t.py --push_to_hub True"}, "error"),
        ({"command": "python t.py --push-to-hub=yes"}, "error"),
        ({"script": "t.py", "args": "--hub_model_id a/b"}, "error"),
        ({"command": "python t.py", "config": "push_to_hub: true"}, "error"),
        ({"command": "python t.py --push_to_hub", "secrets": "MY_HUB_KEY"}, "warning"),
        ({"command": "python t.py", "model_repo": "a/b"}, "warning"),
        ({"command": "python t.py --push_to_hub", "job_token": "hf_local_a"}, ""),
        ({"command": "python t.py --push_to_hub", "secrets": "HF_TOKEN"}, ""),
        ({"command": "python t.py --push_to_hub False"}, ""),
        ({"command": "python t.py", "config": "push_to_hub: false"}, ""),
        ({"command": "python t.py", "config": "{{ not: [yaml"}, ""),
        ({"command": "python t.py", "model_repo": "a/b", "require_model": "false"}, ""),
        ({"command": "t.py", "model_repo": "a/b", "publish": "/o", "volumes": "hf://buckets/a/b:/o"}, ""),
        ({"command": "python t.py"}, ""),
    ],
)
def test_a_push_needs_a_token(flags: dict[str, Any], level: str) -> None:
    config = flags.pop("config", None)
    assert _titles(config, **flags) == ([(level, "No token in the Job")] if level else [])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"script": "t.py", "image": "huggingface/trl:1.5.0"}, True),
        ({"command": "uv run t.py", "image": "huggingface/trl:1.5.0"}, True),
        ({"command": "uv run --python /opt/venv/bin/python t.py", "image": "huggingface/trl:1.5.0"}, False),
        ({"script": "t.py", "image": "ghcr.io/astral-sh/uv:0.12.5-python3.12-trixie"}, False),
        ({"script": "t.py"}, False),
        ({"command": "python t.py", "image": "huggingface/trl:1.5.0"}, False),
    ],
)
def test_uv_does_not_see_the_packages_of_an_image(flags: dict[str, Any], said: bool) -> None:
    assert _titles(**flags) == ([("warning", "Two interpreters")] if said else [])


# ---- what is loaded, and where it is pushed ----


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("t.py --model_name_or_path org/m", (("model", "org/m"),)),
        ("t.py --model-name-or-path=org/m --dataset_name org/d", (("model", "org/m"), ("dataset", "org/d"))),
        ("t.py --dataset org/d --hub_model_id me/out --output_dir out/model", (("dataset", "org/d"),)),
        ("t.py hf://datasets/org/d/train.csv hf://org/m", (("dataset", "org/d"), ("model", "org/m"))),
        ("t.py --model_name_or_path bert-base-uncased --lr 1e-3", ()),
        ("t.py --model_name_or_path --fp16", ()),
        ("t.py --teacher_model org/t --push_to_hub_model_id me/o", (("model", "org/t"),)),
    ],
)
def test_repos_that_a_command_names(line: str, found: tuple[tuple[str, str], ...]) -> None:
    assert loaded(line.split(), None) == found


def test_repos_that_a_configuration_names() -> None:
    config = "base_model: org/m\ndatasets:\n  - path: org/d\n    type: alpaca\nhub_model_id: me/out\noutput_dir: a/b\n"
    assert loaded([], config) == (("model", "org/m"), ("dataset", "org/d"))
    assert target([], config) == "me/out"
    assert target(["--hub_model_id", "me/first"], config) == "me/first"
    assert target(["--hub_model_id", "no-owner"], None) == ""


@given(st.lists(st.text(max_size=30), max_size=8), st.none() | st.text(max_size=200))
def test_no_command_and_no_configuration_breaks_the_reader(words: list[str], config: str | None) -> None:
    assert len(loaded(words, config)) <= 6
    target(words, config)
    pushes(words, config)


def _sources(*facts: tuple[str, str, RepoFact], disk_gb: float | None = 110.0) -> list[Finding]:
    made, _ = _plan(command="python t.py", flavor="t4-small")
    flavor = replace(FLAVORS[1], disk_gb=disk_gb)
    made = replace(made, budget=replace(made.budget, flavor=flavor))
    return source_findings(made, Known(sources=tuple(((kind, repo), fact) for kind, repo, fact in facts)))


def test_what_does_not_fit_on_the_disk() -> None:
    model = ("model", "org/big", RepoFact(exists=True, size=60_000_000_000))
    data = ("dataset", "org/d", RepoFact(exists=True, size=20_000_000_000))
    (found,) = _sources(model, data)
    assert (found.level, found.field) == ("warning", "flavor")
    assert found.what == "org/big, org/d take about 100 GB; the disk of t4-small has 110 GB."
    assert _sources(model) == []
    assert _sources(model, data, disk_gb=None) == [], "the Hub does not say how large the disk is"
    assert _sources(("model", "org/m", RepoFact(exists=True, size=None))) == []


def test_what_the_job_cannot_read() -> None:
    (found,) = _sources(("model", "meta/gated", RepoFact(exists=True, closed=True)))
    assert "is gated" in found.what
    (found,) = _sources(("dataset", "org/typo", RepoFact(exists=False)))
    assert (found.level, "not there" in found.what) == ("warning", True)


def test_a_public_model_of_a_private_repository() -> None:
    known = Known(target="a/m", fact=RepoFact(exists=True, private=False))
    assert [one.level for one in repo_findings(known, public=False)] == ["warning"]
    assert repo_findings(known, public=True) == repo_findings(known, public=None) == []
    assert repo_findings(Known(target="a/m", fact=RepoFact(exists=False)), public=False) == []


# ---- all of it in one error ----


def test_one_finding_speaks_for_itself_and_several_are_told_at_once() -> None:
    one = Finding(level="error", title="T", what="w.", why="y.", fix="f.", field="flavor")
    other = replace(one, title="U", what="v.", code=ExitCode.REFUSED, field="hf-token")
    single = refusal([one, replace(one, level="warning")])
    assert isinstance(single, NotReady)
    assert (single.title, single.message, single.exit_code) == ("T", "flavor: w. y.", ExitCode.BAD_INPUT)
    assert single.hint == "f. Nothing was sent to the Hub and nothing was spent."
    both = refusal([one, other])
    assert isinstance(both, NotReady)
    assert both.message.splitlines() == ["flavor: w. y. f.", "hf-token: v. y. f."]
    assert both.exit_code is ExitCode.BAD_INPUT
    assert getattr(refusal([other, other]), "exit_code", None) is ExitCode.REFUSED
    assert refusal([replace(one, level="warning")]) is None


def test_an_error_of_another_room_stays_what_it_was_when_it_is_alone() -> None:
    error = BadInput(["image: no"])
    assert refusal([of_error(error, "image")]) is error
    assert isinstance(refusal([of_error(error, "image"), of_error(error, "")]), NotReady)

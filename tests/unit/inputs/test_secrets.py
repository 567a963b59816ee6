"""Secrets by name: from the step's environment, byte for byte, and never in clear."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.errors import BadInput
from hf_train.inputs import Inputs, resolve_secrets, weak_secrets
from hf_train.values import Secret
from unit.words import from_flags

NAMED = from_flags(secrets="WANDB_API_KEY")


def _problems(inputs: Inputs, environ: dict[str, str], *words: str) -> tuple[str, ...]:
    with pytest.raises(BadInput) as caught:
        resolve_secrets(inputs, environ, words)
    assert all(value not in str(caught.value) for value in environ.values() if value.strip())
    return caught.value.problems


@given(st.text(min_size=1).filter(lambda text: not text.strip().startswith("ghs_")))
def test_a_value_is_taken_byte_for_byte(value: str) -> None:
    resolved = resolve_secrets(NAMED, {"WANDB_API_KEY": value, "OTHER": "x"}, ())
    assert {name: secret.reveal() for name, secret in resolved.items()} == {"WANDB_API_KEY": value}


@pytest.mark.parametrize("environ", [{}, {"WANDB_API_KEY": ""}])
def test_a_name_without_a_value_is_refused_with_the_line_to_add(environ: dict[str, str]) -> None:
    (problem,) = _problems(NAMED, environ)
    assert problem == (
        "secrets: WANDB_API_KEY has no value in this step's environment; "
        "add `env: { WANDB_API_KEY: ${{ secrets.WANDB_API_KEY }} }` to the step"
    )


@pytest.mark.case(28)
def test_every_missing_name_is_named() -> None:
    assert len(_problems(from_flags(secrets="A_ONE\nB_TWO"), {})) == 2


@pytest.mark.case(27)
@pytest.mark.parametrize("value", ["ghs_local0123456789", " ghs_local0123456789\n"])
def test_the_workflows_own_token_stays_on_the_runner(value: str) -> None:
    (problem,) = _problems(NAMED, {"WANDB_API_KEY": value})
    assert "GitHub token" in problem


@pytest.mark.case(27)
def test_the_token_that_comments_stays_on_the_runner() -> None:
    inputs = dataclasses.replace(NAMED, github_token=Secret("github_pat_local0123"))
    (problem,) = _problems(inputs, {"WANDB_API_KEY": "github_pat_local0123"})
    assert "GitHub token" in problem


@pytest.mark.case(27)
def test_the_workflows_own_token_is_no_job_token() -> None:
    (problem,) = _problems(from_flags(job_token="ghs_local0123456789"), {})
    assert problem.startswith("job-token: ")


@pytest.mark.case(20)
def test_the_job_token_is_the_jobs_hf_token() -> None:
    resolved = resolve_secrets(from_flags(job_token="hf_local_job"), {"HF_TOKEN": "hf_local_launch"}, ())
    assert resolved == {"HF_TOKEN": Secret("hf_local_job")}


@pytest.mark.case(20)
def test_the_launch_token_is_not_in_the_job_unless_named() -> None:
    assert resolve_secrets(from_flags(hf_token="hf_local_launch"), {"HF_TOKEN": "hf_local_launch"}, ()) == {}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("s3cr3t-value", ("python", "t.py", "--key", "s3cr3t-value")),
        ("s3cr3t-value", ("python", "--key=s3cr3t-value!")),
        ("s3cr3t-value\n", ("python", "s3cr3t-value")),
        ("pass phrase one", ("python", "pass", "phrase", "one")),
    ],
)
def test_a_value_in_clear_is_refused_and_not_repeated(value: str, words: tuple[str, ...]) -> None:
    (problem,) = _problems(NAMED, {"WANDB_API_KEY": value}, *words)
    assert "in clear" in problem


def test_the_launch_token_in_clear_is_refused() -> None:
    (problem,) = _problems(from_flags(hf_token="hf_local_launch"), {}, "python", "--token=hf_local_launch")
    assert "in clear" in problem


def test_a_short_value_is_not_searched_for() -> None:
    assert resolve_secrets(NAMED, {"WANDB_API_KEY": "1"}, ("python", "1")) == {"WANDB_API_KEY": Secret("1")}


def test_a_secret_does_not_print_itself() -> None:
    secret = Secret("hf_local_abc")
    assert [str(secret), repr(secret), f"{secret}", f"{[secret]}"] == ["***", "***", "***", "[***]"]
    assert secret == Secret("hf_local_abc")
    assert secret != Secret("hf_local_abd")
    assert secret != "hf_local_abc"
    assert len({secret, Secret("hf_local_abc")}) == 1
    assert not Secret("")


@pytest.mark.case(6)
def test_a_secret_that_masking_makes_a_trap_is_told_without_its_value() -> None:
    inputs = from_flags(secrets="SHORT\nOWNER\nKEY\nUNSET")
    environ = {"SHORT": "abc", "OWNER": "alice-corp", "KEY": "s3cr3t-value"}
    told = weak_secrets(inputs, environ, {"model-repo": "alice-corp/model", "namespace": ""})
    assert [line.split()[0] for line in told] == ["SHORT", "OWNER"]
    assert "model-repo" in told[1]
    assert not [value for value in environ.values() for line in told if value in line]

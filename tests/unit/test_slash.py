"""The `/train` grammar: what is a command, what it may set, and that nothing else slips through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.inputs.fields import BY_NAME
from hf_train.slash import KEYS, TrainCommand, parse_command

SHA = "a1" * 20


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("/train", TrainCommand(values={})),
        ("/train\r\nplease, with thanks", TrainCommand(values={})),
        ("/train flavor=a10g-small timeout=2h", TrainCommand(values={"flavor": "a10g-small", "timeout": "2h"})),
        ("/train args='--lr 1e-4 --seed 3'", TrainCommand(values={"args": "--lr 1e-4 --seed 3"})),
        (f"/train sha={SHA}", TrainCommand(sha=SHA, values={})),
        ("/train gate='eval_loss <= baseline'", TrainCommand(values={"gate": "eval_loss <= baseline"})),
        ("/train args=$(reboot)", TrainCommand(values={"args": "$(reboot)"})),  # words, never a shell
    ],
)
def test_commands(body: str, expected: TrainCommand) -> None:
    assert parse_command(body) == expected


@pytest.mark.parametrize(
    "body", ["", "train", " /train", "/trainer", "/train-now", "> /train flavor=h200", "see\n/train", "`/train`"]
)
def test_other_comments_are_not_commands(body: str) -> None:
    assert parse_command(body) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("/train flavour=a10g-small", "did you mean flavor?"),
        ("/train hf-token=hf_localX", "may not set 'hf-token'"),
        ("/train namespace=acme", "may not set 'namespace'"),
        ("/train image=evil/image", "may not set 'image'"),
        ("/train secrets=AWS_KEY", "may not set 'secrets'"),
        ("/train max-cost=9999", "may not set 'max-cost'"),
        ("/train lr=1e-4", "may not set 'lr'"),
        ("/train now", "'now' is not key=value"),
        ("/train flavor=", "'flavor=' is not key=value"),
        ("/train flavor=a flavor=b", "flavor is given twice"),
        ("/train sha=a1b2c3d", "all 40 hex digits"),
        ("/train args='open", "No closing quotation"),
        ("/train args=\x1b[2J", "printable"),
        ("/train args=" + "x" * 1000, "at most 1000"),
        ("/train now flavour=a", "now.*flavor"),
    ],
)
def test_bad_commands_say_what_is_wrong(body: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_command(body)


def test_further_keys_become_arguments_of_the_script() -> None:
    extra = ("lr", "warmup_steps")
    command = parse_command("/train lr=1e-4 args='--seed 3' warmup_steps='1 0'", extra)
    assert command == TrainCommand(values={"args": "--seed 3"}, words=("--lr=1e-4", "--warmup_steps=1 0"))
    assert parse_command("/train lr=-1;reboot", extra) == TrainCommand(values={}, words=("--lr=-1;reboot",))
    with pytest.raises(ValueError, match=r"may not set 'warmup'.*did you mean warmup_steps"):
        parse_command("/train warmup=3", extra)


def test_the_keys_are_inputs_and_none_of_them_spends_without_a_limit_or_speaks_for_somebody() -> None:
    assert set(KEYS) <= set(BY_NAME)
    assert all(BY_NAME[key].from_file for key in KEYS), "what a file of the pull request may not set, a comment may not"


@given(st.text())
def test_any_comment_is_read_or_refused(text: str) -> None:
    for body in (text, f"/train {text}"):
        try:
            command = parse_command(body)
        except ValueError:
            continue
        assert command is None or set(command.values) <= set(KEYS)

"""The only handler of errors: whatever went wrong, its words command nobody and show no secret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hf_train.commands.around import guarded
from hf_train.errors import BadInput, ExitCode
from support.runner_oracle import Runner

SAID = "hf_local_launch1\n::add-mask::e\n  ##[error]x\rwandb-key-0123 hf_local_named1\x1b[2J"


def _fails(error: Exception) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.case(1, 3, 7)
@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError(SAID), ExitCode.BUG), (BadInput([SAID]), ExitCode.BAD_INPUT)], ids=["bug", "user"]
)
def test_an_error_commands_nobody_and_shows_no_secret(
    error: Exception, code: ExitCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("HF_TRAIN_HF_TOKEN", "hf_local_launch1")
    monkeypatch.setenv("HF_TRAIN_SECRETS", "WANDB_API_KEY\nOTHER_KEY")
    monkeypatch.setenv("WANDB_API_KEY", "wandb-key-0123")
    monkeypatch.setenv("OTHER_KEY", "hf_local_named1")
    assert guarded(_fails(error), ()) == code
    said = capsys.readouterr()
    assert said.err == ""
    assert [one.name for one in Runner().read(said.out).obeyed] == ["error"]
    for secret in ("hf_local_launch1", "wandb-key-0123", "hf_local_named1"):
        assert secret not in said.out

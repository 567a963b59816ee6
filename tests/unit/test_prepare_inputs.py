"""Bad input that only the workspace shows: one message, and no question to the Hub."""

from __future__ import annotations

from typing import NoReturn

import pytest

from hf_train.context import Context
from hf_train.errors import BadInput, RefusedByHub
from hf_train.flow.prepare import Request, prepare
from hf_train.inputs import Layers, parse
from hf_train.preflight import NotReady
from support.fakes import World


class _SilentHub:
    """Every question to it is a failure of the test."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"the Hub was asked for {name}")


def _problems(world: World, environ: dict[str, str] | None = None, **flags: str) -> tuple[str, ...]:
    inputs = parse(Layers(flags={name.replace("_", "-"): value for name, value in flags.items()}))
    request = Request(inputs=inputs, context=Context(), environ=environ or {}, nonce="n")
    world.hub = _SilentHub()  # type: ignore[assignment]
    with pytest.raises(BadInput) as caught:
        prepare(request, world.ports)
    assert world.workspace.uploads == []
    return caught.value.problems


def test_a_missing_script() -> None:
    assert _problems(World(), script="absent.py") == ("script: there is no file 'absent.py' in '.'",)


def test_a_script_that_climbs_out_of_the_folder() -> None:
    world = World()
    world.workspace.folders.add("sub")
    assert _problems(world, script="other.py", path="sub") == ("script: there is no file 'other.py' in 'sub'",)


def test_a_missing_config() -> None:
    assert _problems(World(), script="train.py", config="c.yml") == ("config: there is no file 'c.yml' in '.'",)


def test_a_missing_folder() -> None:
    assert _problems(World(), command="x", path="absent") == ("path: there is no folder 'absent'",)


def test_a_missing_volume_folder() -> None:
    (problem,) = _problems(World(), command="x", volumes="./absent:/data")
    assert problem == "volumes: there is no folder './absent' (a Hub source starts with hf://)"


def test_a_secret_that_is_named_but_absent() -> None:
    (problem,) = _problems(World(), command="x", secrets="WANDB_API_KEY")
    assert "WANDB_API_KEY has no value" in problem


def test_a_secret_in_clear() -> None:
    environ = {"WANDB_API_KEY": "s3cr3t-value"}
    for flags in ({"command": "x --key s3cr3t-value"}, {"command": "x", "env": "A=s3cr3t-value"}):
        (problem,) = _problems(World(), environ, secrets="WANDB_API_KEY", **flags)
        assert "in clear" in problem
        assert "s3cr3t-value" not in problem


def test_all_of_them_in_one_message() -> None:
    found = _problems(World(), script="absent.py", config="c.yml", volumes="./a:/a\n./b:/b", secrets="A_ONE\nB_TWO")
    assert len(found) == 6


def test_a_folder_that_cannot_be_sent() -> None:
    world = World()
    world.workspace.problem = "path: .env looks like a credential file and is never sent; remove it or exclude it"
    assert _problems(world, command="x") == (world.workspace.problem,)


def test_a_flavor_that_the_hub_does_not_have() -> None:
    world = World()
    inputs = parse(Layers(flags={"command": "x", "flavor": "h900"}))
    with pytest.raises(NotReady, match="no 'h900'; it has cpu-basic"):
        prepare(Request(inputs=inputs, context=Context(), environ={}, nonce="n"), world.ports)
    assert world.hub.submitted == []


def test_offline_a_missing_secret_is_no_obstacle() -> None:
    world = World()

    def refuse() -> NoReturn:
        raise RefusedByHub("Token not accepted", "The Hub answered 401.")

    world.hub.whoami = refuse  # type: ignore[method-assign]
    inputs = parse(Layers(flags={"command": "x", "secrets": "WANDB_API_KEY"}))
    made = prepare(Request(inputs=inputs, context=Context(), environ={}, nonce="n"), world.ports, offline=True)
    assert made.plan.job.namespace == "YOUR-NAMESPACE"
    assert made.secrets == {}

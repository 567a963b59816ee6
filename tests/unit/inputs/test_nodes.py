"""`nodes`: which commands can be put behind torchrun, and what stands against it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.inputs import Layers, parse, read
from hf_train.inputs.nodes import spread

RUN = "python -m torch.distributed.run"


@pytest.mark.parametrize(
    ("command", "behind"),
    [
        ("python train.py --lr 1", f"{RUN} train.py --lr 1"),
        ("python -u -X faulthandler train.py", ""),
        ("python -u train.py -c x", "python -u -m torch.distributed.run train.py -c x"),
        ("python -Werror -m pkg.train -m x", "python -Werror -m torch.distributed.run -m pkg.train -m x"),
        ("/opt/venv/bin/python3.12 train.py", "/opt/venv/bin/python3.12 -m torch.distributed.run train.py"),
        ("uv run python train.py", f"uv run {RUN} train.py"),
        ("uv run --with torch==2.13 -p 3.12 python train.py", f"uv run --with torch==2.13 -p 3.12 {RUN} train.py"),
        ("uv run --with=torch -- python train.py", f"uv run --with=torch -- {RUN} train.py"),
        ("uv run train.py --lr 1", f"uv run --with-requirements train.py {RUN} train.py --lr 1"),
        ("torchrun train.py", "torchrun train.py"),
        ("python -m torch.distributed.run train.py", "python -m torch.distributed.run train.py"),
        ("sh -ec 'pip install . && torchrun train.py'", "sh -ec 'pip install . && torchrun train.py'"),
        ("sh -ec 'accelerate launch --machine_rank $PET_NODE_RANK t.py'", None),
        ("axolotl train c.yml --launcher torchrun", "axolotl train c.yml --launcher torchrun"),
        ("accelerate launch train.py", ""),
        ("sh -ec 'python train.py'", ""),
        ("python -c 'print(1)'", ""),
        ("python", ""),
        ("uv run", ""),
        ("make train", ""),
        ("", ""),
    ],
)
def test_behind_torchrun(command: str, behind: str | None) -> None:
    words = tuple(shlex.split(command))
    if behind == "":
        with pytest.raises(ValueError, match="cannot be put behind torchrun"):
            spread(words)
    else:
        assert spread(words) == (words if behind is None else tuple(shlex.split(behind)))


@pytest.mark.parametrize("command", ["torchrun --standalone t.py", "sh -ec 'torchrun --standalone t.py'"])
def test_a_node_by_itself_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match="--standalone"):
        spread(tuple(shlex.split(command)))


@given(st.lists(st.text(max_size=12), max_size=6), st.sampled_from([(), ("uv", "run"), ("python",), ("sh", "-c")]))
def test_no_command_is_too_odd(words: list[str], before: tuple[str, ...]) -> None:
    given_words = (*before, *words)
    try:
        behind = spread(given_words)
    except ValueError:
        return
    assert set(given_words) <= set(behind)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"nodes": "0"}, "nodes: '0' is not a whole number from 1 to 16"),
        ({"nodes": "17"}, "from 1 to 16"),
        ({"nodes": "two"}, "from 1 to 16"),
        ({"attempts": "2"}, "attempts and nodes"),
        ({"env": "PET_NNODES=3"}, "env: PET_NNODES is what nodes sets"),
        ({"command": "make train"}, "nodes: 'make train' cannot be put behind torchrun"),
        ({"command": "sh -c 'cd x; python t.py'"}, "write torchrun into it"),
    ],
)
def test_what_stands_against_it(flags: dict[str, str], words: str) -> None:
    _, problems = read(Layers(flags={"command": "python train.py", "nodes": "2", **flags}))
    assert len(problems) == 1
    assert words in problems[0]


def test_a_recipe_that_starts_its_own_processes() -> None:
    flags = {"recipe": "axolotl", "config": "c.yml", "nodes": "2"}
    _, problems = read(Layers(flags=flags))
    assert len(problems) == 1
    assert "--launcher torchrun" in problems[0]
    assert parse(Layers(flags={**flags, "args": "--launcher torchrun"})).nodes == 2


def test_one_is_the_default_and_asks_nothing() -> None:
    assert parse(Layers(flags={"command": "make train"})).nodes == 1
    assert parse(Layers(flags={"command": "make train", "nodes": "1", "attempts": "3"})).nodes == 1
    assert parse(Layers(flags={"script": "train.py", "nodes": "2"})).nodes == 2

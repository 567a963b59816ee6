"""GPUs that are paid for and not used, as far as the command shows it, and the line that would use them all."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.inputs import Layers, parse
from hf_train.inputs.model import Raw
from hf_train.plan import make_plan
from hf_train.preflight import command_findings
from hf_train.preflight.gpus import use_of
from unit.makers import FACTS, ON_GITHUB

ACCELERATE = "accelerate launch --num_processes 4"
TORCHRUN = "torchrun --nproc_per_node 4"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python t.py", f"{ACCELERATE} t.py"),
        ("python3.12 -u -X dev t.py --lr 2e-5 --name 'a b'", f"{ACCELERATE} t.py --lr 2e-5 --name 'a b'"),
        ("/opt/venv/bin/python train.py", f"{ACCELERATE} train.py"),
        ("python -m pkg.train --lr 1", f"{ACCELERATE} -m pkg.train --lr 1"),
        ("env TOKENIZERS_PARALLELISM=false python t.py", f"env TOKENIZERS_PARALLELISM=false {ACCELERATE} t.py"),
        ("uv run python t.py", f"uv run {ACCELERATE} t.py"),
        ("uv run -m pkg.train", f"uv run {ACCELERATE} -m pkg.train"),
        ("uv run --with peft t.py -x", f"uv run --with peft --with-requirements t.py {ACCELERATE} t.py -x"),
        ("uv run --script t.py", f"uv run --with-requirements t.py {ACCELERATE} t.py"),
        (
            "sh -c 'pip install -r r.txt && python -u train.py --out \"$OUT dir\"'",
            f"sh -c 'pip install -r r.txt && {ACCELERATE} train.py --out \"$OUT dir\"'",
        ),
        (
            "bash -lc 'python prepare.py; python train.py; python report.py'",
            f"bash -lc 'python prepare.py; {ACCELERATE} train.py; python report.py'",
        ),
        ("bash -c 'cd src\npython fit.py\n'", f"bash -c 'cd src\n{ACCELERATE} fit.py\n'"),
        ("sh -c 'exec uv run train.py'", f"sh -c 'exec uv run --with-requirements train.py {ACCELERATE} train.py'"),
        ("python t.py --deepspeed ds.json", f"{ACCELERATE} t.py --deepspeed ds.json"),
    ],
)
def test_one_process_and_the_line_that_would_use_them_all(command: str, line: str) -> None:
    used = use_of(tuple(shlex.split(command)), 4)
    assert used.processes == 1
    assert used.lines == (line, line.replace(ACCELERATE, TORCHRUN))


@pytest.mark.parametrize(
    "command",
    [
        "accelerate launch t.py",
        "accelerate launch --num_processes 4 t.py --num_processes 1",
        "accelerate launch --config_file a.yaml t.py",
        "torchrun --nproc_per_node 4 t.py",
        "torchrun --nproc-per-node=gpu t.py",
        "python -m torch.distributed.run --nproc_per_node 8 t.py",
        "python -m accelerate.commands.launch t.py",
        "uv run --with accelerate accelerate launch t.py",
        "deepspeed t.py",
        "axolotl train c.yml",
        "sh -c 'python prepare.py && torchrun --nproc_per_node=4 t.py'",
        "mpirun -n 4 python t.py",
    ],
)
def test_a_launcher_uses_them_all(command: str) -> None:
    assert (use_of(tuple(shlex.split(command)), 4).processes or 0) >= 4


@pytest.mark.parametrize(
    ("command", "processes", "line"),
    [
        ("accelerate launch --num_processes 2 t.py", 2, "accelerate launch --num_processes 4 t.py"),
        ("accelerate launch --num_processes=1 t.py", 1, "accelerate launch --num_processes=4 t.py"),
        ("torchrun --standalone --nproc-per-node 2 t.py", 2, "torchrun --standalone --nproc-per-node 4 t.py"),
        ("torchrun t.py", 1, "torchrun --nproc_per_node 4 t.py"),
        ("python -m torch.distributed.run t.py", 1, "python -m torch.distributed.run --nproc_per_node 4 t.py"),
        ("sh -c 'cd x; torchrun t.py'", 1, "sh -c 'cd x; torchrun --nproc_per_node 4 t.py'"),
    ],
)
def test_a_launcher_that_is_told_too_few(command: str, processes: int, line: str) -> None:
    used = use_of(tuple(shlex.split(command)), 4)
    assert (used.processes, used.lines) == (processes, (line,))


@pytest.mark.parametrize(
    "command", ["make train", "./train.sh", "bash train.sh", "trl sft", "accelerate env", "python"]
)
def test_what_cannot_be_seen_is_not_said(command: str) -> None:
    assert use_of(tuple(shlex.split(command)), 4).processes is None


def test_code_on_the_command_line_has_no_line_of_its_own() -> None:
    used = use_of(("python", "-c", "import pkg; pkg.train()"), 4)
    assert (used.processes, used.lines) == (1, ())


def _found(**flags: Any) -> list[tuple[str, str, str]]:
    given: dict[str, Raw] = {"flavor": "a10g-largex4", **flags}
    inputs = parse(Layers(flags=given))
    return [(one.level, one.title, one.text) for one in command_findings(make_plan(inputs, ON_GITHUB, FACTS), inputs)]


def test_the_warning_names_the_flavor_and_both_lines() -> None:
    ((level, title, text),) = _found(script="train.py", args="--lr 1")
    assert (level, title) == ("warning", "Idle GPUs")
    assert "a10g-largex4 has 4 GPUs, but the command starts one process." in text
    assert f"`uv run --with-requirements train.py {ACCELERATE} train.py --lr 1`" in text
    assert f"`uv run --with-requirements train.py {TORCHRUN} train.py --lr 1`" in text
    assert _found(script="train.py", flavor="t4-small") == []
    assert _found(command="accelerate launch t.py") == []
    assert [one[:2] for one in _found(command="make train")] == [("advice", "Many GPUs")]


def test_a_list_of_words_is_read_as_it_is() -> None:
    words = ("python", "train.py", "--note", "python prepare.py && accelerate launch x.py")
    inputs = parse(Layers(flags={"flavor": "a10g-largex4"}, words=words))
    (found,) = command_findings(make_plan(inputs, ON_GITHUB, FACTS), inputs)
    assert f"`{ACCELERATE} train.py --note {shlex.quote(words[3])}`" in found.text


@given(st.lists(st.text(max_size=20), max_size=8), st.sampled_from(["", "sh", "uv"]))
def test_no_command_is_too_odd(words: list[str], before: str) -> None:
    start = {"sh": ("sh", "-c"), "uv": ("uv", "run")}.get(before, ())
    for line in use_of((*start, *words), 4).lines:
        assert shlex.split(line)

"""Whether a command uses all GPUs of its flavor, and the line that would.

By the words alone: what starts one process per GPU is `accelerate launch` (all that it sees, unless it is told a
number), `torchrun` (one process, unless it is told a number), `deepspeed`, and programs that do it by themselves.
Source: the launchers' own `--help` (accelerate 1.15, torch 2.13).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from hf_train.inputs import Inputs
from hf_train.inputs.words import PYTHON, after_uv
from hf_train.plan import Plan
from hf_train.preflight.model import Finding

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_BEFORE = frozenset({"exec", "env", "time", "nohup", "then", "do", "else", "if", "!", "{"})
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_OWN = frozenset({"axolotl", "mpirun", "mpiexec", "horovodrun", "ray", "composer", "colossalai", "llamafactory-cli"})
"""Programs that start their processes by themselves."""
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
_NO_TRAINING = frozenset({"pip", "venv", "ensurepip", "virtualenv", "uv", "compileall"})
_COUNT = re.compile(r"--(?:num[_-]processes|nproc[_-]per[_-]node|num_gpus)(?:=(.*))?")
_TRAINS = re.compile(r"train|tune|sft|dpo|grpo|fit", re.IGNORECASE)


def gpu_findings(plan: Plan, inputs: Inputs) -> list[Finding]:
    """GPUs that are paid for and not used, as far as the command shows it."""
    flavor = plan.budget.flavor
    if flavor is None or flavor.gpus < 2 or inputs.recipe or inputs.nodes > 1:  # nodes brings torchrun
        return []
    config = ("--config", inputs.config) if inputs.config else ()
    words = ("uv", "run", inputs.script, *inputs.args, *config) if inputs.script else inputs.command
    used = use_of(words, flavor.gpus)
    has = f"{flavor.name} has {flavor.gpus} GPUs"
    if used.processes is not None and used.processes >= flavor.gpus:
        return []
    if used.processes is None:
        what = f"{has}, and whether the command uses them all cannot be seen here."
        return [Finding(level="advice", title="Many GPUs", what=what, why="All are billed.", field="flavor")]
    started = "one process" if used.processes == 1 else f"{used.processes} processes"
    fix = " or ".join(f"`{line}`" for line in used.lines) or f"`accelerate launch --num_processes {flavor.gpus} ...`"
    return [
        Finding(
            level="warning",
            title="Idle GPUs",
            what=f"{has}, but the command starts {started}.",
            why="All of them are billed, and those without a process idle (a script on Lightning starts its own).",
            fix=f"Write command: {fix} to use them all.",
            field="flavor",
        )
    ]


@dataclass(frozen=True, slots=True)
class Use:
    """How a command uses GPUs.

    Attributes:
        processes: How many it starts; None when that cannot be seen.
        lines: The same command on all GPUs, the best first; empty when it cannot be rewritten.
    """

    processes: int | None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """One command of a shell line.

    Attributes:
        words: Its words.
        at: Where its program begins, after variables, `exec` and the options of `uv run`.
        kind: `python`, `uv-script`, `torchrun`, `accelerate`, `deepspeed`, `own` or `other`.
        end: Where the words end that start the program: `python -u` before a file or `-m`.
    """

    words: tuple[str, ...]
    at: int
    kind: str
    end: int


def use_of(words: Sequence[str], gpus: int) -> Use:
    """What a command starts on a machine with several GPUs.

    Args:
        words: The command, word by word; that of `sh -c` is looked into.
        gpus: GPUs of the flavor.
    """
    parts = [_part(one) for one in _commands(words)]
    launched = [one for one in parts if one.kind in {"torchrun", "accelerate", "deepspeed", "own"}]
    if launched:
        told = [(one, _told(one, gpus)) for one in launched]
        part, count = max(told, key=lambda one: one[1])
        return Use(count, () if count >= gpus else (_whole(words, part, _more(part, gpus)),))
    runs = [one for one in parts if one.kind in {"python", "uv-script"}]
    if not runs:
        return Use(None)
    part = next((one for one in reversed(runs) if _TRAINS.search(" ".join(one.words[one.end :][:2]))), runs[-1])
    starts = (("accelerate", "launch", "--num_processes", str(gpus)), ("torchrun", "--nproc_per_node", str(gpus)))
    lines = (_whole(words, part, new) for start in starts if (new := _spread(part, start)))
    return Use(1, tuple(line for line in lines if line))


def _commands(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The commands of an argv: itself, or those that its shell is given."""
    text = _shell_text(words)
    if text is None:
        yield tuple(words)
        return
    # Newlines end a command too, and `shlex` takes them for blanks.
    lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    command: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set("();<>|&"):
                yield tuple(command)
                command = []
            else:
                command.append(word)
    except ValueError:  # an open quote
        pass
    yield tuple(command)


def _shell_text(words: Sequence[str]) -> str | None:
    """What `sh -c` is to run; None for another command."""
    if len(words) < 3 or PurePosixPath(words[0]).name not in _SHELLS:
        return None
    at = next((at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), 0)
    return words[at + 1] if at and at + 1 < len(words) else None


def _part(words: tuple[str, ...]) -> _Part:
    at = 0
    while at < len(words) and (PurePosixPath(words[at]).name in _BEFORE or _ASSIGNED.fullmatch(words[at])):
        at += 1
    by_uv = words[at : at + 2] == ("uv", "run")
    at = after_uv(words, at + 2) if by_uv else at
    name = PurePosixPath(words[at]).name if at < len(words) else ""
    if PYTHON.fullmatch(name):
        return _python(words, at)
    if by_uv and (name.endswith(".py") or name == "-m"):
        return _Part(words, at, "uv-script" if name != "-m" else "python", at)
    if name in {"torchrun", "deepspeed", "accelerate"}:
        launches = name != "accelerate" or words[at + 1 : at + 2] == ("launch",)
        return _Part(words, at, name if launches else "other", at + 1)
    return _Part(words, at, "own" if name in _OWN else "other", at)


def _python(words: tuple[str, ...], at: int) -> _Part:
    end = at + 1
    while end < len(words) and re.fullmatch(r"-(?:[bBdEiIOPqsSuvx]+|[XW].*)", words[end]):
        end += 2 if words[end] in {"-X", "-W"} else 1
    rest = words[end : end + 2]
    if rest[:1] == ("-m",):
        module = rest[1] if len(rest) > 1 else ""
        kind = _MODULES.get(module, "other" if module.partition(".")[0] in _NO_TRAINING else "python")
        return _Part(words, at, kind, end)
    return _Part(words, at, "python" if rest else "other", end)


def _told(part: _Part, gpus: int) -> int:
    """Processes that a launcher starts; what is no number (`gpu`, `auto`) means all."""
    for at, word in enumerate(part.words[part.end :], part.end):
        if (found := _COUNT.fullmatch(word)) is not None:
            value = found[1] if found[1] is not None else "".join(part.words[at + 1 : at + 2])
            return int(value) if re.fullmatch(r"[0-9]{1,4}", value) else gpus
        if word.endswith(".py"):  # what follows is the script's own
            break
    return 1 if part.kind == "torchrun" else gpus


def _more(part: _Part, gpus: int) -> tuple[str, ...]:
    """A launcher told the right number."""
    words = list(part.words)
    for at, word in enumerate(words):
        if at >= part.end and (found := _COUNT.fullmatch(word)) is not None:
            if found[1] is not None:
                words[at] = f"{word.partition('=')[0]}={gpus}"
            else:
                words[at + 1] = str(gpus)
            return tuple(words)
    after = part.end + (2 if words[part.end : part.end + 1] == ["-m"] else 0)
    return (*words[:after], "--nproc_per_node", str(gpus), *words[after:])


def _spread(part: _Part, start: Sequence[str]) -> tuple[str, ...]:
    """The same program behind a launcher; nothing for code on the command line or from stdin."""
    before, program = part.words[: part.at], part.words[part.end :]
    if part.kind == "uv-script":
        # With a launcher before it, uv no longer reads the script's header by itself.
        options = (word for word in before if word not in {"--script", "-s"})
        return (*options, "--with-requirements", program[0], *start, *program)
    if program[0] in {"-c", "-"} or (program[0].startswith("-") and program[0] != "-m"):
        return ()
    return (*before, *start, *program)


def _whole(words: Sequence[str], part: _Part, new: tuple[str, ...]) -> str:
    """The whole command with this part of it replaced; empty when its words cannot be found in the shell's text."""
    text = _shell_text(words)
    if text is None:
        return shlex.join(new)
    same = 0
    while same < len(part.words) - 1 and same < len(new) and part.words[-1 - same] == new[-1 - same]:
        same += 1  # arguments stay as they are written, quotes and variables too
    cut = len(part.words) - same
    words_of = [r"\s+".join(map(re.escape, some)) for some in (part.words[:cut], part.words[cut : cut + 1])]
    found = re.search(rf"(?<!\S){words_of[0]}(?=\s+{words_of[1]})" if same else rf"(?<!\S){words_of[0]}", text)
    if found is None:
        return ""
    changed = text[: found.start()] + shlex.join(new[: len(new) - same]) + text[found.end() :]
    return shlex.join([changed if word == text else word for word in words])

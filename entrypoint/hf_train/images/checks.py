"""What an image must have to run a training, as a POSIX shell script, and what that script says. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "hft-check"
AMD64 = "3e00"
"""`e_machine` of an ELF file for x86-64, little-endian (System V ABI)."""
OTHER_USER = "12345:12345"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is asked of an image beside a shell and Python.

    Attributes:
        library: A library to import; empty for none.
        multi_gpu: Whether several processes are to be started.
        uv: Whether a uv script is to run.
    """

    library: str = ""
    multi_gpu: bool = False
    uv: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was tried.

    Attributes:
        name: What was tried.
        ok: Whether it is as it should be.
        detail: A version, or what is wrong. The image's own words: hostile.
        required: Whether the image is of no use without it.
    """

    name: str
    ok: bool
    detail: str = ""
    required: bool = True


def script(wish: Wish) -> str:
    """The checks as a shell script; each prints one line."""
    elf = (
        f'elf=$(machine); if [ "$elf" = {AMD64} ] || [ -z "$elf" ]; then say platform ok linux/amd64; '
        'else say platform no "the programs in it are for another machine (ELF $elf)"; fi'
    )
    # Nothing that is tried may eat the rest of this script, which comes on stdin.
    trial = (
        'try() { name=$1; shift; if out=$("$@" 2>&1 </dev/null); then say "$name" ok "$out"; '
        'else say "$name" no "$(printf %s "$out" | tail -n 1)"; fi; }'
    )
    parts = [
        f'say() {{ printf \'{MARK}\\t%s\\t%s\\t%s\\n\' "$1" "$2" "$(printf %s "$3" | tr \'\\n\\t\' \'  \')"; }}',
        trial,
        "machine() { dd if=/bin/sh bs=1 skip=18 count=2 2>/dev/null | od -An -tx1 | tr -d ' \\n'; }",
        elf,
        "say shell ok /bin/sh",
        "try python3 python3 -c 'import sys; print(sys.version.split()[0])'",
    ]
    if wish.library:
        load = (
            "import importlib, importlib.metadata as m, sys; n = sys.argv[1]; importlib.import_module(n); "
            "print(m.version(n))"
        )
        parts.append(f"try {shlex.quote(wish.library)} python3 -c {shlex.quote(load)} {shlex.quote(wish.library)}")
    if wish.multi_gpu:
        parts.append("try 'accelerate or torchrun' sh -c 'command -v accelerate || command -v torchrun'")
    if wish.uv:
        parts.append("try uv uv --version")
    parts += [_writable("HOME", '"${HOME:-/}"'), _writable("cache", '"${HF_HOME:-${HOME:-/}/.cache/huggingface}"')]
    return "\n".join(parts) + "\n"


def user_script() -> str:
    """The checks for a user that the image does not know."""
    lines = script(Wish()).split("\n")
    return "\n".join([*lines[:2], *(line for line in lines if line.startswith("try 'writable"))]) + "\n"


def read_checks(lines: Sequence[str], *, required: bool = True) -> list[Check]:
    """What the script said; other lines are passed over."""
    found = []
    for line in lines:
        match = re.fullmatch(rf"{MARK}\t([^\t]*)\t(ok|no)\t(.*)", line)
        if match:
            found.append(Check(name=match[1], ok=match[2] == "ok", detail=match[3].strip()[-300:], required=required))
    return found


def why_not_started(words: str) -> Check:
    """Why not even the shell came up, from what the engine said."""
    if "exec format error" in words:
        return Check(name="platform", ok=False, detail="its programs are for another machine than linux/amd64")
    if re.search(r"executable file not found|no such file or directory", words, re.IGNORECASE):
        return Check(name="shell", ok=False, detail="there is no /bin/sh; our start script in the Job needs one")
    return Check(name="shell", ok=False, detail=words[-300:])


def _writable(name: str, where: str) -> str:
    line = 'd=$1; mkdir -p "$d" && f="$d/.hf-train-$$" && : > "$f" && rm "$f" && printf %s "$d"'
    return f"try 'writable {name}' sh -c {shlex.quote(line)} sh {where}"

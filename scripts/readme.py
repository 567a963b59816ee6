"""Writes the generated parts of README.md: the table of inputs. `--check` only says whether they are fresh."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "entrypoint"))

from hf_train.inputs import FIELDS, Group  # noqa: E402  (the path above makes it importable)

START, END = "<!-- inputs: made by scripts/readme.py -->", "<!-- end of inputs -->"


def table() -> str:
    """One table per group."""
    lines: list[str] = []
    for group in Group:
        fields = [field for field in FIELDS if field.group is group]
        lines += [f"**{group.value}**", "", "| input | what it is | default |", "|:--|:--|:--|"]
        lines += [f"| `{f.name}` | {f.help.replace('|', chr(92) + '|')} | {f.default or chr(0x2013)} |" for f in fields]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Rewrite, or check."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    fresh = f"{head}{START}\n\n{table()}\n{END}{tail}"
    if "--check" in sys.argv[1:]:
        if fresh != text:
            print("README.md: the table of inputs is stale; run scripts/readme.py")
        return int(fresh != text)
    path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

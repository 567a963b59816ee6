"""Writes the generated parts of action.yml, the inputs and their variables, from the table of inputs.

`--check` only says whether they are fresh; tests/meta says the same in more words.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "entrypoint"))

from hf_train.inputs import FIELDS  # noqa: E402  (the path above makes it importable)


def _scalar(text: str) -> str:
    plain = text.replace("`", "")
    quoted = ": " in plain or " #" in plain or plain[0] in "'\"[{*&!|>%@"
    return "'" + plain.replace("'", "''") + "'" if quoted else plain


def inputs() -> str:
    """The rows of `inputs:`, one group after the other."""
    lines: list[str] = []
    for group, fields in groupby(FIELDS, key=lambda field: field.group):
        lines.append(f"  # {group.value}")
        for field in fields:
            words = field.help + (f" Default: {field.default}." if field.default else "")
            lines += [f"  {field.name}:", f"    description: {_scalar(words)}"]
            if field.name == "github-token":
                lines.append("    default: ${{ github.token }}")
    return "\n".join(lines) + "\n"


def variables() -> str:
    """The rows of the step's `env:`."""
    return "".join(f"        {field.variable}: ${{{{ inputs.{field.name} }}}}\n" for field in FIELDS)


def render(text: str) -> str:
    """The file with fresh generated parts."""
    text = re.sub(r"(?<=\ninputs:\n).*?(?=  # This step itself\n)", lambda _: inputs(), text, flags=re.DOTALL)
    pattern = r"(?<=toJSON\(matrix\) }}\n)(?:        HF_TRAIN_[A-Z_]+: \${{ inputs\.[a-z-]+ }}\n)+"
    return re.sub(pattern, lambda _: variables(), text)


def main() -> int:
    """Rewrite, or check."""
    path = ROOT / "action.yml"
    text = path.read_text(encoding="utf-8")
    fresh = render(text)
    if "--check" in sys.argv[1:]:
        if fresh != text:
            print("action.yml: the inputs are stale; run make docs")
        return int(fresh != text)
    path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

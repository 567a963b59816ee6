"""Names of the training images that a push or pull request changed, as the JSON list of a workflow's matrix.

Prints `names=[...]`. Everything when the commit before is not known (a new branch, a run by hand).
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  (a script of the workflow)
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the list."""
    names = sorted(path.parent.name for path in (ROOT / "images").glob("*/Dockerfile"))
    before = os.environ.get("BEFORE", "")  # noqa: TID251
    asked = ["git", "diff", "--name-only", "--no-renames", f"{before}...HEAD", "--", "images"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False) if before.strip("0") else None
    if done is not None and done.returncode == 0:
        changed = {Path(line).parts[1] for line in done.stdout.splitlines() if line.count("/") > 1}
        names = [name for name in names if name in changed]
    print(f"names={json.dumps(names)}")


if __name__ == "__main__":
    main()

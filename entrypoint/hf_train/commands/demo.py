"""`hf-train demo`."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from hf_train.commands.around import signals
from hf_train.commands.run import run_with
from hf_train.errors import UserError
from hf_train.wiring import Flags


def demo(
    report_dir: Annotated[str, typer.Option(help="Folder for the report.")] = "demo-report",
) -> int:
    """`hf-train demo`: the quickstart on the embedded Hub, and the comment that a pull request would get."""
    example = _example("quickstart")
    with tempfile.TemporaryDirectory(prefix="hf-train-demo-") as scratch, signals():
        workspace = Path(scratch) / "quickstart"
        shutil.copytree(example, workspace)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "HF_TRAIN_"))}
        environ.pop("HF_ENDPOINT", None)
        environ |= {"HF_TRAIN_WORKSPACE": str(workspace), "HF_TRAIN_JOB_TOKEN": f"hf_local_{secrets.token_hex(8)}"}
        flags: Flags = {
            "local": "true",
            "command": "python train.py --push_to_hub --hub_model_id local-user/quickstart",
            "model-repo": "local-user/quickstart",
            "metrics-file": "metrics.json",
            "timeout": "5m",
            "report-dir": report_dir,
        }
        code = run_with(flags, environ)
    comment = Path(report_dir) / "comment.md"
    print(f"\nThe comment that a pull request would get ({comment}):\n")
    print(comment.read_text(encoding="utf-8"))
    return code


def _example(name: str) -> Path:
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "examples" / name, here.parent.parent / "examples" / name):
        if folder.is_dir():
            return folder
    raise UserError("Example not found", f"examples/{name} is not beside this package.", "Run it from a checkout.")

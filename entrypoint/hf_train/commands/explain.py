"""`hf-train explain`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hf_train.collect.explain import explain as explain_text
from hf_train.collect.explain import explain_json
from hf_train.collect.reader import LogReader
from hf_train.errors import BadInput
from hf_train.text.untrusted import printable


def explain(
    log: Annotated[str, typer.Argument(help="A log file, or `-` for standard input.", metavar="LOG")],
    output_format: Annotated[str, typer.Option("--format", help="`text` or `json`.", metavar="text|json")] = "text",
) -> int:
    """`hf-train explain`."""
    if output_format not in {"text", "json"}:
        raise BadInput([f"--format: {output_format!r} is neither text nor json"])
    reader = LogReader()
    try:
        stream = sys.stdin.buffer if log == "-" else Path(log).open("rb")  # noqa: SIM115
        with stream:
            while chunk := stream.read(1 << 16):
                reader.feed(chunk)
    except OSError as error:
        raise BadInput([f"LOG: {log}: {error.strerror}"]) from error
    reading = reader.close()
    if output_format == "json":
        print(explain_json(reading), end="")
    else:
        # The log's own words are quoted, and this may be a step of a workflow.
        print("\n".join(printable(explain_text(reading).rstrip("\n"))))
    return 0

"""`hf-train local-hub`."""

from __future__ import annotations

import typer

from hf_train.errors import UserError


def local_hub(ctx: typer.Context) -> int:
    """`hf-train local-hub`: hands over to the embedded Hub's own command line."""
    try:
        from hf_train.local_hub.__main__ import main
    except ModuleNotFoundError as error:
        raise UserError(
            "Local Hub not installed", f"{error.name} is missing.", "pip install 'hf-train[local]'"
        ) from error
    return int(main(ctx.args))

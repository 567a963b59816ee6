"""`hf-train run` and `hf-train plan`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from hf_train.commands.around import signals, wired
from hf_train.errors import RefusedByHub
from hf_train.flow import pipeline, runs
from hf_train.flow.prepare import Request, approved, examine, prepare, with_header
from hf_train.policy import why_no_token
from hf_train.ports import Ports
from hf_train.preflight import refusal
from hf_train.report import verdict_of
from hf_train.show import plan_json, show_findings, show_plan
from hf_train.wiring import Flags


def run(flags: Flags) -> int:
    """`hf-train run`."""
    with signals():
        return run_with(flags, os.environ)


def run_with(flags: Flags, environ: Mapping[str, str]) -> int:
    """The same, in a given environment."""
    with wired(flags, environ) as (asked, ports, token):
        if token is None and not asked.problems:
            return _without_token(asked, ports)
        request = with_header(approved(asked, ports), ports)
        return int(verdict_of(runs.run(request, ports)).code)


def _without_token(request: Request, ports: Ports) -> int:
    context = request.context
    cause = f" ({because})" if (because := why_no_token(context)) else ""
    why = f"There is no Hub token in this step{cause}, so nothing was launched."
    if request.inputs.required or not context.on_github:
        hint = "Give hf-token (or the variable HF_TOKEN), or run with --local."
        pipeline.refuse(request, ports, RefusedByHub("No token", why, hint))
    return int(verdict_of(pipeline.skip(request, ports, why)).code)


def plan(flags: Flags, output_format: str, check: bool) -> int:
    """`hf-train plan`; with `check`, everything that a launch asks the Hub is asked, and nothing is sent or spent."""
    # Standard output is the JSON alone; the runner reads masks on standard error just as well.
    stream = sys.stderr if output_format == "json" else None
    with wired(flags, os.environ, stream) as (asked, ports, token):
        request = with_header(approved(asked, ports), ports)
        if not check:
            made, findings = prepare(request, ports, offline=token is None, look=False).plan, None
        else:
            prepared, findings = examine(request, ports, offline=token is None)
            made = prepared.plan
        if output_format == "json":
            print(ports.console.redact(plan_json(made, findings)))
        else:
            show_plan(made, ports.console)
            if findings is not None:
                show_findings(findings, ports.console, asked=token is not None)
    return int(error.exit_code) if (error := refusal(findings or ())) is not None else 0

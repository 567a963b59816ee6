"""The plan, for people and as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hf_train.plan import Plan, usd
from hf_train.plan.output import Output, output_of
from hf_train.plan.schedule import Terms
from hf_train.plan.spending import Estimate
from hf_train.ports import Console
from hf_train.preflight import Finding
from hf_train.report.words import duration


def show_plan(plan: Plan, console: Console) -> None:
    """Print the plan in a group of its own; notes stand outside, where they are seen."""
    with console.group("Plan"):
        for name, value in rows(plan):
            console.info(f"{name:<12} {value}")
        console.info("")
        console.info("The same Job by hand (once the code is in the bucket):")
        console.info(console.redact(plan.equal_line))
    for note in plan.notes:
        console.notice("Plan", note)


def show_schedule(plan: Plan, terms: Terms, console: Console) -> None:
    """The same of a schedule: when it runs next, and what that costs."""
    with console.group("Schedule"):
        for name, value in [*rows(plan), *schedule_rows(terms)]:
            # The key of a run stands for nothing here.
            if name not in {"worst case", "key"}:
                console.info(f"{name:<12} {value}")
        console.info("")
        console.info("The same schedule by hand (once the code is in the bucket):")
        console.info(console.redact(terms.line))
    for note in (*plan.notes, *terms.notes):
        console.notice("Schedule", note)


def schedule_rows(terms: Terms) -> list[tuple[str, str]]:
    """Name and value of each line that a schedule has beside those of the plan."""
    a_month = f"{terms.runs_a_month:.3g}" if terms.runs_a_month < 100 else f"{terms.runs_a_month:,.0f}"
    return [
        *(("next run", f"{run:%a %Y-%m-%d %H:%M} UTC") for run in terms.next_runs),
        ("a run", f"at most {usd(terms.run_usd)}" if terms.run_usd is not None else "price not known"),
        (
            "a month",
            f"{a_month} run(s)" + (f", at most {usd(terms.month_usd)}" if terms.month_usd is not None else ""),
        ),
    ]


def rows(plan: Plan) -> list[tuple[str, str]]:
    """Name and value of each line of the plan."""
    job, flavor = plan.job, plan.budget.flavor
    price = f", {usd(flavor.usd_per_minute)} a minute" if flavor and flavor.usd_per_minute is not None else ""
    hardware = f" ({flavor.accelerator or flavor.cpu}, {flavor.ram}{price})" if flavor else ""
    worst, found = plan.budget.worst_case_usd, plan.budget.estimate
    table = [
        ("namespace", job.namespace),
        ("image", f"{plan.image.asked} = {job.image}" if plan.image and plan.image.asked != job.image else job.image),
        ("command", " ".join(job.command)),
        *(plan.recipe.lines if plan.recipe else ()),
        ("flavor", f"{job.flavor}{hardware}"),
        *([("nodes", f"{len(plan.specs)}, in the network group {plan.job.network.group}")] if plan.job.network else []),
        ("timeout", duration(job.timeout_s)),
        ("attempts", str(job.attempts or 1)),
        ("worst case", usd(worst) if worst is not None else "price not known"),
        *([("estimate", _estimate(found))] if found else []),
        ("env", ", ".join(job.env) or "-"),
        ("secrets", ", ".join(job.secrets) or "-"),
        *(("volume", volume.as_option()) for volume in job.volumes),
        *([("output", _output(output, plan))] if (output := output_of(job)) else []),
        ("key", plan.key),
    ]
    if plan.code:
        dirty = f", {plan.code.dirty} changed" if plan.code.dirty else ""
        table.insert(3, ("code", f"{plan.code.files} files, {plan.code.size / 1e6:.2f} MB{dirty}"))
    return table


def _output(output: Output, plan: Plan) -> str:
    if output.resume:
        how = f"goes on from its newest checkpoint by {output.resume}"
    elif plan.recipe:
        how = "the recipe's script has no resume option, so each run begins anew"
    else:
        how = "goes on from its newest checkpoint when the training asks for it (HF_TRAIN_CHECKPOINT)"
    return f"{output.address}; {how}"


def _estimate(found: Estimate) -> str:
    cost = f"{usd(found.usd)}, " if found.usd is not None else ""
    runs = "an earlier run" if found.runs == 1 else f"the last {found.runs} runs"
    return f"{cost}{duration(found.seconds)} (as {runs})"


def show_findings(findings: Sequence[Finding], console: Console, *, asked: bool) -> None:
    """Print what the preflight found, the gravest first.

    Args:
        findings: What it found.
        console: Where to.
        asked: Whether there was a token to ask the Hub with.
    """
    with console.group("Preflight"):
        if not asked:
            console.info("There is no Hub token, so tokens and repos were not looked at.")
        if not findings:
            console.info("Nothing stands against the launch.")
        for level in ("error", "warning", "advice"):
            for one in findings:
                if one.level == level:
                    console.info(console.redact(f"{level:<8} {one.title}: {one.text}"))
    for one in findings:
        if one.level == "error":
            console.error(f"Preflight: {one.title}", console.redact(one.text))
        elif one.level == "warning":
            console.warning(f"Preflight: {one.title}", console.redact(one.text))


def plan_json(plan: Plan, findings: Sequence[Finding] | None = None) -> str:
    """The plan as JSON: the spec that would be submitted, what stands around it, and what the preflight found."""
    job = plan.job
    document: dict[str, Any] = {
        "namespace": job.namespace,
        "image": job.image,
        "command": list(job.command),
        "flavor": job.flavor,
        "timeout-s": job.timeout_s,
        "attempts": job.attempts or 1,
        "nodes": len(plan.specs),
        "env": dict(job.env),
        "secrets": list(job.secrets),
        "volumes": [volume.as_option() for volume in job.volumes],
        "labels": dict(job.labels),
        "usd-per-minute": plan.budget.flavor.usd_per_minute if plan.budget.flavor else None,
        "worst-case-usd": plan.budget.worst_case_usd,
        "estimate": asdict(plan.budget.estimate) if plan.budget.estimate else None,
        "key": plan.key,
        "output": asdict(output) if (output := output_of(job)) else None,
        "recipe": dict(plan.recipe.lines) if plan.recipe else None,
        "snapshot": plan.code.digest if plan.code else None,
        "notes": list(plan.notes),
        "hf-jobs-run": plan.equal_line,
    }
    if findings is not None:
        document["checks"] = [
            {
                "level": one.level,
                "title": one.title,
                "what": one.what,
                "why": one.why,
                "fix": one.fix,
                "input": one.field,
            }
            for one in findings
        ]
    return json.dumps(document, indent=2)

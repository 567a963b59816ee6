"""`hf-train comment`: read the `/train` comment that started this workflow, and answer it."""

from __future__ import annotations

import os

from hf_train.commands.around import wired
from hf_train.errors import ExitCode
from hf_train.flow.approval import Answer, approval_of
from hf_train.flow.prepare import Request
from hf_train.ports import Ports
from hf_train.wiring import Flags


def comment(flags: Flags) -> int:
    """`hf-train comment`.

    Sets the step outputs `decision` (`run`, `ignored`, `refused`), `sha` (the commit to check out), `pull` and
    `reason`. What `run` does with the comment afterwards it asks anew; nothing is handed over but the commit.
    """
    with wired(flags, os.environ) as (request, ports, _):
        answer = _answer(request, ports)
        decision = "run" if answer.approval else "refused" if answer.reaction else "ignored"
        sha = answer.approval.sha if answer.approval else ""
        pull = str(request.context.pull.number) if request.context.pull else ""
        ports.files.outputs({"decision": decision, "sha": sha, "pull": pull, "reason": answer.why_not})
        _say(request, ports, answer, decision)
    # Anybody may write a comment: that of a stranger is answered, and is no failure of this repository.
    return int(ExitCode.BAD_INPUT if answer.reaction == "confused" else ExitCode.OK)


def _answer(request: Request, ports: Ports) -> Answer:
    context, inputs = request.context, request.inputs
    if context.comment is None:
        return Answer(why_not="the event is no new comment on a pull request")
    answer = approval_of(context, ports.people, label=inputs.approve_label, extra_keys=inputs.train_keys)
    # What to run is the next step's business; what the comment sets must be good now, while its author looks.
    set_here = tuple(f"{name}:" for name in answer.command.values) if answer.command else ()
    problems = [problem for problem in request.problems if problem.startswith(set_here)]
    return Answer(why_not="; ".join(problems), reaction="confused") if answer.approval and problems else answer


def _say(request: Request, ports: Ports, answer: Answer, decision: str) -> None:
    if answer.approval:
        ports.console.info(f"{answer.approval.by} asks to train {answer.approval.sha} ({answer.approval.how}).")
    elif decision == "refused":
        ports.console.warning("/train refused", answer.why_not)
    else:
        ports.console.info(f"Nothing to do: {answer.why_not}.")
    pull, asked = request.context.pull, request.context.comment
    if answer.reaction and ports.people and pull and asked:
        problem = ports.people.react(pull.number, asked.id, answer.reaction)
        if problem:
            ports.console.info(f"The comment got no reaction: {problem}.")

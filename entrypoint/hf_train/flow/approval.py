"""Which commit of a pull request somebody with write access approved, asked from GitHub each time.

Two ways: a `/train` comment, and a label on `pull_request_target`. An approval holds for one commit: a push after it
makes it void. A comment on a fork's pull request must name the commit, because its author can push between the comment
and the run (reference case 24); a branch of this repository can only be pushed to by those who may approve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hf_train.context import Context, EventComment, Pull
from hf_train.policy import WRITERS, Approval
from hf_train.ports import People
from hf_train.slash import TrainCommand, parse_command

Reaction = Literal["eyes", "-1", "confused", ""]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What was found.

    Attributes:
        approval: The approved commit; None when there is none.
        command: The `/train` command, when a comment brought a good one.
        why_not: Why there is no approval, in words; empty when there is one.
        reaction: What to answer under the comment; empty for nothing.
    """

    approval: Approval | None = None
    command: TrainCommand | None = None
    why_not: str = ""
    reaction: Reaction = ""


def approval_of(context: Context, people: People | None, *, label: str, extra_keys: tuple[str, ...] = ()) -> Answer:
    """Look for the approval that this event brought.

    Args:
        context: The event.
        people: Who may do what, from GitHub; None without a token for it.
        label: Label that approves.
        extra_keys: Further keys that a comment may set.
    """
    if context.pull is None:
        return Answer(why_not="the event belongs to no pull request")
    if context.comment is not None:
        return _by_comment(context.pull, context.comment, people, extra_keys)
    if context.event == "pull_request_target":
        return _by_label(context, context.pull, people, label)
    return Answer(why_not=f"an event {context.event} approves nothing")


def _by_comment(pull: Pull, comment: EventComment, people: People | None, extra_keys: tuple[str, ...]) -> Answer:
    command, bad = _read(comment.body, extra_keys)
    if command is None and not bad:
        return Answer(why_not="the comment is no /train command")
    if people is None:
        return Answer(why_not="github-token is needed to ask GitHub who wrote the comment")
    if why := _may_not(people, comment.author):  # before anything else: a stranger's mistakes are not answered
        return Answer(why_not=why, reaction="-1")
    if command is None:
        return Answer(why_not=bad, reaction="confused")
    head, problem = people.head(pull.number)
    if head is None:
        return Answer(why_not=f"the head of #{pull.number} is not known: {problem}", reaction="confused")
    if head.from_fork and not command.sha:
        return Answer(why_not=f"on a fork the commit must be named: /train sha={head.sha}", reaction="confused")
    if command.sha and command.sha != head.sha:
        return Answer(why_not=f"the head moved to {head.sha[:12]} since the comment", reaction="confused")
    approval = Approval(sha=head.sha, by=comment.author, how=f"comment {comment.id}")
    return Answer(approval=approval, command=command, reaction="eyes")


def _read(body: str, extra_keys: tuple[str, ...]) -> tuple[TrainCommand | None, str]:
    try:
        return parse_command(body, extra_keys), ""
    except ValueError as error:
        return None, str(error)


def _by_label(context: Context, pull: Pull, people: People | None, label: str) -> Answer:
    if context.action != "labeled" or context.label != label:
        return Answer(why_not=f"this commit was not approved by setting the label {label}")
    if people is None:
        return Answer(why_not="github-token is needed to ask GitHub who set the label")
    if why := _may_not(people, context.sender):
        return Answer(why_not=why)
    head, problem = people.head(pull.number)
    if head is None:
        return Answer(why_not=f"the head of #{pull.number} is not known: {problem}")
    if head.sha != pull.head_sha:
        return Answer(why_not=f"the head moved to {head.sha[:12]} since the label was set")
    return Answer(approval=Approval(sha=head.sha, by=context.sender, how=f"label {label}"))


def _may_not(people: People, login: str) -> str:
    permission, problem = people.permission(login)
    if problem:
        return f"whether {login} may write here is not known: {problem}"
    return "" if permission in WRITERS else f"{login} may not write to this repository ({permission or 'none'})"

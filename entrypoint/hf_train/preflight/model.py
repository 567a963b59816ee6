"""One finding of the preflight, and the error that several of them make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hf_train.errors import ExitCode, RefusedByPolicy, UserError
from hf_train.ports import Account, RepoFact

NOTHING = "Nothing was sent to the Hub and nothing was spent."


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a look before the launch showed.

    Attributes:
        level: An `error` stops the launch; a `warning` is said and lets it go on; `advice` is for `plan --check`.
        title: A few words.
        what: What is so, one sentence.
        why: Why it matters, one sentence; may be empty.
        fix: What to change, one sentence; may be empty.
        field: The input that it is about.
        code: Exit code when it stops the launch: 2 for an input or a limit of ours, 3 for what the Hub would refuse.
        error: The error that it was found as, for one that was raised elsewhere.
    """

    level: Literal["error", "warning", "advice"]
    title: str
    what: str
    why: str = ""
    fix: str = ""
    field: str = ""
    code: ExitCode = ExitCode.BAD_INPUT
    error: UserError | None = None

    @property
    def text(self) -> str:
        """All of it in one line."""
        where = f"{self.field}: " if self.field else ""
        return where + " ".join(part for part in (self.what, self.why, self.fix) if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What the Hub said; what it did not say is not here.

    Attributes:
        target: The repo that the training pushes to; empty when none is named.
        fact: What that repo is like.
        job_account: Owner of the token that the Job gets.
        job_refused: Why the Hub does not take that token, in its words.
        sources: The models and data sets that the command names.
    """

    target: str = ""
    fact: RepoFact | None = None
    job_account: Account | None = None
    job_refused: str = ""
    sources: tuple[tuple[tuple[str, str], RepoFact], ...] = ()


def of_error(error: UserError, field: str) -> Finding:
    """An error of another room as a finding."""
    return Finding(
        level="error",
        title=error.title,
        what=error.message,
        fix=error.hint,
        field=field,
        code=error.exit_code,
        error=error,
    )


class NotReady(RefusedByPolicy):
    """The preflight found what must not be launched. Nothing was sent and nothing was spent.

    Attributes:
        findings: The errors among what was found.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        codes = {one.code for one in findings}
        self.exit_code = ExitCode.REFUSED if codes == {ExitCode.REFUSED} else ExitCode.BAD_INPUT
        if len(findings) == 1:
            (one,) = findings
            where = f"{one.field}: " if one.field else ""
            message = where + " ".join(part for part in (one.what, one.why) if part)
            super().__init__(one.title, message, " ".join(part for part in (one.fix, NOTHING) if part))
        else:
            lines = "\n".join(one.text for one in findings)
            super().__init__(f"{len(findings)} things stand against the launch", lines, NOTHING)


def refusal(findings: Sequence[Finding]) -> UserError | None:
    """The error of all errors among the findings, None when there is none."""
    errors = [one for one in findings if one.level == "error"]
    if len(errors) == 1 and errors[0].error is not None:
        return errors[0].error
    return NotReady(errors) if errors else None

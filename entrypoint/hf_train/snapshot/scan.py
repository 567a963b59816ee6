"""Secrets in the files that would be sent: by their shape, and by their value when this step knows it.

The shapes are those of bc-detect-secrets (the fork of Yelp's detect-secrets that is kept for Checkov), with a few that
it lacks and that training code meets. Only shapes that nothing else has: a finding stops the run, so guesses by entropy
or by a variable's name are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from hf_train.text.redact import coats

MAX_TEXT = 4 << 20
"""Shapes are looked for in the first 4 MiB of a file; more is data, not code."""
MAX_LINE = 4000
"""Longer lines are data as well. A limit is needed: on one line without an end, some shapes take minutes."""
MINIMUM_KNOWN = 12
"""Known values that are shorter (a user name kept as a secret, say) stand in code for good reasons."""
LISTED = 10
ALLOW = "pragma: allowlist secret"
_LETTER = r"[A-Za-z0-9]"
_LONG = re.compile(rf"[^\n]{{{MAX_LINE},}}")
# Each begins with its own letters: a search for a literal costs a tenth of one for a word border.
_MORE: Sequence[tuple[str, str]] = (
    ("Hugging Face token", rf"hf_{_LETTER}{{34}}\b"),
    ("Hugging Face token", rf"api_org_{_LETTER}{{34}}\b"),
    ("GitHub fine-grained token", r"github_pat_\w{82}\b"),
    ("GitLab token", r"glpat-[\w-]{20,}"),
    ("GitLab token", r"gldt-[\w-]{20,}"),
    ("Google API key", r"AIza[\w-]{35}\b"),
    ("Google OAuth secret", r"GOCSPX-[\w-]{28}\b"),
    ("OpenAI key", r"T3BlbkFJ[\w-]{20,}"),
    ("Anthropic key", r"sk-ant-[a-z]+\d\d-[\w-]{80,}"),
    ("Weights & Biases key", r"wandb_v1_\w{40,}"),
    ("Docker Hub token", r"dckr_[po]at_[\w-]{24,}"),
    ("Python package index token", r"pypi-AgE[\w-]{50,}"),
    ("Replicate token", rf"r8_{_LETTER}{{37}}\b"),
    ("Databricks token", r"dapi[a-f0-9]{32}\b"),
)


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a file.

    Attributes:
        path: The file.
        line: Number of its line, from 1; 0 when it is no text.
        kind: What it looks like, in words.
    """

    path: str
    line: int
    kind: str


def problems_of(files: Iterable[tuple[str, Callable[[], bytes]]], known: Sequence[str] = ()) -> list[str]:
    """What stands in the way of sending these files, in words; never the secret itself.

    Args:
        files: Path in the snapshot, and how to get the bytes.
        known: Values of secrets that this step knows.
    """
    needles = _needles(known)
    found = list(islice(_leaks(files, needles), LISTED + 1))
    problems = [_words(leak) for leak in found[:LISTED]]
    if len(found) > LISTED:
        problems.append("path: there are more such places; they are listed when these are mended")
    return problems


def _words(leak: Leak) -> str:
    where = f"{leak.path}:{leak.line}" if leak.line else leak.path
    if not leak.kind:
        return f"path: {where} holds the value of a secret of this step; take it out, secrets reach the Job by name"
    return (
        f"path: {where} holds what looks like a secret ({leak.kind}) and is not sent; take it out, exclude the file, "
        f"or, when it is none, end its line with `# {ALLOW}`"
    )


def _leaks(files: Iterable[tuple[str, Callable[[], bytes]]], needles: Sequence[bytes]) -> Iterator[Leak]:
    for path, read in files:
        content = read()
        for needle in needles:
            if (at := content.find(needle)) >= 0:
                yield Leak(path, content.count(b"\n", 0, at) + 1, "")
                break
        yield from shaped(path, content)


def shaped(path: str, content: bytes) -> Iterator[Leak]:
    """Secrets of a file by their shape, without those whose line allows them."""
    if b"\0" in content[:8192]:
        return
    text = _LONG.sub("", content[:MAX_TEXT].decode("utf-8", "replace").replace("\r\n", "\n"))
    told: set[int] = set()
    for kind, pattern, is_valid in _detectors():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if line not in told and is_valid(match[0]) and not _is_allowed(path, text, line):
                told.add(line)
                yield Leak(path, line, kind)


def _is_real(value: str) -> bool:
    """Not `hf_xxxx...`, `AKIAIOSFODNN7EXAMPLE` or their like, which documentation is full of."""
    return len(set(value[-20:])) >= 6 and "EXAMPLE" not in value


def _is_allowed(path: str, text: str, line: int) -> bool:
    from detect_secrets.filters.allowlist import is_line_allowlisted
    from detect_secrets.util.code_snippet import get_code_snippet

    lines = text.split("\n")
    return is_line_allowlisted(path, lines[line - 1], get_code_snippet(lines, line))


@cache
def _detectors() -> tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]:
    """What each finds, its pattern, and whether a match is one."""
    # Imported late: it takes a tenth of a second, and only a run that sends code needs it.
    from detect_secrets.plugins import (
        aws,
        azure_storage_key,
        discord,
        github_token,
        jwt,
        mailchimp,
        npm,
        private_key,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        twilio,
    )

    library = (
        aws.AWSKeyDetector(),
        azure_storage_key.AzureStorageKeyDetector(),
        discord.DiscordBotTokenDetector(),
        github_token.GitHubTokenDetector(),
        mailchimp.MailchimpDetector(),
        npm.NpmDetector(),
        private_key.PrivateKeyDetector(),
        sendgrid.SendGridDetector(),
        slack.SlackDetector(),
        square_oauth.SquareOAuthDetector(),
        stripe.StripeDetector(),
        twilio.TwilioKeyDetector(),
    )
    tokens = jwt.JwtTokenDetector()
    return (
        *((one.secret_type, pattern, _is_real) for one in library for pattern in one.denylist),
        *((tokens.secret_type, pattern, tokens.is_formally_valid) for pattern in tokens.denylist),
        *((kind, re.compile(pattern), _is_real) for kind, pattern in _MORE),
    )


def _needles(known: Sequence[str]) -> list[bytes]:
    """Known values, and their encodings, long enough to be no accident; of those of several lines, each long line."""
    found: dict[str, None] = {}
    for value in known:
        whole = value.strip()
        if "\n" not in whole:
            found |= dict.fromkeys(coats(whole))
        elif not whole.startswith("{"):  # the lines of a JSON secret are mostly names that code holds too
            found |= dict.fromkeys(
                line.strip() for line in whole.split("\n") if re.fullmatch(r"\s*[\w+/=-]{20,}\s*", line)
            )
        found[whole] = None
    return [coat.encode("utf-8", "surrogateescape") for coat in found if len(coat) >= MINIMUM_KNOWN]

"""Why a Job failed, in words: the class, the line that proves it, the next step. Pure.

The log explains most failures; it is written by the code that runs, so it is never a reason to pay again. What the
platform did is read from the Hub's own message alone, and only that is ever retried.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hf_train.collect.signatures import HINTS
from hf_train.values import JobState, Reason

TITLES = {
    "oom-gpu": "The GPU's memory was full",
    "oom-host": "The machine's memory was full",
    "timeout": "The time limit was reached",
    "gated": "A gated repo",
    "auth": "The token was not accepted",
    "no-permission": "No permission",
    "not-found": "A repo or file was not found",
    "disk-full": "The disk was full",
    "nccl": "A rank stalled or died (NCCL)",
    "child-failed": "A child process failed",
    "import": "A package is missing",
    "dependency-install": "The dependencies could not be installed",
    "no-gpu": "No usable GPU",
    "label-range": "A label is out of range",
    "dataset-format": "The data set has another form",
    "bad-arguments": "The script refused its arguments",
    "nan-loss": "The loss became NaN or infinite",
    "network": "The network did not answer",
    "mount": "A mounted folder refused the write",
    "shm": "Shared memory was full",
    "killed": "The process was killed by a signal",
    "upload-failed": "The upload failed",
    "image-pull": "The image could not be pulled",
    "platform": "The platform failed, not the training",
    "cancelled": "Somebody cancelled the Job on the Hub",
}
"""A few words for each class; `unknown` has none."""
PLATFORM = "platform"
_OWN_HINTS = {
    "image-pull": "Jobs pull without a password: check the image's name and tag, that it is public, and that it is for "
    "linux/amd64 (`hf-train image verify`).",
    "platform": "Nothing is wrong with the training as far as the Hub says: run it again. `retry: 1` does that by "
    "itself, within max-cost.",
    "cancelled": "If nobody should have, look at who else manages Jobs in this namespace; a re-run starts a new one.",
}
_IMAGE = re.compile(
    r"ImagePullBackOff|ErrImagePull|InvalidImageName|manifest (?:for .{1,200} )?(?:unknown|not found)"
    r"|(?:failed|unable|not able) to pull|could not (?:be pulled|pull)|pull access denied|no matching manifest"
    r"|exec format error|No such image|toomanyrequests",
    re.IGNORECASE,
)
_PLATFORM = re.compile(
    r"\bnode (?:was |is |has been )?(?:lost|drained|not ready|failed|terminated|shut ?down|rebooted)"
    r"|NodeLost|NodeNotReady"
    r"|\bevicted\b|\bpreempt(?:ed|ion)\b|\binternal (?:server )?error\b|\binfrastructure\b|MountFailure|FailedMount"
    r"|\bspot (?:instance )?(?:was )?(?:interrupted|reclaimed)|\bhardware (?:failure|error)\b|\bplatform error\b",
    re.IGNORECASE,
)
"""The Hub's wordings are not documented; these are the usual ones of schedulers. None is a training's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why it failed.

    Attributes:
        code: One of `TITLES`, or `unknown`; None when nothing failed.
        line: What proves it: a line of the log, or the Hub's message.
        hint: What to do next.
    """

    code: str | None = None
    line: str = ""
    hint: str = ""


def failure_of(read: Failure, state: JobState | None, reason: Reason) -> Failure:
    """The log's explanation, put right by what the Hub says.

    Args:
        read: What the log tells.
        state: The last look at the Job.
        reason: Why the watch ended.
    """
    message = state.message if state else ""
    code = _by_hub(read.code, message, reason)
    if code is None or code == read.code:
        return read
    if code == "cancelled" and state and state.superseded_by:
        return Failure()
    return Failure(code=code, line=message, hint=_OWN_HINTS.get(code) or HINTS[code])


def title_of(code: str | None) -> str:
    """A few words for a class; empty for none and for `unknown`."""
    return TITLES.get(code or "", "")


def _by_hub(read: str | None, message: str, reason: Reason) -> str | None:
    """The class by the Hub's word; None to leave it to the log."""
    if reason in {Reason.CANCELLED_ON_HUB, Reason.DELETED_ON_HUB}:
        return "cancelled"
    if reason is Reason.TIMEOUT:
        # Ranks that wait for a dead one until the limit: the log knows better.
        return read if read in {"nccl", "oom-gpu"} else "timeout"
    if reason is Reason.OUT_OF_MEMORY:
        return read if read in {"oom-gpu", "oom-host", "shm"} else "oom-host"
    if reason is Reason.FAILED and _IMAGE.search(message):
        return "image-pull"
    if reason is Reason.FAILED and _PLATFORM.search(message):
        return PLATFORM
    return None

"""What can be wrong with an image, and what the user can do about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.errors import ExitCode, UserError


class ImageRefused(UserError):  # noqa: N818  (named as the user meets it)
    """The registry does not give the image, or not to Jobs (401, 403, 404, 429). Nothing was spent."""

    exit_code = ExitCode.REFUSED


class BadImage(UserError):  # noqa: N818
    """The image cannot be what the Job runs in: another platform, no image at all, a floating tag in a release."""

    exit_code = ExitCode.BAD_INPUT


class NoSuchImage(BadImage):
    """The registry has no such tag (404)."""


class BuildFailed(UserError):  # noqa: N818
    """The image could not be built or pushed. No Job was submitted.

    Attributes:
        lines: The last lines that the build printed. Hostile: they are shown by the printer of untrusted text only.
    """

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, title: str, message: str, hint: str = "", lines: Sequence[str] = ()) -> None:
        super().__init__(title, message, hint)
        self.lines = tuple(lines)


class PushDenied(BuildFailed):
    """The registry does not take the image (401, 403)."""

    exit_code = ExitCode.REFUSED


class RegistryNotReached(Exception):  # noqa: N818
    """The registry gives no answer that says anything (no name, no route, a time-out, 5xx): the image is not known."""

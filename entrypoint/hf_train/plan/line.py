"""The equal `hf jobs run` and `hf jobs scheduled run` lines of a spec."""

from __future__ import annotations

import re
import shlex

from hf_train.values import JobSpec

_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")


def equal_line(job: JobSpec, *, detach: bool = False) -> str:
    """The `hf jobs run` line of a spec, quoted for a POSIX shell.

    Values that `hf` would read as dotenv syntax (blanks, quotes, `#`) are handed over by name from the environment,
    which it takes byte for byte (huggingface_hub 2.4.0 `utils/_dotenv.py`).
    """
    return _line(("run",), job, (*(("--detach",) if detach else ()), "--"))


def equal_schedule_line(job: JobSpec, cron: str, *, suspend: bool | None, concurrency: bool | None) -> str:
    """The `hf jobs scheduled run` line of a spec; values as in `equal_line`.

    Args:
        job: The spec.
        cron: The schedule.
        suspend: Whether it is made paused; None leaves that to the Hub.
        concurrency: Whether its Jobs may overlap; None leaves that to the Hub.
    """
    switches = {"suspend": suspend, "concurrency": concurrency}
    options = [f"--{'' if on else 'no-'}{name}" for name, on in switches.items() if on is not None]
    return _line(("scheduled", "run"), job, (*options, "--", cron))


def _line(what: tuple[str, ...], job: JobSpec, tail: tuple[str, ...]) -> str:
    before: list[str] = []
    words = [
        "hf",
        "jobs",
        *what,
        "--namespace",
        job.namespace,
        "--flavor",
        job.flavor,
        "--timeout",
        f"{job.timeout_s}s",
    ]
    if job.attempts is not None:
        words += ["--attempts", str(job.attempts)]
    for name, value in job.env.items():
        if _PLAIN_VALUE.fullmatch(value):
            words += ["--env", f"{name}={value}"]
        else:
            before.append(f"{name}={shlex.quote(value)}")
            words += ["--env", name]
    for name in job.secrets:
        words += ["--secrets", name]
    for name, value in job.labels.items():
        words += ["--label", f"{name}={value}"]
    for volume in job.volumes:
        words += ["--volume", volume.as_option()]
    if job.network is not None:
        words += ["--network-group", job.network.group]
        words += [word for alias in job.network.aliases for word in ("--network-alias", alias)]
    words += [*tail, job.image, *job.command]
    return " ".join([*before, *(shlex.quote(word) for word in words)])

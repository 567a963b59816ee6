"""The equal `hf jobs run` line of a spec."""

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
    before: list[str] = []
    words = [
        "hf",
        "jobs",
        "run",
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
    if detach:
        words.append("--detach")
    words += ["--", job.image, *job.command]
    return " ".join([*before, *(shlex.quote(word) for word in words)])

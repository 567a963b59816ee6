"""The plan: everything that would be submitted, printable, before anything is sent or spent. Pure."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from hf_train.context import Context
from hf_train.errors import BadInput, RefusedByPolicy
from hf_train.inputs import Inputs
from hf_train.ports import Account, Survey
from hf_train.values import Flavor, JobSpec, LocalVolume, Volume

BUCKET = "jobs-artifacts"
UV_IMAGE = "ghcr.io/astral-sh/uv:python3.12-bookworm"
"""The image that `hf jobs uv run` takes (huggingface_hub 2.4.0 `_jobs_api.py`)."""
COMMAND_IMAGE = "python:3.12"
HOUSE = ".hf-train"
"""Folder of ours inside a snapshot: the start script, the manifest, fetched scripts."""
HOSTED_WATCH_S = int(5.5 * 3600)
"""A hosted runner ends after 6 hours; half an hour is kept for what comes after the watch."""
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What was looked up for the plan.

    Attributes:
        account: Owner of the launch token; None when there is no token (`plan` on a laptop).
        flavors: The Hub's hardware list; None when the Hub could not be asked.
        code: The surveyed code folder; None when nothing is sent.
        folders: Surveyed local volumes, by `LocalVolume.key`.
        script_path: Where a script by URL lies in the snapshot.
        nonce: A fresh random word that marks this launch.
    """

    account: Account | None
    flavors: tuple[Flavor, ...] | None
    code: Survey | None
    folders: tuple[tuple[str, Survey], ...] = ()
    script_path: PurePosixPath | None = None
    nonce: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Expect:
    """What should come out.

    Attributes:
        model_repo: Repo that the training publishes to, if it was named.
        require_model: Whether publishing nothing is a failure.
        metrics_file: JSON file in that repo.
        metrics: Names to show; all when empty.
        config: Text of the training library's YAML, for the model's name.
    """

    model_repo: str | None = None
    require_model: bool = False
    metrics_file: str | None = None
    metrics: tuple[str, ...] = ()
    config: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What it may cost.

    Attributes:
        flavor: Hardware and price; None when the Hub could not be asked.
        worst_case_usd: price x started minutes of the timeout x attempts; None when the price is not known.
        max_usd: The user's limit.
    """

    flavor: Flavor | None
    worst_case_usd: float | None
    max_usd: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One launch, ready to be submitted.

    Attributes:
        job: The spec.
        code: What is sent as the code volume.
        folders: Local volumes to send, by `LocalVolume.key`.
        expect: What should come out.
        budget: What it may cost.
        key: Hash of everything that makes this training what it is; the same training has the same key.
        nonce: Random word of this launch.
        detach: Whether to stop after the submit.
        watch_s: Seconds to follow the Job; None for no limit.
        notes: What is worth knowing before the launch, in words.
    """

    job: JobSpec
    code: Survey | None
    folders: tuple[tuple[str, Survey], ...]
    expect: Expect
    budget: Budget
    key: str
    nonce: str
    detach: bool = False
    watch_s: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def equal_line(self) -> str:
        """The `hf jobs run ...` line that submits the same spec (the code volume must have been uploaded)."""
        return equal_line(self.job, detach=self.detach)


def make_plan(inputs: Inputs, context: Context, facts: Facts, *, config_text: str | None = None) -> Plan:
    """Put the plan together.

    Raises:
        BadInput: The flavor is not one of the Hub's.
        RefusedByPolicy: The worst case costs more than `max-cost`.
    """
    namespace = inputs.namespace or (facts.account.name if facts.account else "YOUR-NAMESPACE")
    flavor = _flavor(inputs, facts)
    job = JobSpec(
        namespace=namespace,
        image=inputs.image or _default_image(inputs),
        command=_command(inputs, facts),
        flavor=inputs.flavor,
        timeout_s=inputs.timeout,
        attempts=inputs.attempts,
        # Without it a killed training loses what its stdout buffer held.
        env={"PYTHONUNBUFFERED": "1", **inputs.env},
        secrets=tuple(dict.fromkeys((*inputs.secrets, *(("HF_TOKEN",) if inputs.job_token else ())))),
        volumes=_volumes(inputs, facts, namespace),
    )
    key = _key(job, context, facts)
    job = replace(job, labels=_labels(context, facts, key, job))
    return Plan(
        job=job,
        code=facts.code,
        folders=facts.folders,
        expect=Expect(
            model_repo=inputs.model_repo,
            require_model=inputs.require_model,
            metrics_file=inputs.metrics_file,
            metrics=inputs.metrics,
            config=config_text,
        ),
        budget=_budget(inputs, flavor),
        key=key,
        nonce=facts.nonce,
        detach=inputs.mode == "detach",
        watch_s=_watch_limit(inputs, context),
        notes=_notes(inputs, context, facts, flavor),
    )


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


def label(text: str) -> str:
    """A text as a label value: letters, digits, `.`, `_`, `-`, at most 100 characters."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:100]


def snapshot_path(digest: str) -> str:
    """Folder of a snapshot in the bucket."""
    return f"snapshots/{digest}"


def _default_image(inputs: Inputs) -> str:
    return UV_IMAGE if inputs.script or inputs.command[:1] == ("uv",) else COMMAND_IMAGE


def _command(inputs: Inputs, facts: Facts) -> tuple[str, ...]:
    if inputs.script:
        script = f"{inputs.mount}/{facts.script_path}" if facts.script_path else inputs.script
        config = ("--config", inputs.config) if inputs.config else ()
        command = ("uv", "run", script, *inputs.args, *config)
    else:
        command = inputs.command
    if facts.code is None:
        return command
    return ("sh", f"{inputs.mount}/{HOUSE}/start.sh", *command)


def _volumes(inputs: Inputs, facts: Facts, namespace: str) -> tuple[Volume, ...]:
    bucket = f"{namespace}/{BUCKET}"
    volumes: list[Volume] = []
    if facts.code is not None:
        path = snapshot_path(facts.code.digest)
        volumes.append(Volume(kind="bucket", source=bucket, mount=inputs.mount, read_only=True, path=path))
    surveys = dict(facts.folders)
    for volume in inputs.volumes:
        if isinstance(volume, Volume):
            volumes.append(volume)
        else:
            volumes.append(_sent(volume, surveys[volume.key], bucket))
    return tuple(volumes)


def _sent(volume: LocalVolume, survey: Survey, bucket: str) -> Volume:
    path = snapshot_path(survey.digest)
    return Volume(kind="bucket", source=bucket, mount=volume.mount, read_only=volume.read_only, path=path)


def _key(job: JobSpec, context: Context, facts: Facts) -> str:
    """Hash of what makes a training: code, command, image, flavor, environment, matrix leg; not time, not secrets."""
    content = {survey.digest: survey.content for _, survey in facts.folders if survey.content}
    what = [
        context.repository,
        context.comment_key,
        job.namespace,
        job.image,
        list(job.command),
        job.flavor,
        sorted(job.env.items()),
        sorted(job.secrets),
        [_address(volume, content) for volume in job.volumes],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _address(volume: Volume, content: Mapping[str, str]) -> str:
    """A volume by its content: the mark of a launch in a writable copy's address does not make another training."""
    option = volume.as_option()
    for marked, plain in content.items():
        option = option.replace(marked, plain)
    return option


def _labels(context: Context, facts: Facts, key: str, job: JobSpec) -> dict[str, str]:
    base = context.repository.rpartition("/")[2] or PurePosixPath(job.image).name
    sha = context.head_sha or (facts.code.sha if facts.code else "")
    labels = {
        "hf-train": "1",
        "name": re.sub(r"[^A-Za-z0-9_-]", "-", f"hf-train-{base}")[:80] + f"-{key[:8]}",
        "hft-repo": context.repository,
        "hft-sha": sha,
        "hft-pr": str(context.pull.number) if context.pull else "",
        "hft-run": context.run_id,
        "hft-attempt": str(context.run_attempt) if context.run_id else "",
        "hft-key": key,
        "hft-nonce": facts.nonce,
    }
    return {name: label(value) for name, value in labels.items() if value}


def _flavor(inputs: Inputs, facts: Facts) -> Flavor | None:
    if facts.flavors is None:
        return None
    found = next((one for one in facts.flavors if one.name == inputs.flavor), None)
    if found is None:
        names = ", ".join(one.name for one in facts.flavors)
        raise BadInput([f"flavor: the Hub has no {inputs.flavor!r}; it has {names}"])
    return found


def _budget(inputs: Inputs, flavor: Flavor | None) -> Budget:
    price = flavor.cost_usd(inputs.timeout) if flavor else None
    worst = None if price is None else price * (inputs.attempts or 1)
    limit = inputs.max_cost
    if limit is not None and worst is None:
        raise RefusedByPolicy(
            "Price not known",
            f"max-cost is {usd(limit)}, but the Hub gives no price for {inputs.flavor}.",
            "Choose another flavor, or leave max-cost out.",
        )
    if limit is not None and worst is not None and worst > limit:
        raise RefusedByPolicy(
            "Over max-cost",
            f"{inputs.flavor} for {inputs.timeout} s, {inputs.attempts or 1} attempt(s), can cost {usd(worst)}; "
            f"max-cost is {usd(limit)}.",
            "Lower timeout, choose a smaller flavor, or raise max-cost. Nothing was sent and nothing was spent.",
        )
    return Budget(flavor=flavor, worst_case_usd=worst, max_usd=limit)


def usd(amount: float) -> str:
    """Dollars for people: four digits after the point below ten cents, two above."""
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:.2f}"


def _watch_limit(inputs: Inputs, context: Context) -> int | None:
    if inputs.mode == "detach":
        return None
    if not context.on_github:
        return inputs.watch_timeout
    return inputs.watch_timeout or HOSTED_WATCH_S


def _notes(inputs: Inputs, context: Context, facts: Facts, flavor: Flavor | None) -> tuple[str, ...]:
    notes: list[str] = []
    for survey in (facts.code, *(one for _, one in facts.folders)):
        if survey:
            notes.extend(survey.notes)
    if flavor is None:
        notes.append("The Hub's hardware list could not be read: the price is not known.")
    same_token = inputs.job_token is not None and inputs.job_token == inputs.hf_token
    if same_token or ("HF_TOKEN" in inputs.secrets and not inputs.job_token):
        notes.append(
            f"The token that launches is handed to the Job too ({'job-token' if same_token else 'secrets: HF_TOKEN'}); "
            "job-token takes one that can write to a single repo."
        )
    pushes = any("push_to_hub" in word or "hub_model_id" in word for word in (*inputs.command, *inputs.args))
    if pushes and not inputs.job_token and "HF_TOKEN" not in inputs.secrets:
        notes.append("The command pushes to the Hub, but the Job gets no token; give job-token, or secrets: HF_TOKEN.")
    watch_s = _watch_limit(inputs, context)
    if watch_s is not None and inputs.timeout > watch_s and inputs.on_watch_timeout == "fail":
        notes.append(
            f"The Job may run for {inputs.timeout} s, but this step stops watching after {watch_s} s and then fails "
            "(watch-timeout); on-watch-timeout: detach ends it in good order, and the Job runs on."
        )
    if flavor and flavor.gpus > 1 and not _uses_all_gpus((*inputs.command, *inputs.args)):
        notes.append(
            f"{flavor.name} has {flavor.gpus} GPUs, but the command starts one process; "
            f"`accelerate launch --num_processes {flavor.gpus} ...` would use them all."
        )
    return tuple(notes)


def _uses_all_gpus(words: Sequence[str]) -> bool:
    text = " ".join(words)
    return any(launcher in text for launcher in ("accelerate", "torchrun", "torch.distributed", "axolotl", "deepspeed"))


def minutes(seconds: float) -> int:
    """Started minutes, as the Hub bills."""
    return math.ceil(seconds / 60)

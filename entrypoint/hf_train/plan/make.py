"""Inputs + context + facts -> a plan."""

from __future__ import annotations

from dataclasses import replace

from hf_train.context import Context
from hf_train.inputs import Inputs
from hf_train.inputs.mounts import in_bucket
from hf_train.inputs.nodes import spread
from hf_train.plan.cost import budget_of, flavor_of
from hf_train.plan.lease import Lease, leased
from hf_train.plan.model import HOUSE, Expect, Facts, Plan
from hf_train.plan.names import labels_of, training_key
from hf_train.plan.nodes import environment, joined, specs
from hf_train.plan.notes import notes_of
from hf_train.plan.output import output_env, output_volume, with_output
from hf_train.plan.recipe import Cooked, cook
from hf_train.plan.watching import watch_limit
from hf_train.ports import Survey
from hf_train.values import JobSpec, LocalVolume, Volume

BUCKET = "jobs-artifacts"
UV_IMAGE = "ghcr.io/astral-sh/uv:python3.12-bookworm"
"""The image that `hf jobs uv run` takes (huggingface_hub 2.4.0 `_jobs_api.py`)."""
COMMAND_IMAGE = "python:3.12"


def make_plan(inputs: Inputs, context: Context, facts: Facts, *, config_text: str | None = None) -> Plan:
    """Put the plan together. Whether it may be launched is the preflight's to say."""
    inputs = inputs if inputs.jobside else _bare(inputs, facts)
    flavor = flavor_of(inputs.flavor, facts)
    gpus = flavor.gpus if flavor else 0
    cooked = _cooked(inputs, facts, gpus, config_text)
    namespace = inputs.namespace or (facts.account.name if facts.account else "YOUR-NAMESPACE")
    job = JobSpec(
        namespace=namespace,
        image=facts.image.image if facts.image else inputs.image or default_image(inputs),
        command=_command(inputs, facts, cooked),
        flavor=inputs.flavor,
        timeout_s=inputs.timeout,
        attempts=inputs.attempts,
        # Without it a killed training loses what its stdout buffer held.
        env={"PYTHONUNBUFFERED": "1", **inputs.env, **output_env(inputs), **environment(inputs.nodes, gpus)},
        secrets=tuple(dict.fromkeys((*inputs.secrets, *(("HF_TOKEN",) if inputs.job_token else ())))),
        volumes=_volumes(inputs, facts, namespace),
    )
    key = training_key(job, context, facts)
    job = replace(job, labels=labels_of(inputs, context, facts, key, job))
    job = with_output(job, key, f"{namespace}/{BUCKET}")
    if inputs.lease:
        job = leased(job, Lease(seconds=inputs.lease, name=facts.nonce), f"{namespace}/{BUCKET}")
    job, *others = specs(job, inputs.nodes, facts.nonce)
    return Plan(
        job=job,
        others=tuple(others),
        code=facts.code,
        folders=facts.folders,
        expect=Expect(
            model_repo=inputs.model_repo,
            require_model=inputs.require_model,
            publish=_published_from(inputs, key, f"{namespace}/{BUCKET}"),
            metrics_file=inputs.metrics_file,
            metrics=inputs.metrics,
            directions=inputs.directions,
            config=config_text,
        ),
        budget=budget_of(inputs, job, facts),
        key=key,
        nonce=facts.nonce,
        detach=inputs.mode == "detach",
        watch_s=watch_limit(inputs, context),
        flavors=facts.flavors or (),
        notes=notes_of(inputs, context, facts, flavor),
        image=facts.image,
        recipe=cooked,
    )


def snapshot_path(digest: str) -> str:
    """Folder of a snapshot in the bucket."""
    return f"snapshots/{digest}"


def default_image(inputs: Inputs) -> str:
    """The image when none is named."""
    if inputs.recipe:
        return inputs.recipe.image or UV_IMAGE
    return UV_IMAGE if inputs.script or inputs.command[:1] == ("uv",) else COMMAND_IMAGE


def _bare(inputs: Inputs, facts: Facts) -> Inputs:
    """Without the job side the command starts where the image says; so what is named is named from the mount."""
    own = inputs.script if inputs.script and not facts.script_path else None
    script = f"{inputs.mount}/{own}" if own else inputs.script
    return replace(inputs, script=script, config=f"{inputs.mount}/{inputs.config}" if inputs.config else None)


def _cooked(inputs: Inputs, facts: Facts, gpus: int, config_text: str | None) -> Cooked | None:
    if inputs.recipe is None:
        return None
    script = f"{inputs.mount}/{facts.script_path}" if facts.script_path else inputs.recipe.url
    if inputs.nodes == 1 or inputs.recipe.launcher == "own":
        return cook(inputs.recipe, inputs, gpus=gpus, script=script, config_text=config_text)
    recipe = replace(inputs.recipe, launcher="torchrun")  # accelerate reads no variables of other nodes
    cooked = cook(recipe, inputs, gpus=gpus, script=script, config_text=config_text)
    launcher = ("launcher", f"torchrun on {inputs.nodes} nodes, {max(1, gpus)} process(es) on each")
    return replace(cooked, lines=tuple(launcher if line[0] == "launcher" else line for line in cooked.lines))


def _command(inputs: Inputs, facts: Facts, cooked: Cooked | None) -> tuple[str, ...]:
    if cooked:
        command = cooked.command
    elif inputs.script:
        script = f"{inputs.mount}/{facts.script_path}" if facts.script_path else inputs.script
        config = ("--config", inputs.config) if inputs.config else ()
        command = ("uv", "run", script, *inputs.args, *config)
    else:
        command = inputs.command
    if inputs.nodes > 1:
        command = spread(command)
    if facts.code is not None and inputs.jobside:
        command = ("sh", f"{inputs.mount}/{HOUSE}/start.sh", *command)
    return joined(command) if inputs.nodes > 1 else command


def _published_from(inputs: Inputs, key: str, bucket: str) -> tuple[str, str] | None:
    if not inputs.publish:
        return None
    own = (output_volume(key, bucket),) if inputs.output else ()
    return in_bucket(inputs.publish, (*inputs.volumes, *own))


def _volumes(inputs: Inputs, facts: Facts, namespace: str) -> tuple[Volume, ...]:
    bucket = f"{namespace}/{BUCKET}"
    volumes: list[Volume] = []
    if facts.code is not None:
        path = snapshot_path(facts.code.digest)
        volumes.append(Volume(kind="bucket", source=bucket, mount=inputs.mount, read_only=True, path=path))
    surveys, pins = dict(facts.folders), dict(facts.pins)
    for volume in inputs.volumes:
        if isinstance(volume, Volume):
            volumes.append(replace(volume, revision=pins.get(volume, volume.revision)))
        else:
            volumes.append(_sent(volume, surveys[volume.key], bucket))
    return tuple(volumes)


def _sent(volume: LocalVolume, survey: Survey, bucket: str) -> Volume:
    path = snapshot_path(survey.digest)
    return Volume(kind="bucket", source=bucket, mount=volume.mount, read_only=volume.read_only, path=path)

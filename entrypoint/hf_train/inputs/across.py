"""Problems of inputs that only show side by side."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.inputs.model import Inputs
from hf_train.inputs.mounts import in_bucket
from hf_train.inputs.nodes import VARIABLES, spread
from hf_train.inputs.output import OUTPUT_MOUNT, in_output, output_problems
from hf_train.inputs.reader import Reader
from hf_train.judge.gate import contradictions
from hf_train.values import LocalVolume, Volume

MIN_LEASE_S = 120
LEASE_MOUNT = "/hf-train-lease"
"""Where the Job sees the file of its lease."""
_BUILD_ONLY = ("build-context", "build-target", "build-args", "build-secrets", "build-repository")


def across(inputs: Inputs, reader: Reader) -> Sequence[str]:
    """Problems that only show when inputs are seen side by side."""
    problems: list[str] = []
    has_command = bool(reader.words or reader.listed_command is not None or "command" in reader.given)
    problems.extend(_recipe(inputs, has_command=has_command))
    if inputs.script and has_command and "recipe" not in reader.given:
        problems.append("script and command: both are given; keep one")
    if inputs.command and not inputs.command[0].strip():
        problems.append("command: its first word is empty")
    missing = not inputs.script and not inputs.command and "recipe" not in reader.given
    if missing and not any(p.startswith("command") for p in reader.problems):
        given_but_empty = has_command or "command" in reader.given
        problems.append(
            "command: it is empty"
            if given_but_empty
            else "nothing to run: give recipe, script, or command, or words after '--'"
        )
    if inputs.dockerfile and inputs.image:
        problems.append("image and dockerfile: both are given; keep one")
    if not inputs.dockerfile:
        problems.extend(f"{name}: it needs dockerfile" for name in _BUILD_ONLY if reader.text(name))
    if inputs.args and not inputs.script and "recipe" not in reader.given:
        problems.append("args: they belong to script or recipe; put them into command")
    if inputs.smoke and inputs.smoke.args and inputs.command[:2] == ("sh", "-ec"):
        problems.append("smoke: args cannot be added to a command that a shell runs; give script, or a plain command")
    problems.extend(_mounts(inputs))
    problems.extend(_publish(inputs))
    problems.extend(output_problems(inputs))
    problems.extend(_lease(inputs))
    problems.extend(_nodes(inputs))
    if inputs.lineage and not inputs.model_repo:
        problems.append("lineage: give model-repo, whose card it is written into")
    if inputs.release and not inputs.model_repo:
        problems.append("release: give model-repo, which is tagged")
    problems.extend(f"gate: {problem}" for problem in contradictions(inputs.gate, inputs.directions))
    if inputs.job_token and "HF_TOKEN" in inputs.secrets:
        problems.append("job-token and secrets: both set HF_TOKEN in the Job; keep one")
    problems.extend(
        f"{name}: it is under both env and secrets; keep one" for name in inputs.secrets if name in inputs.env
    )
    if inputs.path == "none" and inputs.script and not inputs.script.startswith(("http://", "https://")):
        problems.append("path: none sends no code, but script is a file of the repository")
    return problems


def _recipe(inputs: Inputs, *, has_command: bool) -> Sequence[str]:
    """A recipe is a program already; some take a configuration, one cannot do without."""
    if inputs.recipe is None:
        return []
    problems = []
    if others := [name for name, on in (("script", inputs.script), ("command", has_command)) if on]:
        problems.append(f"recipe and {' and '.join(others)}: a recipe brings its own program; keep one")
    if inputs.config and not inputs.recipe.config:
        problems.append(f"config: {inputs.recipe.name} takes none; put its options into args")
    if not inputs.config and inputs.recipe.needs_config:
        problems.append(f"config: {inputs.recipe.name} runs what a YAML file says; name it")
    return problems


def _lease(inputs: Inputs) -> Sequence[str]:
    """A lease ends the Job when this step is gone, so nothing may ask for the opposite."""
    if inputs.lease is None:
        return []
    problems = []
    if inputs.lease < MIN_LEASE_S:
        problems.append(f"lease: {inputs.lease} s is too short; one lost request would end the Job; take 5m or more")
    if inputs.path == "none":
        problems.append("lease: it is kept by the script that comes with the code, and path is none")
    if not inputs.jobside:
        problems.append("lease and jobside: what keeps a lease is off; keep one")
    against = [
        ("mode: detach", inputs.mode == "detach"),
        ("on-cancel: keep", inputs.on_cancel == "keep"),
        ("on-watch-timeout: detach", inputs.on_watch_timeout == "detach"),
    ]
    words = "lease: it ends the Job when this step is gone, and {} leaves it; keep one"
    problems += [words.format(name) for name, on in against if on]
    return problems


def _nodes(inputs: Inputs) -> Sequence[str]:
    """Several nodes start together, each under torchrun, and end together."""
    if inputs.nodes == 1:
        return []
    problems = [f"env: {name} is what nodes sets; leave it out" for name in VARIABLES if name in inputs.env]
    if (inputs.attempts or 1) > 1:
        problems.append("attempts and nodes: the Hub would start one node again without the others; take retry")
    if inputs.recipe is not None and inputs.recipe.launcher == "own" and "torchrun" not in " ".join(inputs.args):
        problems.append(
            f"nodes: {inputs.recipe.name} starts its processes by itself; have it take torchrun (args: --launcher "
            "torchrun), whose variables tell it the rest"
        )
    words = ("uv", "run", inputs.script) if inputs.script else inputs.command
    if words and inputs.recipe is None:
        try:
            spread(words)
        except ValueError as error:
            problems.append(f"nodes: {error}")
    return problems


def _publish(inputs: Inputs) -> Sequence[str]:
    """What is published must be in a bucket when the Job is gone, and must have somewhere to go."""
    if inputs.publish is None:
        return []
    problems = [] if inputs.model_repo else ["publish: give model-repo, where it is pushed"]
    kept = inputs.output is not None and in_output(inputs.publish)
    if not kept and in_bucket(inputs.publish, inputs.volumes) is None:
        problems.append(
            f"publish: {inputs.publish} is in no bucket that the Job writes to; set output: bucket and publish a "
            f"folder below {OUTPUT_MOUNT}, or add one to volumes, for instance hf://buckets/OWNER/NAME:/out:rw"
        )
    return problems


def _mounts(inputs: Inputs) -> Sequence[str]:
    taken: dict[str, str] = {} if inputs.path == "none" else {inputs.mount: "the code"}
    taken |= {LEASE_MOUNT: "the lease"} if inputs.lease else {}
    problems = []
    for volume in inputs.volumes:
        if isinstance(volume, Volume) and volume.kind == "bucket" and volume.source.endswith("/jobs-artifacts"):
            problems.append(f"volumes: {volume.source} is where hf-train keeps code and reports; take another bucket")
        if volume.mount in taken:
            problems.append(f"volumes: {volume.mount} is mounted twice (by {taken[volume.mount]} too)")
        taken[volume.mount] = volume.folder if isinstance(volume, LocalVolume) else volume.source
    return problems

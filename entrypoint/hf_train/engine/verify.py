"""Try an image out in the engine, as a Job would start it: without its entrypoint, without a network."""

from __future__ import annotations

from pathlib import Path

from hf_train.engine.builder import DockerBuilder
from hf_train.engine.command import Docker
from hf_train.images.checks import OTHER_USER, Check, Wish, read_checks, script, user_script, why_not_started
from hf_train.images.ports import Emit
from hf_train.images.problems import BadImage, ImageRefused

PULL_S = 3600.0
CHECK_S = 300.0
SMOKE_S = 1800.0
_RUN = ("run", "--rm", "--interactive", "--network", "none", "--security-opt", "no-new-privileges")
# What a training on a Job would look for is not there: no GPU, no Hub.
_ENV = ("--env", "HF_HUB_OFFLINE=1", "--env", "UNSLOTH_ALLOW_CPU=1", "--env", "PYTHONUNBUFFERED=1")


def verify(image: str, wish: Wish, smoke: Path | None, emit: Emit) -> list[Check]:
    """Run the checks, then the smoke test.

    Args:
        image: The image; pulled when the engine does not hold it.
        wish: What is asked of it.
        smoke: A Python file that must end with 0 in it.
        emit: Takes the lines that pull and smoke test print. They are hostile.

    Raises:
        BadImage: No engine, or none of this name can be had.
        ImageRefused: The pull was refused.
    """
    docker = Docker(environ={})
    if why := DockerBuilder().missing():
        raise BadImage("Nothing to verify with", f"{image} cannot be tried out: {why}.", "")
    _have(docker, image, emit)
    started = docker.ask(*_RUN, *_ENV, "--entrypoint", "/bin/sh", image, stdin=script(wish), limit_s=CHECK_S)
    checks = read_checks(started.out.split("\n"))
    if not checks:
        return [why_not_started(started.err or started.out)]
    checks += _as_somebody_else(docker, image)
    if smoke is not None:
        words = [*_RUN, *_ENV, "--entrypoint", "python3", image, "-"]
        done = docker.ask(*words, stdin=smoke.read_text(encoding="utf-8"), limit_s=SMOKE_S)
        emit([line for line in (done.out + done.err).split("\n") if line])
        checks.append(Check(name="smoke.py", ok=done.code == 0, detail="" if done.code == 0 else done.words[-300:]))
    return checks


def _have(docker: Docker, image: str, emit: Emit) -> None:
    if docker.ask("image", "inspect", image).code == 0:
        return
    code, lines = docker.follow(["pull", "--platform", "linux/amd64", image], emit, PULL_S)
    if code != 0:
        words = lines[-1] if lines else f"docker ended with {code}"
        raise ImageRefused("Image cannot be pulled", f"{image}: {words[-300:]}", "Check its name, or log in.")


def _as_somebody_else(docker: Docker, image: str) -> list[Check]:
    """Whether a user that is not root can write; only a note for an image that says it runs as root."""
    user = docker.ask("image", "inspect", "--format", "{{.Config.User}}", image).out.strip()
    root = user.split(":")[0] in ("", "0", "root")
    words = ("--user", OTHER_USER) if root else ()
    done = docker.ask(*_RUN, *words, "--entrypoint", "/bin/sh", image, stdin=user_script(), limit_s=CHECK_S)
    found = read_checks(done.out.split("\n"), required=not root)
    who = f"as user {OTHER_USER.split(':')[0]}" if root else f"as its user {user}"
    return [Check(name=f"{one.name} {who}", ok=one.ok, detail=one.detail, required=one.required) for one in found]

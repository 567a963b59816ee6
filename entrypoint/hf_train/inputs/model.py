"""The inputs as a value, and the layers that they are read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hf_train.inputs.smoke import Smoke
from hf_train.judge.directions import Direction
from hf_train.judge.gate import Condition
from hf_train.recipes import Recipe
from hf_train.values import LocalVolume, Secret, Volume

Raw = str | tuple[str, ...]
DEFAULT_TIMEOUT_S = 1800
DEFAULT_QUEUE_TIMEOUT_S = 1800


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """Where raw values come from; the later one wins.

    Attributes:
        file: The parsed `.github/hf-train.yml`, empty when there is none.
        environ: The process environment.
        flags: Values of `--flags` by input name.
        words: The command after `--`, word by word.
    """

    file: Mapping[str, object] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Raw] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """All inputs, parsed and checked on their own. Field names are the input names with `_` for `-`.

    Durations are whole seconds, costs are US dollars; `command` is the argv of the Job when a command was given;
    `directions` are those that `metrics` and `gate` mark (`NAME:higher`); `given` are the names that a layer sets.
    """

    script: str | None = None
    recipe: Recipe | None = None
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    config: str | None = None
    image: str | None = None
    dockerfile: str | None = None
    build_context: str = "."
    build_target: str | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
    build_secrets: tuple[str, ...] = ()
    build_repository: str | None = None
    build_user: str | None = None
    build_token: Secret | None = None
    flavor: str = "cpu-basic"
    timeout: int = DEFAULT_TIMEOUT_S
    namespace: str | None = None
    attempts: int | None = None
    queue_timeout: int = DEFAULT_QUEUE_TIMEOUT_S
    nodes: int = 1
    path: str = "."
    mount: str = "/code"
    jobside: bool = True
    exclude: tuple[str, ...] = ()
    volumes: tuple[Volume | LocalVolume, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    model_repo: str | None = None
    private: bool | None = None
    metrics_file: str | None = None
    metrics: tuple[str, ...] = ()
    directions: Mapping[str, Direction] = field(default_factory=dict)
    baseline: str | None = None
    gate: tuple[Condition, ...] = ()
    output: Literal["bucket"] | None = None
    publish: str | None = None
    require_model: bool = False
    lineage: bool = False
    release: bool = False
    mode: Literal["wait", "detach"] = "wait"
    on_cancel: Literal["cancel", "keep"] = "cancel"
    reuse: Literal["auto", "never"] = "auto"
    supersede: Literal["cancel", "keep", "queue"] | None = None
    lease: int | None = None
    max_cost: float | None = None
    max_cost_per_pr: float | None = None
    max_cost_per_day: float | None = None
    allow_unknown_price: bool = False
    retry: int = 0
    smoke: Smoke | None = None
    watch_timeout: int | None = None
    on_watch_timeout: Literal["fail", "detach", "cancel"] | None = None
    comment: Literal["always", "on-change", "on-failure", "never"] = "always"
    comment_key: str | None = None
    check: bool = False
    report_dir: str | None = None
    hf_token: Secret | None = None
    job_token: Secret | None = None
    github_token: Secret | None = None
    approve_label: str = "train"
    train_keys: tuple[str, ...] = ()
    required: bool = False
    local: bool = False
    given: tuple[str, ...] = field(default=(), compare=False)

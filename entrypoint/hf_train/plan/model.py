"""The plan as a value, and the facts that it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from hf_train.images.model import Chosen
from hf_train.judge.directions import Direction
from hf_train.plan.line import equal_line
from hf_train.plan.recipe import Cooked
from hf_train.plan.spending import Estimate
from hf_train.ports import Account, Survey
from hf_train.values import Flavor, JobSpec, JobState, Volume

HOUSE = ".hf-train"
"""Folder of ours inside a snapshot: the start script, the manifest, fetched scripts."""


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
        earlier: Jobs of this repository on the Hub, newest first; empty when none are known.
        spent_usd: What this run has paid already, for a smoke run and earlier tries.
        image: The image; None when none was looked for.
        pins: The commit of each repo among the volumes, as far as it is known.
    """

    account: Account | None
    flavors: tuple[Flavor, ...] | None
    code: Survey | None
    folders: tuple[tuple[str, Survey], ...] = ()
    script_path: PurePosixPath | None = None
    nonce: str = ""
    earlier: tuple[JobState, ...] = ()
    spent_usd: float = 0.0
    image: Chosen | None = None
    pins: tuple[tuple[Volume, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Expect:
    """What should come out.

    Attributes:
        model_repo: Repo that the training publishes to, if it was named.
        require_model: Whether publishing nothing is a failure.
        publish: Bucket and folder that this step pushes to `model_repo`; None when the Job pushes by itself.
        metrics_file: JSON file in that repo.
        metrics: Names to show; all when empty.
        directions: Which way is better, for the names that the user marked.
        config: Text of the training library's YAML, for the model's name.
    """

    model_repo: str | None = None
    require_model: bool = False
    publish: tuple[str, str] | None = None
    metrics_file: str | None = None
    metrics: tuple[str, ...] = ()
    directions: Mapping[str, Direction] = field(default_factory=dict)
    config: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What it may cost.

    Attributes:
        flavor: Hardware and price; None when the Hub could not be asked.
        worst_case_usd: price x started minutes of the timeout x attempts; None when the price is not known.
        max_usd: The user's limit of one run.
        max_pr_usd: The user's limit of a pull request, over all its runs.
        max_day_usd: The user's limit of any 24 hours of the repository.
        unknown_price_allowed: Whether to launch what has no known price.
        spent_usd: What this run has paid already.
        ahead_usd: What a smoke run before it can cost; 0 without one, None when its price is not known.
        estimate: What it will take by what earlier ones took; None when there were none.
    """

    flavor: Flavor | None
    worst_case_usd: float | None
    max_usd: float | None = None
    max_pr_usd: float | None = None
    max_day_usd: float | None = None
    unknown_price_allowed: bool = False
    spent_usd: float = 0.0
    ahead_usd: float | None = 0.0
    estimate: Estimate | None = None


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
        flavors: The Hub's hardware list and prices; empty when it could not be asked.
        image: Where the Job's image comes from; None when nothing was looked up.
        recipe: What the recipe became; None without one.
        sources: Models and data sets that the command names, with the commit that each had at the plan.
        others: Specs of the further nodes of a training on several; `job` is that of the first.
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
    flavors: tuple[Flavor, ...] = ()
    image: Chosen | None = None
    recipe: Cooked | None = None
    sources: tuple[tuple[str, str, str], ...] = ()
    others: tuple[JobSpec, ...] = ()

    @property
    def specs(self) -> tuple[JobSpec, ...]:
        """The spec of each node, the first one first."""
        return (self.job, *self.others)

    @property
    def equal_line(self) -> str:
        """The `hf jobs run ...` line that submits the same spec (the code volume must have been uploaded).

        One line for each node, the first node last: it is the one to follow.
        """
        others = [equal_line(spec, detach=True) for spec in reversed(self.others)]
        return "\n".join([*others, equal_line(self.job, detach=self.detach)])

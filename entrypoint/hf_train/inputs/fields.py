"""The table of inputs. A `with:` key, a `--flag`, a key of the config file and a variable all come from a row here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ENV_PREFIX = "HF_TRAIN_"


class Group(StrEnum):
    """Groups of inputs, in the order of the documentation."""

    WHAT = "What runs"
    WHERE = "Where"
    DATA = "Code and data"
    RESULT = "Result"
    CONTROL = "Control"
    REPORT = "Report"
    ACCESS = "Access"


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One input.

    Attributes:
        name: Its name everywhere, in kebab case.
        group: Where it stands in help and docs.
        help: One sentence for help, docs and `action.yml`.
        many: Whether it takes several values (lines in YAML, a repeated flag).
        from_file: Whether `.github/hf-train.yml` may set it. A pull request can edit that file, so what spends money
            or speaks for somebody may not come from there.
        from_file_on_runner: Whether it may do so on a runner too: what names a secret of the step may not.
        flag: Whether it is a `--flag`. Tokens are not: a command line can be read by every process of the machine.
        switch: Whether the bare flag means `true`.
        default: What holds when nothing is given, in words for the docs.
        metavar: Placeholder of its value in help.
    """

    name: str
    group: Group
    help: str
    many: bool = False
    from_file: bool = True
    from_file_on_runner: bool = True
    flag: bool = True
    switch: bool = False
    default: str = ""
    metavar: str = "TEXT"

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return ENV_PREFIX + self.name.upper().replace("-", "_")

    @property
    def key(self) -> str:
        """Its name as a Python identifier."""
        return self.name.replace("-", "_")


FIELDS: tuple[Field, ...] = (
    Field(
        name="script",
        group=Group.WHAT,
        metavar="PATH|URL",
        help="A Python script in the repository, or the https URL of a uv script; run with `uv run`.",
    ),
    Field(
        name="recipe",
        group=Group.WHAT,
        metavar="NAME",
        help="A library's own training script, pinned: `trl/sft`, `trl/dpo`, `transformers/glue`, `diffusers/lora`, "
        "`unsloth`, `axolotl` ... (docs/recipes.md); takes `args` or `config`, and `model-repo` makes it publish.",
    ),
    Field(
        name="args",
        group=Group.WHAT,
        help="Arguments of the script or recipe, split as a shell would.",
    ),
    Field(
        name="command",
        group=Group.WHAT,
        help="The command in the Job, as a shell line; in the config file a list is taken word by word.",
    ),
    Field(
        name="config",
        group=Group.WHAT,
        metavar="PATH",
        help="YAML file of the training library: given to `script` as `--config`, or to `recipe` as it takes it, and "
        "read for the model's name.",
    ),
    Field(
        name="image",
        group=Group.WHAT,
        metavar="IMAGE",
        default="`ghcr.io/astral-sh/uv:python3.12-bookworm` for a script, `python:3.12` for a command",
        help="Image that the Job runs in: a reference, `hf.co/spaces/OWNER/NAME`, or a known name "
        "(`hf-train image list`). A tag is looked up and the Job gets its digest.",
    ),
    Field(
        name="dockerfile",
        group=Group.WHAT,
        metavar="PATH",
        help="Build the image from this Dockerfile and push it, unless what is built has not changed.",
    ),
    Field(
        name="build-context",
        group=Group.WHAT,
        metavar="DIR",
        default="the repository",
        help="Folder that the Dockerfile's `COPY` reads; only what git lists is in it.",
    ),
    Field(
        name="build-target",
        group=Group.WHAT,
        metavar="STAGE",
        default="the last stage",
        help="Stage of the Dockerfile to build.",
    ),
    Field(
        name="build-args",
        group=Group.WHAT,
        many=True,
        metavar="KEY=VALUE",
        help="Build arguments, one `KEY=VALUE` per line; they can be read in the image, so no secrets.",
    ),
    Field(
        name="build-secrets",
        from_file_on_runner=False,
        group=Group.WHAT,
        many=True,
        metavar="NAME",
        help="Names of BuildKit secrets, one per line; the values are read from this step's environment.",
    ),
    Field(
        name="build-repository",
        group=Group.WHAT,
        from_file=False,
        metavar="IMAGE",
        default="`ghcr.io/OWNER/REPO/train`",
        help="Where the built image is pushed; `hf.co/spaces/OWNER/NAME` has a Docker Space build it.",
    ),
    Field(
        name="flavor",
        group=Group.WHERE,
        metavar="NAME",
        default="`cpu-basic`",
        help="Hardware of the Job; `hf jobs hardware` lists the names and prices.",
    ),
    Field(
        name="timeout",
        group=Group.WHERE,
        metavar="DURATION",
        default="`30m`",
        help="The Hub kills the Job after this time (`90s`, `45m`, `1.5h`, `1h30m`, `2d`; a bare number is seconds).",
    ),
    Field(
        name="namespace",
        group=Group.WHERE,
        from_file=False,
        metavar="NAME",
        default="the owner of the token",
        help="User or organisation that runs the Job and pays for it.",
    ),
    Field(
        name="attempts",
        group=Group.WHERE,
        metavar="N",
        default="`1`",
        help="How often the Hub may start the Job when it fails; each attempt is billed.",
    ),
    Field(
        name="queue-timeout",
        group=Group.WHERE,
        metavar="DURATION",
        default="`30m`",
        help="Give up (and cancel) when no hardware was found in this time; waiting is not billed.",
    ),
    Field(
        name="nodes",
        group=Group.WHERE,
        metavar="N",
        default="`1`",
        help="Run on so many Jobs at once in one network group, under `torchrun`; each is billed (see docs/nodes.md).",
    ),
    Field(
        name="path",
        group=Group.DATA,
        metavar="DIR",
        default="the repository",
        help="Folder that is sent to the Job; `none` sends nothing.",
    ),
    Field(
        name="mount",
        group=Group.DATA,
        metavar="DIR",
        default="`/code`",
        help="Where the Job sees that folder, read-only; the command runs in a writable copy.",
    ),
    Field(
        name="jobside",
        group=Group.DATA,
        metavar="on|off",
        default="`on`",
        help="`off` runs the bare command in the image's own folder: the code lies read-only, unverified at `mount`, "
        "and nothing keeps results or passes signals on (docs/jobside.md).",
    ),
    Field(
        name="exclude",
        group=Group.DATA,
        many=True,
        metavar="GLOB",
        help="Files that are not sent, one pattern per line.",
    ),
    Field(
        name="volumes",
        group=Group.DATA,
        many=True,
        metavar="SPEC",
        help="Further mounts, one per line, in the grammar of `hf jobs run -v`: "
        "`hf://buckets/OWNER/NAME:/out:rw`, `hf://datasets/OWNER/NAME@REV:/data`, `./dir:/dir`.",
    ),
    Field(
        name="env",
        group=Group.DATA,
        many=True,
        metavar="KEY=VALUE",
        help="Environment variables of the Job, one `KEY=VALUE` per line.",
    ),
    Field(
        name="secrets",
        from_file_on_runner=False,
        group=Group.DATA,
        many=True,
        metavar="NAME",
        help="Names of secrets, one per line; the values are read from this step's environment.",
    ),
    Field(
        name="model-repo",
        group=Group.RESULT,
        metavar="OWNER/NAME",
        default="found from the command and the log, proven by a commit",
        help="Hub repo that the training publishes to.",
    ),
    Field(
        name="private",
        group=Group.RESULT,
        switch=True,
        default="`true` unless the GitHub repository is public",
        help="Create `model-repo` private before the launch when it does not exist; `false` leaves it to the training.",
    ),
    Field(
        name="metrics-file",
        group=Group.RESULT,
        metavar="PATH",
        help="JSON file (name: number) that the training publishes in the model repo; the most trusted source.",
    ),
    Field(
        name="metrics",
        group=Group.RESULT,
        many=True,
        metavar="NAME",
        default="all",
        help="Names of the metrics to show, in this order; `NAME:higher` or `NAME:lower` says which way is better.",
    ),
    Field(
        name="baseline",
        group=Group.RESULT,
        metavar="WHAT",
        default="the merge base's run, else the newest of the base branch",
        help="What to compare with: `run:ID` (of a workflow run), `job:ID`, `branch:NAME`, `commit:SHA`, `tag:NAME`, "
        "`model:OWNER/NAME[@REVISION]`, `release` (the last one), a JSON file of the repository (a `report.json` or "
        "names and numbers), or `none`.",
    ),
    Field(
        name="gate",
        group=Group.RESULT,
        many=True,
        metavar="CONDITION",
        help="Conditions, one per line, that fail the step (exit 7) unless all are known to hold: "
        "`eval_accuracy >= 0.85`, `eval_loss <= baseline + 2%`, `eval_f1 >= baseline - 0.005 over 5 runs`.",
    ),
    Field(
        name="output",
        group=Group.RESULT,
        metavar="bucket",
        default="none",
        help="`bucket` mounts a folder of this very training at `/output`, read-write: checkpoints and results outlive "
        "a timeout, and the next run of the same training goes on from the newest checkpoint (docs/output.md).",
    ),
    Field(
        name="publish",
        group=Group.RESULT,
        metavar="PATH",
        help="Folder in the Job, on a bucket that it writes to; this step pushes it to `model-repo` in the end, so "
        "that the Job needs no token (and with `id-token: write` this step no key).",
    ),
    Field(
        name="require-model",
        group=Group.RESULT,
        switch=True,
        default="`true` when `model-repo` is given",
        help="Fail (exit 6) when the training completed and published no model: nothing, no weights, or elsewhere.",
    ),
    Field(
        name="lineage",
        group=Group.RESULT,
        from_file=False,
        switch=True,
        default="`false`",
        help="After a training that published to `model-repo`, write into its model card where it comes from: "
        "repository, commit, run, Job, image, data, cost; one more commit, and one section however often.",
    ),
    Field(
        name="release",
        group=Group.RESULT,
        from_file=False,
        switch=True,
        default="`false`",
        help="On a Git tag: compare with the last release, give the model's commit the same tag on the Hub when the "
        "gate holds, and tell it in the GitHub release (needs `contents: write`).",
    ),
    Field(
        name="mode",
        group=Group.CONTROL,
        metavar="wait|detach",
        default="`wait`",
        help="`wait` follows the Job to its end; `detach` submits it and ends the step.",
    ),
    Field(
        name="on-cancel",
        group=Group.CONTROL,
        metavar="cancel|keep",
        default="`cancel`",
        help="What happens to the Job when the workflow is cancelled.",
    ),
    Field(
        name="reuse",
        group=Group.CONTROL,
        metavar="auto|never",
        default="`auto`",
        help="`auto` attaches to a live Job of the same training, and reuses a completed one of the same workflow run.",
    ),
    Field(
        name="supersede",
        group=Group.CONTROL,
        metavar="cancel|keep|queue",
        default="`cancel` on a pull request, `keep` elsewhere",
        help="What a new push does to the Job that still trains an older commit of the same pull request (or branch) "
        "and workflow: `cancel` ends it, `queue` waits for it, `keep` leaves it.",
    ),
    Field(
        name="lease",
        group=Group.CONTROL,
        metavar="DURATION",
        default="none",
        help="The Job ends itself when this step was not heard of for so long (a lost runner); needs `mode: wait`.",
    ),
    Field(
        name="max-cost",
        group=Group.CONTROL,
        from_file=False,
        metavar="USD",
        default="no limit",
        help="Refuse to launch when price x timeout x attempts is more than this, smoke run and retries included.",
    ),
    Field(
        name="max-cost-per-pr",
        group=Group.CONTROL,
        from_file=False,
        metavar="USD",
        default="no limit",
        help="Refuse to launch when this pull request's Jobs would cost more than this in all; a Job that lives counts "
        "with its worst case.",
    ),
    Field(
        name="max-cost-per-day",
        group=Group.CONTROL,
        from_file=False,
        metavar="USD",
        default="no limit",
        help="The same for all Jobs of this repository of the last 24 hours.",
    ),
    Field(
        name="allow-unknown-price",
        group=Group.CONTROL,
        from_file=False,
        switch=True,
        default="`false`",
        help="Launch although the Hub gives no price for the flavor; no limit can be kept then.",
    ),
    Field(
        name="retry",
        group=Group.CONTROL,
        from_file=False,
        metavar="N",
        default="`0`",
        help="How often to launch a new Job when the platform, not the training, ended one; never past `max-cost`.",
    ),
    Field(
        name="smoke",
        group=Group.CONTROL,
        many=True,
        metavar="KEY: VALUE",
        help="Run a short Job first, by lines of `flavor: NAME`, `args: WORDS` (added to the command) and "
        "`timeout: DURATION` (10m); the full run follows only when it fits `timeout` and `max-cost`.",
    ),
    Field(
        name="watch-timeout",
        group=Group.CONTROL,
        metavar="DURATION",
        default="`5h30m` on a hosted runner, no limit elsewhere",
        help="How long this step follows the Job; a hosted runner ends after 6 hours.",
    ),
    Field(
        name="on-watch-timeout",
        group=Group.CONTROL,
        metavar="fail|detach|cancel",
        default="`fail` (exit 75, the Job runs on); must be given when `timeout` is longer than the watch",
        help="What happens when `watch-timeout` is over.",
    ),
    Field(
        name="comment",
        group=Group.REPORT,
        metavar="MODE",
        default="`always`",
        help="When to comment on the pull request: `always`, `on-change`, `on-failure`, `never`.",
    ),
    Field(
        name="comment-key",
        group=Group.REPORT,
        metavar="KEY",
        default="workflow / job",
        help="Which comment is this run's own; one per matrix leg, for instance.",
    ),
    Field(
        name="check",
        group=Group.REPORT,
        switch=True,
        default="`false`",
        help="Write a check run as well (needs `checks: write`).",
    ),
    Field(
        name="report-dir",
        from_file_on_runner=False,
        group=Group.REPORT,
        metavar="DIR",
        help="Folder for `report.json`, `comment.md`, `summary.md` and `job.log`.",
    ),
    Field(
        name="hf-token",
        group=Group.ACCESS,
        from_file=False,
        flag=False,
        default="the variable `HF_TOKEN`",
        help="Token that launches the Job (`job.write` on the namespace, write on its buckets).",
    ),
    Field(
        name="job-token",
        group=Group.ACCESS,
        from_file=False,
        flag=False,
        default="none",
        help="Token that the Job gets as `HF_TOKEN`; give it write access to one repo and no more.",
    ),
    Field(
        name="github-token",
        group=Group.ACCESS,
        from_file=False,
        flag=False,
        default="the workflow's token",
        help="Token that writes the comment (`pull-requests: write`).",
    ),
    Field(
        name="approve-label",
        group=Group.ACCESS,
        from_file=False,
        metavar="LABEL",
        default="`train`",
        help="Label that approves the head of a pull request on `pull_request_target`, until the next push.",
    ),
    Field(
        name="train-keys",
        group=Group.ACCESS,
        from_file=False,
        many=True,
        metavar="NAME",
        help="Further keys that a `/train key=value` comment may set; each adds `--key=value` to the script.",
    ),
    Field(
        name="build-user",
        group=Group.ACCESS,
        from_file=False,
        metavar="NAME",
        default="who started the workflow",
        help="User name for the registry of `build-repository`.",
    ),
    Field(
        name="build-token",
        group=Group.ACCESS,
        from_file=False,
        flag=False,
        default="`github-token` on ghcr.io (`packages: write`)",
        help="Password or token for the registry of `build-repository`.",
    ),
    Field(
        name="required",
        group=Group.ACCESS,
        from_file=False,
        switch=True,
        default="`false`",
        help="Fail (exit 3) instead of skipping when there is no token, as on a fork's pull request.",
    ),
    Field(
        name="local",
        group=Group.ACCESS,
        from_file=False,
        switch=True,
        default="`false`",
        help="Run on an embedded Hub on this machine: no account, no cost, no secret.",
    ),
)

BY_NAME = {field.name: field for field in FIELDS}

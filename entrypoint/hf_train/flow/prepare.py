"""From inputs to a plan: look at the workspace first (free, offline), then at the Hub. Nothing is sent or spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hf_train.context import Context
from hf_train.errors import LostSight, RefusedByHub, TransientHubError, UserError
from hf_train.flow.approval import approval_of
from hf_train.flow.checkout import in_path, is_url, look_at_checkout
from hf_train.flow.data import look_at_volumes
from hf_train.flow.imaging import Wanted, build_image, choose_image
from hf_train.flow.inquiry import inquire, judge, new_private_repo
from hf_train.flow.spend import earlier, problem
from hf_train.header import adopt
from hf_train.images.model import Chosen
from hf_train.inputs import Inputs
from hf_train.plan import Facts, Plan, default_image, make_plan
from hf_train.policy import Approval, check_trust, is_privileged
from hf_train.ports import Account, Clock, Ports
from hf_train.preflight import (
    Finding,
    Known,
    money_findings,
    of_error,
    pinned,
    refusal,
    volume_findings,
)
from hf_train.values import Attempt, Flavor, JobState, Secret, Stage

T = TypeVar("T")
PATIENCE_S = 600.0
LONGEST_PAUSE_S = 60.0
"""However long a Hub asks to wait: a step that is silent for an hour is of no use, and the Job bills on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One run as it was asked for.

    Attributes:
        inputs: The inputs.
        context: Where it was started.
        environ: The step's environment, for the values of the secrets.
        nonce: Random word that marks this launch.
        problems: What is wrong with the inputs by themselves; told together with what the workspace shows.
        earlier: Jobs of this run that have ended: a smoke run, tries that the platform ended.
        approval: The commit of a pull request that somebody with write access approved; None when none was.
        not_approved: Why there is none, in words.
        notes: What is worth knowing before the launch, in words.
    """

    inputs: Inputs
    context: Context
    environ: Mapping[str, str]
    nonce: str
    problems: tuple[str, ...] = ()
    earlier: tuple[Attempt, ...] = ()
    approval: Approval | None = None
    not_approved: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A plan, and the secrets that it names.

    Attributes:
        plan: The plan.
        secrets: Values of its secrets.
        facts: What the plan was made from.
        new_repo: The model repo that is to be created private before the launch; empty when none is.
    """

    plan: Plan
    secrets: Mapping[str, Secret]
    facts: Facts | None = None
    new_repo: str = ""


def prepare(request: Request, ports: Ports, *, offline: bool = False, look: bool = True, pin: bool = True) -> Prepared:
    """Make the plan; nothing stands against its launch.

    Args:
        request: What was asked for.
        ports: The world.
        offline: Plan without a token: the namespace stays open, and an unreachable Hub is a note.
        look: Whether the Hub is asked about tokens and repos too.
        pin: Whether mounted repos are taken at the commit that they have now; a schedule takes what is newest then.

    Raises:
        BadInput: With every problem that the workspace shows.
        NotReady: With everything that the preflight holds against the launch.
        RefusedByHub: The Hub does not accept the token.
        LostSight: The Hub cannot be reached.
    """
    prepared, findings = examine(request, ports, offline=offline, look=look, pin=pin)
    if (error := refusal(findings)) is not None:
        raise error
    warnings = tuple(one.text for one in findings if one.level == "warning")
    plan = replace(prepared.plan, notes=(*prepared.plan.notes, *warnings))
    return replace(prepared, plan=plan)


def examine(
    request: Request, ports: Ports, *, offline: bool = False, look: bool = True, pin: bool = True
) -> tuple[Prepared, tuple[Finding, ...]]:
    """Make the plan, and all that the preflight found, told at once.

    Args:
        request: What was asked for.
        ports: The world.
        offline: Plan without a token.
        look: Whether the Hub is asked about tokens and repos too.
        pin: Whether mounted repos are taken at the commit that they have now; a schedule takes what is newest then.

    Raises:
        BadInput: With every problem that the workspace shows.
        RefusedByHub: The Hub does not accept the token.
        LostSight: The Hub cannot be reached.
    """
    sent_from = look_at_checkout(
        request.inputs,
        request.context,
        ports,
        environ=request.environ,
        nonce=request.nonce,
        problems=request.problems,
        tolerate_missing_secrets=offline,
    )
    code, folders = sent_from.code, sent_from.folders
    sent = [*([code] if code and request.inputs.path != "none" else []), *(one for _, one in folders)]
    for survey in sent:
        check_trust(request.context, survey.sha, request.approval, request.not_approved)
    account, flavors = _look_at_hub(ports, offline=offline)
    namespace = request.inputs.namespace or (account.name if account else "")
    jobs = earlier(request.context, namespace, ports) if account else ()
    image, findings = _image(request, ports)
    looked = look_at_volumes(request.inputs, ports) if account else {}
    findings += volume_findings(looked) if look else ()
    facts = Facts(
        account=account,
        flavors=flavors,
        code=code,
        folders=folders,
        script_path=sent_from.script_path,
        nonce=request.nonce,
        earlier=jobs or (),
        spent_usd=sum(one.most_usd for one in request.earlier),
        image=image,
        pins=pinned(looked) if pin else (),
    )
    config = (
        ports.workspace.read_text(in_path(request.inputs, request.inputs.config)) if request.inputs.config else None
    )
    plan = make_plan(request.inputs, request.context, facts, config_text=config)
    plan = replace(plan, notes=(*request.notes, *plan.notes))
    findings += money_findings(plan, flavors)
    if not _would_reuse(plan, request, jobs or ()):
        over = problem(plan, request.context, jobs, plan.flavors, ports.clock.now())
        findings += [over] if over else []
    known = inquire(plan, request.inputs, ports) if look and account else Known()
    findings += judge(plan, request.inputs, request.context, account, known)
    plan = replace(plan, sources=tuple((*one, fact.commit) for one, fact in known.sources if fact.commit))
    new_repo = new_private_repo(request.inputs, request.context, account, known)
    return Prepared(plan=plan, secrets=sent_from.secrets, facts=facts, new_repo=new_repo), tuple(findings)


def _image(request: Request, ports: Ports) -> tuple[Chosen | None, list[Finding]]:
    if ports.images is None:
        return None, []
    try:
        return choose_image(_wanted(request), ports.images), []
    except UserError as error:
        return None, [of_error(error, "")]


def with_image(prepared: Prepared, request: Request, ports: Ports) -> Prepared:
    """The same plan with its image built and pushed, when that is not there yet.

    Raises:
        BuildFailed: It could not be built or pushed.
        ImageRefused: It was pushed, and Jobs cannot pull it.
    """
    facts, images = prepared.facts, ports.images
    if images is None or facts is None or facts.image is None or facts.image.recipe is None:
        return prepared
    secrets = {name: Secret(request.environ.get(name, "")) for name in request.inputs.build_secrets}
    image = build_image(facts.image, _wanted(request), images, ports.console, secrets)
    facts = replace(facts, image=image)
    plan = make_plan(request.inputs, request.context, facts, config_text=prepared.plan.expect.config)
    plan = replace(plan, notes=prepared.plan.notes, sources=prepared.plan.sources)
    ports.console.info(f"The Job's image: {image.image}")
    return replace(prepared, plan=plan, facts=facts)


def _wanted(request: Request) -> Wanted:
    return Wanted(inputs=request.inputs, context=request.context, default=default_image(request.inputs))


def _would_reuse(plan: Plan, request: Request, jobs: Sequence[JobState]) -> bool:
    """Whether a Job is there that would be attached to instead of paying for another one."""
    if request.inputs.reuse != "auto":
        return False
    return any(
        one.labels.get("hft-key") == plan.key and (not one.stage.is_terminal or one.stage is Stage.COMPLETED)
        for one in jobs
    )


def approved(request: Request, ports: Ports) -> Request:
    """The request with what was approved, where the event needs that; the report is then about the approved commit."""
    context, inputs = request.context, request.inputs
    if not is_privileged(context):
        return request
    answer = approval_of(context, ports.people, label=inputs.approve_label, extra_keys=inputs.train_keys)
    if answer.approval is None or context.pull is None:
        return replace(request, not_approved=answer.why_not)
    head = replace(context, pull=replace(context.pull, head_sha=answer.approval.sha))
    return replace(request, context=head, approval=answer.approval)


def with_header(request: Request, ports: Ports) -> Request:
    """The request with what the header of the repository's script may set; one by URL is not asked."""
    inputs = request.inputs
    if not inputs.script or is_url(inputs.script):
        return request
    text = ports.workspace.read_text(in_path(inputs, inputs.script))
    if text is None:
        return request
    found = adopt(inputs, text, on_github=request.context.on_github)
    return replace(
        request,
        inputs=found.inputs,
        notes=(*request.notes, *found.notes),
        problems=(*request.problems, *found.problems),
    )


def patiently(
    clock: Clock, call: Callable[[], T], *, limit_s: float = PATIENCE_S, tell: Callable[[str], None] | None = None
) -> T:
    """Call until the answer is not transient. Only for calls that may be repeated.

    Args:
        clock: Time.
        call: What is asked.
        limit_s: Seconds to go on asking.
        tell: Told once, at the first answer that is none: a step that waits in silence looks hung.

    Raises:
        LostSight: The Hub did not answer within the limit.
    """
    began, pause = clock.monotonic(), 1.0
    while True:
        try:
            return call()
        except TransientHubError as error:
            waited = clock.monotonic() - began
            wait = min(max(pause, error.retry_after_s or 0.0), LONGEST_PAUSE_S)
            if waited + wait > limit_s:
                raise LostSight(
                    "Hub not reached", f"{error}; gave up after {waited:.0f} s.", "Try again later."
                ) from error
            if tell is not None:
                tell(f"The Hub does not answer ({error}); asking again for up to {limit_s / 60:.0f} min.")
                tell = None
            clock.sleep(wait)
            pause = min(pause * 2, 30.0)


def _look_at_hub(ports: Ports, *, offline: bool) -> tuple[Account | None, tuple[Flavor, ...] | None]:
    if not offline:
        tell = ports.console.info
        account = patiently(ports.clock, ports.hub.whoami, tell=tell)
        return account, tuple(patiently(ports.clock, ports.hub.hardware, tell=tell))
    try:
        flavors: tuple[Flavor, ...] | None = tuple(ports.hub.hardware())
    except (RefusedByHub, TransientHubError):
        flavors = None
    try:
        return ports.hub.whoami(), flavors
    except (RefusedByHub, TransientHubError):
        return None, flavors

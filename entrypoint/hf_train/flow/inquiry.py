"""What the preflight needs to know, asked of the Hub: best effort, and nothing is sent or spent."""

from __future__ import annotations

from collections.abc import Sequence

from hf_train.context import Context
from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.inputs import Inputs
from hf_train.plan import Plan
from hf_train.ports import Access, Account, Ports, RepoFact
from hf_train.preflight import (
    WRITE,
    Finding,
    Known,
    Source,
    command_findings,
    job_token,
    launch_token,
    loaded,
    may,
    repo_findings,
    source_findings,
    target,
)


def inquire(plan: Plan, inputs: Inputs, ports: Ports) -> Known:
    """Look at the token of the Job, the model repo, and the repos that the command loads.

    What cannot be asked is not known; the Job itself will say.
    """
    access = ports.access
    if access is None:
        return Known()
    words = (*inputs.command, *inputs.args)
    repo = inputs.model_repo or target(words, plan.expect.config)
    account, refused = None, ""
    if "HF_TOKEN" in plan.job.secrets:
        try:
            account = access.job_account()
        except RefusedByHub as error:
            refused = error.message
        except TransientHubError:
            pass
    named = [one for one in loaded(words, plan.expect.config) if one[1] != repo and not _is_local(one, inputs, ports)]
    return Known(
        target=repo,
        fact=_look(access, "model", repo) if repo and not refused else None,
        job_account=account,
        job_refused=refused,
        sources=() if refused else _facts(access, named),
    )


def judge(plan: Plan, inputs: Inputs, context: Context, account: Account | None, known: Known) -> list[Finding]:
    """All that tokens, command, repos and disk have against the launch."""
    private = context.private
    return [
        *launch_token(account, plan.job.namespace),
        *job_token(known, "job-token" if inputs.job_token else "secrets"),
        *command_findings(plan, inputs),
        *repo_findings(known, public=None if private is None else not private),
        *source_findings(plan, known),
    ]


def new_private_repo(inputs: Inputs, context: Context, account: Account | None, known: Known) -> str:
    """The model repo, when it is not there, should be private, and one of our tokens may be able to make it."""
    private = inputs.private if inputs.private is not None else context.private is not False
    if not private or not inputs.model_repo or known.fact is None or known.fact.exists:
        return ""
    owner = known.job_account or account
    namespace = inputs.model_repo.partition("/")[0]
    return "" if owner is None or may(owner, WRITE, namespace) is False else inputs.model_repo


def create_repo(repo: str, ports: Ports) -> None:
    """Make the model repo that the training pushes to, private; a failure is a warning, the training may do better."""
    if not repo or ports.access is None:
        return
    try:
        ports.access.create(repo)
    except (RefusedByHub, TransientHubError, JobGone) as error:
        ports.console.warning("model-repo", f"{repo} could not be created private before the launch: {error}")
    else:
        ports.console.info(f"Created the private model repo {repo}.")


def _facts(access: Access, sources: Sequence[Source]) -> tuple[tuple[Source, RepoFact], ...]:
    looked = [(one, _look(access, *one)) for one in sources]
    return tuple((one, fact) for one, fact in looked if fact is not None)


def _look(access: Access, kind: str, repo: str) -> RepoFact | None:
    try:
        return access.repo(kind, repo)
    except (RefusedByHub, TransientHubError, JobGone):
        return None


def _is_local(source: Source, inputs: Inputs, ports: Ports) -> bool:
    """A folder or file of the workspace has the form of a repo id as well."""
    path = source[1] if inputs.path in {".", "none"} else f"{inputs.path}/{source[1]}"
    return ports.workspace.is_folder(path) or ports.workspace.is_file(path)

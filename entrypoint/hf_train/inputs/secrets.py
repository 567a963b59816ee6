"""Secrets by name: values from the step's environment, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hf_train.errors import BadInput
from hf_train.inputs.model import Inputs
from hf_train.values import Secret

MINIMUM_LENGTH = 6
"""Shorter values cannot be searched for without blanking half of the log."""


def weak_secrets(inputs: Inputs, environ: Mapping[str, str], names: Mapping[str, str]) -> Sequence[str]:
    """Secrets that cannot be kept out of a log, or that GitHub's masking makes a trap, in words without the value.

    The runner drops every output that holds a masked text, without a failure (actions/runner `OutputManager`): a user
    name kept as a secret makes the model's link vanish.

    Args:
        inputs: The inputs.
        environ: The step's environment.
        names: Names that stand in outputs (namespace, repos): what it is, and its value.
    """
    found: list[str] = []
    for secret in inputs.secrets:
        value = environ.get(secret, "").strip()
        if not value:
            continue
        if len(value) < MINIMUM_LENGTH:
            found.append(f"{secret} has fewer than {MINIMUM_LENGTH} characters: it cannot be taken out of logs")
            continue
        found += [
            f"{secret} stands in {what}: GitHub drops every output that holds it; a name is no secret, use `vars`"
            for what, name in names.items()
            if value in name
        ]
    return found


def resolve_secrets(inputs: Inputs, environ: Mapping[str, str], words: Sequence[str]) -> Mapping[str, Secret]:
    """The Job's secrets.

    Args:
        inputs: The inputs.
        environ: The step's environment.
        words: Everything that is sent in clear (command, args, env values), to find a secret that strayed there.

    Raises:
        BadInput: A name has no value, a GitHub token would leave the runner, or a value stands in clear text.
    """
    problems: list[str] = []
    values: dict[str, Secret] = {}
    for name in inputs.secrets:
        value = environ.get(name, "")
        if not value:
            problems.append(
                f"secrets: {name} has no value in this step's environment; "
                f"add `env: {{ {name}: ${{{{ secrets.{name} }}}} }}` to the step"
            )
        elif value.strip().startswith("ghs_") or (inputs.github_token and value == inputs.github_token.reveal()):
            problems.append(f"secrets: {name} holds this workflow's GitHub token; a Job may not have it")
        elif name != "HF_TOKEN" and inputs.hf_token and value.strip() == inputs.hf_token.reveal():
            problems.append(f"secrets: {name} holds the token that launches; a Job gets job-token, or HF_TOKEN by name")
        values[name] = Secret(value)
    if inputs.job_token:
        values["HF_TOKEN"] = inputs.job_token
        if inputs.job_token.reveal().startswith("ghs_"):
            problems.append("job-token: it holds this workflow's GitHub token; a Job may not have it")
    known = [value for value in (*values.values(), inputs.hf_token, inputs.github_token) if value]
    clear = " ".join(words)  # a value with blanks in it was split into words
    for secret in known:
        raw = secret.reveal().strip()  # a pasted value often ends with a newline that the command has not
        if len(raw) >= MINIMUM_LENGTH and (raw in clear or any(raw in word for word in words)):
            problems.append("command, args or env: the value of a secret stands there in clear; use secrets instead")
            break
    if problems:
        raise BadInput(problems)
    return values

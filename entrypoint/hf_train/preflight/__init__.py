"""Preflight: what would make a launch fail or cost too much, found before anything is sent or spent. Pure."""

from hf_train.preflight.checks import command_findings, repo_findings, source_findings
from hf_train.preflight.model import Finding, Known, NotReady, of_error, refusal
from hf_train.preflight.money import money_findings
from hf_train.preflight.sources import Source, loaded, target
from hf_train.preflight.tokens import WRITE, job_token, launch_token, may
from hf_train.preflight.volumes import pinned, volume_findings

__all__ = [
    "WRITE",
    "Finding",
    "Known",
    "NotReady",
    "Source",
    "command_findings",
    "job_token",
    "launch_token",
    "loaded",
    "may",
    "money_findings",
    "of_error",
    "pinned",
    "refusal",
    "repo_findings",
    "source_findings",
    "target",
    "volume_findings",
]

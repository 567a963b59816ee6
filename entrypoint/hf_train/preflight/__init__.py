"""Preflight: what would make a launch fail or cost too much, found before anything is sent or spent. Pure."""

from hf_train.preflight.model import Finding, NotReady, refusal
from hf_train.preflight.money import money_findings

__all__ = ["Finding", "NotReady", "money_findings", "refusal"]

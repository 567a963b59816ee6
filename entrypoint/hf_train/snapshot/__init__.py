"""Adapter: the commit under test as an immutable, content-addressed folder of the private `jobs-artifacts` bucket."""

from hf_train.snapshot.workspace import GitWorkspace

__all__ = ["GitWorkspace"]
